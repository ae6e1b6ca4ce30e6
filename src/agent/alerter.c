/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/alerter.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/alert.h"
#include "agent/incident_keeper.h"
#include "base/opener/confine.h"
#include "analyse/reason/reasons.h"
#include "base/clock.h"
#include "push/metrics.h"
#include "store/line.h"
#include "store/store.h"

#define SECOND_NS UINT64_C(1000000000)
#define COMMAND_MAX_NS (30 * SECOND_NS)
#define DAY_NS (86400 * SECOND_NS)
#define HALF_HOUR_NS (1800 * SECOND_NS)
#define STEP_NS (60 * SECOND_NS)
#define YESTERDAY_STEPS_MIN 15		/* observed minutes needed, of sixty */
#define YESTERDAY_AGAIN_NS (600 * SECOND_NS)
#define SERIES_MAX 64			/* more than there are reasons */

struct standing {
	const struct alert_rule *rule;	/* owned by the configuration */
	struct alert_state state;
	GPid command;			/* 0: not running */
	uint64_t command_ns;		/* CLOCK_MONOTONIC: start of the command */
	bool is_killed;
	double yesterday;		/* the value a day before; negative: not known */
	uint64_t yesterday_ns;		/* CLOCK_MONOTONIC: when that was read; 0: never */
};

struct alerter {
	GArray *standings;	/* struct standing */
	struct incident_keeper *incidents;
	char *dir;
	log_fn log;
};

static void go_on(struct standing *s, const struct alerter *old)
{
	for (guint i = 0; old && i < old->standings->len; i++) {
		struct standing *before = &g_array_index(old->standings, struct standing, i);

		if (!alert_rules_same(before->rule, s->rule))
			continue;
		s->state = before->state;
		s->command = before->command;
		s->command_ns = before->command_ns;
		s->is_killed = before->is_killed;
		before->command = 0;
	}
}

struct alerter *alerter_new(const struct agent_config *config, struct alerter *old, struct recorder *recorder,
			    log_fn log)
{
	struct alerter *a = g_new0(struct alerter, 1);

	a->standings = g_array_new(FALSE, TRUE, sizeof(struct standing));
	a->dir = g_strdup(config->dir);
	a->log = log;
	for (guint i = 0; i < config->alerts->len; i++) {
		struct standing s = { .rule = config->alerts->pdata[i], .yesterday = -1 };

		go_on(&s, old);
		g_array_append_val(a->standings, s);
	}
	a->incidents = incident_keeper_new(config, old ? g_steal_pointer(&old->incidents) : NULL, recorder, log);
	alerter_free(old);
	return a;
}

void alerter_free(struct alerter *a)
{
	if (!a)
		return;
	for (guint i = 0; i < a->standings->len; i++) {
		GPid command = g_array_index(a->standings, struct standing, i).command;

		if (command)
			kill(command, SIGTERM);
	}
	incident_keeper_free(a->incidents);
	g_array_unref(a->standings);
	g_free(a->dir);
	g_free(a);
}

/* Mean number of threads that waited for that in the hour around the same time a day before; negative: not known. */
static double threads_yesterday(const struct alerter *a, const struct alert_rule *rule, uint64_t now_unix_ns)
{
	uint64_t at_ns = now_unix_ns - DAY_NS, sum_ns = 0;
	unsigned steps = 0;
	struct store_line *l = store_line_read(a->dir, at_ns - HALF_HOUR_NS, at_ns + HALF_HOUR_NS, STEP_NS,
					       STORE_BY_REASON, SERIES_MAX, NULL);

	for (uint32_t k = 0; l && k < l->steps; k++) {
		if (l->is_gap[k])
			continue;
		steps++;
		EACH_ROW(i, const struct store_series, one, l->series) {
			enum reason reason;

			if (reason_parse(one->name, &reason) &&
			    (!rule->reason || reason_is_named(reason, rule->reason)))
				sum_ns += one->ns[k];
		}
	}
	if (l)
		store_line_free(l);
	return steps < YESTERDAY_STEPS_MIN ? -1 : (double)sum_ns / ((double)steps * (double)STEP_NS);
}

/* The same for a request, in the unit of its metric. */
static double request_yesterday(const struct alerter *a, const struct alert_rule *rule, uint64_t now_unix_ns)
{
	uint64_t at_ns = now_unix_ns - DAY_NS;
	struct request_line *l = request_line_read(a->dir, at_ns - HALF_HOUR_NS, at_ns + HALF_HOUR_NS, 2 * HALF_HOUR_NS,
						   NULL);
	const struct request_series *series = l ? request_line_find(l, rule->request) : NULL;
	double value = -1;
	bool is_known = false;

	if (series && series->all->observed_ns >= YESTERDAY_STEPS_MIN * STEP_NS)
		value = alert_request_value(rule, &series->all->sum, series->all->observed_ns, &is_known);
	request_line_free(l);
	return is_known ? value : -1;
}

static bool is_beyond(const struct alert_rule *rule, double value, double threshold)
{
	return rule->is_below ? value < threshold : value > threshold;
}

