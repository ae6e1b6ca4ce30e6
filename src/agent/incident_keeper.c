/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/incident_keeper.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/opener/confine.h"
#include "features/incidents/history.h"

#define SECOND_NS UINT64_C(1000000000)
#define LONGEST_NS (3600 * SECOND_NS)	/* of a longer alert only the first hour is kept */

struct piece {
	char *alert, *name, *said;
	uint64_t from_ns, to_ns;	/* in clock time; to_ns 0: the alert still fires */
	uint64_t since_ns, after_ns;
	char *recording;		/* a recording to keep with it; NULL: none */
	bool is_recording;		/* the recording is not finished yet */
	bool is_due;			/* to be kept up to now */
};

struct incident_keeper {
	char *dir;
	uint64_t max_bytes, now_ns;
	log_fn log;
	struct recorder *recorder;	/* borrowed; NULL: none */
	GPtrArray *pieces;		/* struct piece */
	GPid keeper;			/* 0: not running */
	char *keeping;			/* name of the incident being kept */
};

FREES_DATA(piece_free, struct piece, p, g_free(p->alert); g_free(p->name); g_free(p->said); g_free(p->recording))

struct incident_keeper *incident_keeper_new(const struct agent_config *config, struct incident_keeper *old,
					    struct recorder *recorder, log_fn log)
{
	struct incident_keeper *a = old ? old : g_new0(struct incident_keeper, 1);

	if (!old)
		a->pieces = g_ptr_array_new_with_free_func(piece_free);
	g_free(a->dir);
	a->dir = g_strdup(config->dir);
	a->max_bytes = config->incidents_bytes;
	a->log = log;
	a->recorder = recorder;
	return a;
}

static char *time_word(uint64_t unix_ns)
{
	return g_strdup_printf("@%" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT, unix_ns / SECOND_NS, unix_ns % SECOND_NS);
}

static void start_keeping(struct incident_keeper *a, const struct piece *p)
{
	uint64_t to_ns = p->to_ns ? MIN(p->to_ns, a->now_ns) : a->now_ns;
	g_autofree char *dir = g_strconcat("store.dir=", a->dir, NULL);
	g_autofree char *size = g_strdup_printf("store.incidents=%" G_GUINT64_FORMAT "K", a->max_bytes >> 10);
	g_autofree char *from = time_word(p->from_ns), *to = time_word(to_ns);
	char *words[] = { "/proc/self/exe", "agent", "--config", "/dev/null", "--set", dir, "--set", size, "--keep", p->name,
			  "--from", from, "--to", to, "--said", p->said, "--again", NULL, NULL, NULL };
	char *environment[] = { NULL, NULL };
	g_autofree char *zone = g_getenv("TZ") ? g_strconcat("TZ=", g_getenv("TZ"), NULL) : NULL;
	g_autoptr(GError) error = NULL;

	if (p->recording && !p->is_recording) {
		words[G_N_ELEMENTS(words) - 3] = "--recording";
		words[G_N_ELEMENTS(words) - 2] = p->recording;
	}
	environment[0] = zone;
	if (!g_spawn_async("/", words, environment, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
			   privileges_drop_all, NULL, &a->keeper, &error)) {
		a->keeper = 0;
		log_say(a->log, LOG_LEVEL_ERROR, "the incident %s is not kept: %s", p->name, error->message);
		return;
	}
	g_free(a->keeping);
	a->keeping = g_strdup(p->name);
}

static void end_keeper(struct incident_keeper *a, int status)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		log_say(a->log, LOG_LEVEL_ERROR, "the incident %s is not kept", a->keeping);
	else
		log_say(a->log, LOG_LEVEL_INFO, "the incident %s is kept", a->keeping);
	a->keeper = 0;
}

/* An alert's recording is kept as soon as it is finished. */
static void take_recording(struct incident_keeper *a)
{
	enum recorder_state state = recorder_check(a->recorder);

	EACH_POINTER(i, struct piece, p, a->pieces) {
		if (!p->is_recording || state < RECORDER_DONE)
			continue;
		p->is_recording = false;
		p->is_due = true;
		if (state == RECORDER_FAILED)
			g_clear_pointer(&p->recording, g_free);
		log_say(a->log, state == RECORDER_FAILED ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "the recording of the alert %s %s",
			p->alert, state == RECORDER_FAILED ? "failed" : "is done");
	}
}

/* One at a time. */
void incident_keeper_poll(struct incident_keeper *a)
{
	int status = 0;

	if (a->keeper && waitpid(a->keeper, &status, WNOHANG) == 0)
		return;
	if (a->keeper)
		end_keeper(a, status);
	take_recording(a);
	EACH_POINTER(i, struct piece, p, a->pieces) {
		bool is_complete = p->to_ns && a->now_ns >= p->to_ns && !p->is_recording;

		if (!p->is_due && !is_complete)
			continue;
		start_keeping(a, p);
		p->is_due = false;
		if (is_complete)
			g_ptr_array_remove_index(a->pieces, i);
		return;
	}
}

void incident_keeper_free(struct incident_keeper *a)
{
	if (!a)
		return;
	EACH_POINTER(i, struct piece, p, a->pieces) {
		p->to_ns = a->now_ns;
		if (p->is_recording)
			g_clear_pointer(&p->recording, g_free);	/* it ends with the agent */
		p->is_recording = false;
	}
	a->recorder = NULL;
	do {
		int status = 0;

		if (a->keeper && waitpid(a->keeper, &status, 0) == a->keeper)
			end_keeper(a, status);
		a->keeper = 0;
		incident_keeper_poll(a);
	} while (a->keeper);
	g_ptr_array_unref(a->pieces);
	g_free(a->keeping);
	g_free(a->dir);
	g_free(a);
}

void incident_keeper_begin(struct incident_keeper *a, const struct alert_rule *rule, const char *text,
			   uint64_t from_unix_ns, uint64_t now_unix_ns)
{
	g_autoptr(GDateTime) at = g_date_time_new_from_unix_local((gint64)(now_unix_ns / SECOND_NS));
	g_autofree char *time = at ? g_date_time_format(at, " %Y-%m-%d %H:%M:%S") : g_strdup("");
	g_autofree char *safe = incident_name_of(rule->name);

	if (!(rule->keep_before_ns + rule->keep_after_ns) || !a->max_bytes)
		return;
	struct piece *p = g_new0(struct piece, 1);

	p->alert = g_strdup(rule->name);
	p->name = g_strconcat(safe, time, NULL);
	p->said = g_strdup(text);
	p->from_ns = from_unix_ns - MIN(from_unix_ns, rule->keep_before_ns);
	p->since_ns = now_unix_ns;
	p->after_ns = rule->keep_after_ns;
	p->is_due = true;
	if (rule->record_ns && a->recorder)
		p->recording = recorder_begin(a->recorder, rule->record_ns);
	p->is_recording = p->recording != NULL;
	g_ptr_array_add(a->pieces, p);
}

void incident_keeper_over(struct incident_keeper *a, const struct alert_rule *rule, uint64_t now_unix_ns)
{
	EACH_POINTER(i, struct piece, p, a->pieces)
		if (!p->to_ns && strcmp(p->alert, rule->name) == 0)
			p->to_ns = now_unix_ns + p->after_ns;
}

void incident_keeper_add(struct incident_keeper *a, uint64_t now_unix_ns)
{
	a->now_ns = now_unix_ns;
	EACH_POINTER(i, struct piece, p, a->pieces)
		if (!p->to_ns && now_unix_ns - p->since_ns > LONGEST_NS)
			p->to_ns = now_unix_ns;
}