/* Is it beyond the threshold? False if yesterday's value is needed and not known. */
static bool is_met(const struct alerter *a, struct standing *s, const struct alert_value *v, uint64_t end_unix_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!s->rule->is_of_yesterday)
		return v->is_known && is_beyond(s->rule, v->value, s->rule->threshold);
	if (!s->yesterday_ns || now_ns - s->yesterday_ns > YESTERDAY_AGAIN_NS) {
		s->yesterday = s->rule->request ? request_yesterday(a, s->rule, end_unix_ns)
						: threads_yesterday(a, s->rule, end_unix_ns);
		s->yesterday_ns = now_ns;
	}
	if (s->rule->request)
		return s->yesterday > 0 && v->is_known &&
		       is_beyond(s->rule, v->value, s->rule->threshold * s->yesterday);
	return s->yesterday >= 0 && v->value > 0 && v->value > s->rule->threshold * s->yesterday;
}

/* In the child: a process group that can be killed at once. */
static void become_nobody(gpointer data)
{
	setpgid(0, 0);
	privileges_drop_all(data);
}

static void run_command(const struct alerter *a, struct standing *s, const struct alert_value *v, const char *text)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) environment = alert_environment(s->rule, s->state.is_firing, v->value, text);

	if (!s->rule->run)
		return;
	if (s->command) {
		log_say(a->log, LOG_LEVEL_WARNING, "alert %s: its last command has not ended, so it is not run again",
			s->rule->name);
		return;
	}
	if (!g_spawn_async("/", s->rule->run, environment, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
			   become_nobody, NULL, &s->command, &error)) {
		s->command = 0;
		log_say(a->log, LOG_LEVEL_ERROR, "alert %s: %s", s->rule->name, error->message);
		return;
	}
	s->command_ns = clock_ns(CLOCK_MONOTONIC);
	s->is_killed = false;
}

static void announce(const struct alerter *a, struct standing *s, enum alert_change change,
		     const struct alert_value *v, const struct profile_info *window)
{
	uint64_t end_unix_ns = window->start_unix_ns + window->duration_ns;
	g_autoptr(GString) text = g_string_new(NULL);

	alert_append_text(text, s->rule, v, s->yesterday);
	if (change == ALERT_FIRES)
		log_say(a->log, LOG_LEVEL_WARNING, "alert %s: %s", s->rule->name, text->str);
	else
		log_say(a->log, LOG_LEVEL_NOTICE, "alert %s is over after %.0f s: %s", s->rule->name,
		    (double)(end_unix_ns - s->state.since_unix_ns) / 1e9, text->str);
	if (change == ALERT_FIRES)
		incident_keeper_begin(a->incidents, s->rule, text->str,
				      end_unix_ns - s->rule->for_windows * window->duration_ns, end_unix_ns);
	else
		incident_keeper_over(a->incidents, s->rule, end_unix_ns);
	run_command(a, s, v, text->str);
}

void alerter_add(struct alerter *a, const struct profile *window, const struct reasons *reasons)
{
	uint64_t end_unix_ns = window->info.start_unix_ns + window->info.duration_ns;

	EACH_ROW(i, struct standing, s, a->standings) {
		struct alert_value v = alert_value(s->rule, window, reasons);
		enum alert_change change = alert_step(&s->state, s->rule, is_met(a, s, &v, end_unix_ns), end_unix_ns);

		if (change != ALERT_STAYS)
			announce(a, s, change, &v, &window->info);
	}
	incident_keeper_add(a->incidents, end_unix_ns);
}

void alerter_keep_up(struct alerter *a)
{
	incident_keeper_poll(a->incidents);
	EACH_ROW(i, struct standing, s, a->standings) {
		int status = 0;

		if (!s->command)
			continue;
		if (waitpid(s->command, &status, WNOHANG) != 0) {
			if (s->is_killed || !WIFEXITED(status) || WEXITSTATUS(status))
				log_say(a->log, LOG_LEVEL_WARNING, "alert %s: its command %s", s->rule->name,
				    s->is_killed ? "was ended after 30 s" : "failed");
			s->command = 0;
		} else if (!s->is_killed && clock_ns(CLOCK_MONOTONIC) - s->command_ns > COMMAND_MAX_NS) {
			s->is_killed = true;
			kill(-s->command, SIGKILL);
		}
	}
}

unsigned alerter_firing(const struct alerter *a)
{
	unsigned cnt = 0;

	for (guint i = 0; i < a->standings->len; i++)
		cnt += g_array_index(a->standings, struct standing, i).state.is_firing;
	return cnt;
}

void alerter_metrics(const struct alerter *a, GString *s)
{
	if (!a->standings->len)
		return;
	metrics_head(s, "offcpu_alert_firing", "gauge", "Whether what [alert NAME] asks holds.");
	EACH_ROW(i, const struct standing, one, a->standings)
		metrics_labelled(s, "offcpu_alert_firing", "alert", one->rule->name, one->state.is_firing);
}
