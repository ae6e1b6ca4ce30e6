/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/agent.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/alerter.h"
#include "agent/chosen_groups.h"
#include "agent/exporter.h"
#include "agent/notify.h"
#include "agent/processes.h"
#include "agent/pusher.h"
#include "agent/recorder.h"
#include "agent/wall_clock.h"
#include "attach/error.h"
#include "base/clock.h"
#include "base/hurry.h"
#include "base/opener/opener.h"
#include "base/opener/parser.h"
#include "base/urgency.h"
#include "features/requests/agent.h"
#include "features/requests/probe.h"
#include "features/tasks/look.h"
#include "session/session.h"
#include "store/merge.h"
#include "store/short_lived.h"

#define SECOND_NS UINT64_C(1000000000)
/* A recorder that restarted because of its memory does not do so again at once: it would do nothing else. */
#define ANEW_PAUSE_NS (60 * SECOND_NS)
#define LOOK_NS SECOND_NS	/* interval of checks for new and removed control groups */
#define LOOK_PAUSE 100		/* pause as a multiple of that search's time: it reads many containers' names */
#define FOLLOW_PAUSE_NS (5 * SECOND_NS)
#define LATE_PAUSE_NS (600 * SECOND_NS)	/* pause before the journal hears of late windows again */
#define REPORT_NS (3600 * SECOND_NS)	/* interval of status lines in the journal */

struct agent {
	const struct agent_options *options;
	struct agent_config *config;
	struct collect_options collect;
	struct session *session;
	struct agent_requests *requests, *requests_before;	/* NULL: not configured */
	struct task_sampler *tasks;	/* NULL: not configured */
	struct keeper *keeper;
	struct pusher *pusher;
	struct alerter *alerter;
	struct recorder *recorder;	/* NULL: no alert records */
	struct exporter *exporter;	/* NULL: none */
	struct notify *notify;
	struct wall_clock clock;
	char *filters;
	char *missing_groups;		/* missing ones, as reported in the journal; NULL: none missing */
	char *counted_groups;		/* kernel's count of groups when they were looked for */
	uint64_t looked_ns, search_ns;	/* last look at that count; CPU time of the last search */
	uint64_t followed_ns;		/* last restart of recording for new groups */
	int signal_fd;
	uint64_t next_ns;		/* CLOCK_MONOTONIC: when the window is to be cut */
	uint64_t end_unix_ns;		/* end of the last window, or start of the session */
	uint64_t begun_ns, anew_ns, reported_ns;
	uint64_t resident_bytes;	/* when the last window's memory was freed; 0: none yet */
	unsigned windows, anew_cnt, late_cnt;
	uint64_t late_reported_ns;
	bool is_over, wants_reload;
	uint64_t reloaded_unix_ns;	/* last reading of the configuration, successful or not */
	bool is_reload_bad;
};

static char *describe_filters(const struct agent_config *c)
{
	GString *s = g_string_new(NULL);

	if (c->comm)
		g_string_append_printf(s, "comm %s", c->comm);
	for (char **path = c->cgroups; path && *path; path++)
		g_string_append_printf(s, "%scgroup %s", s->len ? ", " : "", *path);
	if (!c->kernel_threads)
		g_string_append_printf(s, "%suser threads", s->len ? ", " : "");
	return g_string_free(s, FALSE);
}

/* The groups that exist now; missing ones are reported once in the journal. */
static GArray *find_groups(struct agent *a)
{
	g_autofree char *missing = NULL, *why = NULL;
	uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	g_free(a->counted_groups);
	a->counted_groups = a->config->cgroups ? chosen_groups_counted() : NULL;
	GArray *ids = chosen_groups(a->config->cgroups, &missing, &why);

	a->search_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
	if (missing && g_strcmp0(missing, a->missing_groups) != 0)
		log_say(a->options->log, LOG_LEVEL_WARNING, "%s: it is looked for as groups come", why);
	g_free(a->missing_groups);
	a->missing_groups = g_steal_pointer(&missing);
	return ids;
}

static void set_collect(struct agent *a)
{
	const struct agent_config *c = a->config;

	g_clear_pointer(&a->collect.cgroup_ids, g_array_unref);
	agent_requests_free(a->requests_before);
	a->requests_before = a->requests;	/* owned by the session until that is freed */
	a->requests = agent_requests_new(c, a->options->log);
	a->collect = (struct collect_options){
		.mode = COLLECT_WAITS,
		.comm_glob = c->comm,
		.budget_ppm = c->budget_ppm,
		.may_raise = c->budget_ppm != 0,
		.on_cpu_hz = c->on_cpu_hz,
		.want_objects = c->objects,
		.want_locks = c->locks,
		.want_wakers = c->wakers,
		.chain_depth = agent_config_chains(c) ? AGENT_CHAIN_STEPS : 0,
		.chains_later = !c->chains,
		.want_blame = c->runq_blame,
		.want_storms = agent_config_storms(c),
		.want_services = c->services,
		.no_kernel_threads = !c->kernel_threads,
		.may_cut = true,
		.frees_windows = true,
		.requests = agent_requests_plan(a->requests),
		.requests_beside = true,
	};
	g_free(a->filters);
	a->filters = describe_filters(c);
	a->collect.cgroup_ids = find_groups(a);
}

static void free_collect(struct agent *a)
{
	agent_requests_free(a->requests);
	g_clear_pointer(&a->collect.cgroup_ids, g_array_unref);
	g_free(a->filters);
	g_free(a->missing_groups);
	g_free(a->counted_groups);
}

bool agent_try(const struct agent_options *options, struct agent_config *config, GError **error)
{
	struct agent a = { .options = options, .config = config };
	bool can;

	set_collect(&a);
	can = session_try(&a.collect, error);
	free_collect(&a);
	return can;
}

/* Reports places that cannot have a probe; they are skipped. */
static void tell_refused(const struct agent *a)
{
	uint64_t start_ns, stop_ns;
	const struct requests *requests = session_requests(a->session, &start_ns, &stop_ns);
	const char *why = NULL;
	unsigned cnt = requests ? requests_refused(requests, &why) : 0;

	if (cnt)
		log_say(a->options->log, LOG_LEVEL_WARNING, "%u places of requests cannot have a probe; the last one: %s", cnt, why);
}

/* Whether windows have chains of wakers from now on. */
static void tell_chains(const struct agent *a)
{
	session_tell_chains(a->session, a->config->chains || alerter_firing(a->alerter));
}

/* Starts a session, with its first window open since end_unix_ns. */
static bool begin_session(struct agent *a, GError **error)
{
	const struct task_sampler_options looks = { .budget_ppm = task_sampler_budget(a->config->budget_ppm) };
	struct clock_readings now;
	uint64_t mono;

	g_clear_pointer(&a->tasks, task_sampler_free);
	a->session = session_new(&a->collect, error);
	if (!a->session || !session_start(a->session, error))
		return false;
	tell_refused(a);
	tell_chains(a);
	now = wall_clock_read();
	wall_clock_begin(&a->clock, &now);
	if (a->config->tasks)
		a->tasks = task_sampler_start(&looks);
	mono = clock_ns(CLOCK_MONOTONIC);
	a->next_ns = wall_clock_next_ns(&a->clock, mono, a->config->window_ns);
	/* not the current time: on a busy machine the window has been open for a while */
	a->end_unix_ns = wall_clock_unix_ns(&a->clock, session_profile(a->session)->info.start_ns);
	return true;
}

static bool is_excluded(const struct thread *t, void *data)
{
	const struct agent_config *c = data;

	for (char **glob = c->exclude; *glob; glob++)
		if (g_pattern_match_simple(*glob, t->comm) || g_pattern_match_simple(*glob, t->process) ||
		    (t->service && g_pattern_match_simple(*glob, t->service)))
			return true;
	return false;
}

/* After a change of the clock or a suspend the following windows are placed by the new time. */
static void follow_clock(struct agent *a)
{
	const struct clock_readings now = wall_clock_read();
	struct clock_change change;

	if (!wall_clock_take(&a->clock, &now, &change))
		return;
	if (change.suspended_ns) {
		log_say(a->options->log, LOG_LEVEL_NOTICE, "the machine was suspended for %.1f s",
			(double)change.suspended_ns / 1e9);
		keeper_gap(a->keeper, a->end_unix_ns, a->end_unix_ns + change.suspended_ns, "suspended");
		a->end_unix_ns += change.suspended_ns;
	}
	if (change.set_ns > 0) {
		log_say(a->options->log, LOG_LEVEL_NOTICE, "the clock was set forward by %.3f s",
			(double)change.set_ns / 1e9);
		keeper_gap(a->keeper, a->end_unix_ns, a->end_unix_ns + (uint64_t)change.set_ns,
			   "the clock was set forward");
	} else if (change.set_ns < 0) {
		log_say(a->options->log, LOG_LEVEL_NOTICE,
			"the clock was set back by %.3f s: that time will be there twice",
			(double)-change.set_ns / 1e9);
		keeper_gap(a->keeper, a->end_unix_ns - (uint64_t)-change.set_ns, a->end_unix_ns,
			   "the clock was set back: this time is there twice");
	}
	a->end_unix_ns += (uint64_t)change.set_ns;
}

static uint64_t resident_bytes(void)
{
	g_autofree char *text = NULL;
	unsigned long total = 0, resident = 0;

	if (!g_file_get_contents("/proc/self/statm", &text, NULL, NULL) ||
	    sscanf(text, "%lu %lu", &total, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void export_window(struct agent *a, const struct profile *window, const struct reasons *reasons)
{
	const struct exporter_state state = {
		.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		.resident_bytes = a->resident_bytes ? a->resident_bytes : resident_bytes(),
		.end_unix_ns = a->end_unix_ns,
		.anew_cnt = a->anew_cnt,
		.config = a->config,
		.reloaded_unix_ns = a->reloaded_unix_ns,
		.is_reload_bad = a->is_reload_bad,
		.late_cnt = a->late_cnt,
		.keeper = a->keeper,
		.pusher = a->pusher,
		.alerter = a->alerter,
	};

	exporter_add(a->exporter, window, reasons, &state);
}

/* Adds the tasks that were seen so far; sampling continues. */
static void add_tasks(struct agent *a, struct profile *window)
{
	if (!a->tasks)
		return;
	tasks_put(window, task_sampler_take(a->tasks));
	window->info.has_tasks = true;
}

/* Takes ownership of the rows. Each form of a window takes megabytes, so none is kept besides the next one. */
static void store_window(struct agent *a, struct profile *rows)
{
	const struct short_lived_options options = {
		.has_boot_offset = true,
		.boot_offset_ns = a->clock.boot_offset_ns,
		.may_fold = a->config->fold_short_lived,
		.is_excluded = a->config->exclude ? is_excluded : NULL,
		.data = a->config,
	};
	struct profile *folded, *own;
	const struct profile *window;
	struct reasons *reasons;

	profile_set_start_unix(rows, wall_clock_unix_ns(&a->clock, rows->info.start_ns));
	rows->info.command_line = a->options->command_line;
	rows->info.filters = a->filters;
	if (a->config->host)
		rows->info.host = a->config->host;
	folded = short_lived_fold(rows, &options);
	if (folded) {
		profile_free_rows(rows);
		rows = folded;
	}
	/* analysis allocates for all stacks in the profile: reduced to this window's */
	own = merge_copy(rows, NULL);
	if (own)
		add_tasks(a, own);
	window = own ? own : rows;
	if (own)
		g_clear_pointer(&rows, profile_free_rows);
	reasons = reasons_new(window, NULL);
	keeper_add(a->keeper, window, reasons);
	alerter_add(a->alerter, window, reasons);
	pusher_add(a->pusher, window, reasons, alerter_firing(a->alerter));
	a->end_unix_ns = window->info.start_unix_ns + window->info.duration_ns;
	export_window(a, window, reasons);
	reasons_free(reasons);
	profile_free(own);
	profile_free_rows(rows);
}

/* If a busy machine delays a window's end the window is longer, and nothing of it is lost. */
static void tell_length(struct agent *a, uint64_t duration_ns, uint64_t now_ns)
{
	if (duration_ns < a->config->window_ns / 2 * 3)
		return;
	a->late_cnt++;
	if (a->late_reported_ns && now_ns - a->late_reported_ns < LATE_PAUSE_NS)
		return;
	a->late_reported_ns = now_ns;
	log_say(a->options->log, LOG_LEVEL_NOTICE,
		"a window took %.1f s in place of %.1f: the machine is so busy that it ended late (%u such windows so far)",
		(double)duration_ns / 1e9, (double)a->config->window_ns / 1e9, a->late_cnt);
}

/*
 * The next window ends one length after this one's end, not after its storing: on a busy machine that takes seconds,
 * and the edge after the next would be chosen.
 */
static bool cut_window(struct agent *a, GError **error)
{
	struct profile *rows;
	uint64_t duration_ns, edge_ns;

	if (!session_cut(a->session, error))
		return false;
	rows = session_keep_window(a->session);
	duration_ns = rows->info.duration_ns;
	edge_ns = rows->info.start_ns + duration_ns;
	store_window(a, rows);
	tell_chains(a);
	/* a window's memory is scattered among longer-lived memory: half of the heap, where many programs start */
	malloc_trim(0);
	a->resident_bytes = resident_bytes();
	follow_clock(a);
	a->windows++;
	a->next_ns = wall_clock_next_ns(&a->clock, edge_ns, a->config->window_ns);
	tell_length(a, duration_ns, clock_ns(CLOCK_MONOTONIC));
	return true;
}

static bool begin_anew(struct agent *a, const char *why, GError **error)
{
	g_autoptr(GError) late = NULL;
	uint64_t from_ns, before = clock_ns(CLOCK_MONOTONIC);

	if (!cut_window(a, &late))
		log_say(a->options->log, LOG_LEVEL_WARNING, "the last window is lost: %s", late->message);
	from_ns = a->end_unix_ns;
	session_free(a->session);
	a->session = NULL;
	malloc_trim(0);
	if (!begin_session(a, error))
		return false;
	a->anew_ns = clock_ns(CLOCK_MONOTONIC);
	a->anew_cnt++;
	keeper_gap(a->keeper, from_ns, a->end_unix_ns, why);
	log_say(a->options->log, LOG_LEVEL_NOTICE, "recording began anew, %.0f ms are not recorded: %s",
		(double)(a->anew_ns - before) / 1e6, why);
	return true;
}

/* A restarted unit or container has another group, which the BPF programs do not know. */
static bool follow_groups(struct agent *a, GError **error)
{
	GArray *now = find_groups(a), *before = a->collect.cgroup_ids;
	bool is_well = true;

	if (chosen_groups_has_new(now, before)) {
		a->collect.cgroup_ids = now;
		now = before;
		is_well = begin_anew(a, "a control group that is recorded was made", error);
		a->followed_ns = clock_ns(CLOCK_MONOTONIC);
	}
	g_clear_pointer(&now, g_array_unref);
	return is_well;
}

/*
 * Also between windows: a service's first seconds are the interesting ones. A service that exits as soon as it is
 * started does not restart the recording more often than that.
 */
static bool has_other_groups(struct agent *a, uint64_t now_ns)
{
	g_autofree char *counted = NULL;

	if (!a->config->cgroups || now_ns - a->looked_ns < MAX(LOOK_NS, LOOK_PAUSE * a->search_ns) ||
	    (a->followed_ns && now_ns - a->followed_ns < FOLLOW_PAUSE_NS))
		return false;
	a->looked_ns = now_ns;
	counted = chosen_groups_counted();
	return g_strcmp0(counted, a->counted_groups) != 0;
}

struct agent_config *agent_read_config(const struct agent_options *options, GError **error)
{
	struct agent_config *c = agent_config_read(options->config_path, options->may_lack_config, error);

	for (char **setting = options->settings; c && setting && *setting; setting++)
		if (!agent_config_set(c, *setting, error))
			g_clear_pointer(&c, agent_config_free);
	return c;
}

/* An invalid configuration changes nothing. */
static bool reload_config(struct agent *a, GError **error)
{
	g_autoptr(GError) bad = NULL;
	struct agent_config *c, *old = a->config;
	struct keeper *keeper;
	bool is_same;

	a->wants_reload = false;
	notify_reloading(a->notify, clock_ns(CLOCK_MONOTONIC));
	c = agent_read_config(a->options, &bad);
	if (c && strcmp(c->dir, old->dir) != 0)
		g_set_error(&bad, AGENT_CONFIG_ERROR, 0, "[store] dir is another one: that takes a restart");
	if (c && !bad && g_strcmp0(c->metrics_listen, old->metrics_listen) != 0)
		g_set_error(&bad, AGENT_CONFIG_ERROR, 0, "[metrics] listen is another one: that takes a restart");
	if (c && !bad && !a->recorder && agent_config_records(c))
		g_set_error(&bad, AGENT_CONFIG_ERROR, 0, "an [alert] has record, and none had before: that takes a restart");
	a->reloaded_unix_ns = clock_ns(CLOCK_REALTIME);
	a->is_reload_bad = bad != NULL;
	if (bad) {
		log_say(a->options->log, LOG_LEVEL_ERROR, "nothing is changed: %s", bad->message);
		agent_config_free(c);
		notify_ready(a->notify, "recording");
		return true;
	}
	is_same = agent_config_records_same(c, old);
	keeper_free(a->keeper);
	pusher_free(a->pusher);	/* a spool has only one sender */
	a->pusher = NULL;
	keeper = a->keeper = keeper_new(c, a->options->log, error);
	a->config = c;
	a->alerter = alerter_new(c, a->alerter, a->recorder, a->options->log);
	a->pusher = pusher_new(c, a->options->log);
	if (!is_same)
		set_collect(a);
	bool is_well = keeper && (is_same || begin_anew(a, "the configuration was changed", error));

	if (is_well) {
		a->next_ns = wall_clock_next_ns(&a->clock, clock_ns(CLOCK_MONOTONIC), c->window_ns);
		log_say(a->options->log, LOG_LEVEL_INFO, "%s was read again", a->options->config_path);
		notify_ready(a->notify, "recording");
	}
	agent_config_free(old);
	return is_well;
}

static void report_status(struct agent *a, uint64_t now_ns)
{
	struct keeper_counts counts = keeper_counts(a->keeper);
	double cpu = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / (double)MAX(now_ns - a->begun_ns, 1) * 100;
	g_autoptr(GString) s = g_string_new(NULL);

	g_string_printf(s, "%" G_GUINT64_FORMAT " windows stored, %" G_GUINT64_FORMAT " lost; %.0f MB, %.2f%% of a CPU",
			counts.stored, counts.lost, (double)resident_bytes() / 1e6, cpu);
	pusher_text(a->pusher, s);
	if (a->config->alerts->len)
		g_string_append_printf(s, "; %u of %u alerts hold", alerter_firing(a->alerter), a->config->alerts->len);

	if (opener_counts().skipped)
		g_string_append_printf(s, "; %" G_GUINT64_FORMAT " reads were skipped: they did not answer",
				       opener_counts().skipped);
	if (parser_counts().lost)
		g_string_append_printf(s, "; %" G_GUINT64_FORMAT " files were lost with their parser",
				       parser_counts().lost);
	notify_status(a->notify, s->str);
	if (now_ns - a->reported_ns < REPORT_NS)
		return;
	a->reported_ns = now_ns;
	log_say(a->options->log, LOG_LEVEL_INFO, "%s", s->str);
}

/* Periodic work; false: the agent cannot continue. */
static bool keep_up(struct agent *a, GError **error)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	notify_alive(a->notify, now);
	alerter_keep_up(a->alerter);
	if (!processes_check(a->options->log, error) || !session_check(a->session, error))
		return false;
	if (a->wants_reload && !reload_config(a, error))
		return false;
	if (session_is_full(a->session) && !begin_anew(a, "so much was seen that one session holds no more", error))
		return false;
	if (agent_requests_have_changed(a->requests, now)) {
		set_collect(a);
		if (!begin_anew(a, "a program with a function that is a request was started", error))
			return false;
	}
	if (now < a->next_ns)
		return !has_other_groups(a, now) || follow_groups(a, error);
	if (!cut_window(a, error))
		return false;
	report_status(a, now);
	if (a->options->windows && a->windows >= a->options->windows)
		a->is_over = true;
	else if (!follow_groups(a, error))
		return false;
	else if (a->config->memory_bytes && now - a->anew_ns > ANEW_PAUSE_NS &&
		 resident_bytes() > a->config->memory_bytes)
		return begin_anew(a, "its memory was above the bound", error);
	return true;
}

static void take_signals(struct agent *a)
{
	struct signalfd_siginfo info;

	while (read(a->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			a->wants_reload = true;
			continue;
		}
		a->is_over = true;
		hurry_begin();
	}
}

static void await_event(const struct agent *a, bool is_more)
{
	struct pollfd fd = { .fd = a->signal_fd, .events = POLLIN };
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct timespec wait = { 0 };

	if (!is_more) {
		uint64_t ns = MIN(session_drain_ms(a->session), (unsigned)SESSION_DRAIN_MS) * UINT64_C(1000000);

		ns = MIN(ns, a->next_ns > now ? a->next_ns - now : 0);
		wait.tv_nsec = (long)ns;
	}
	ppoll(&fd, 1, &wait, NULL);
}

static void say_thread(const char *line, void *data)
{
	const struct agent *a = data;

	log_say(a->options->log, LOG_LEVEL_WARNING, "%s", line);
}

static bool record_windows(struct agent *a, GError **error)
{
	const struct watchdog_options ten_seconds = {
		.after_ms = WATCHDOG_AFTER_MS,
		.why = "recording has stood still for 10 s; its threads:",
		.say = say_thread,
		.data = a,
	};

	watchdog_begin(&ten_seconds);
	while (!a->is_over) {
		watchdog_feed();
		bool is_more = session_drain(a->session);

		if (!keep_up(a, error))
			return false;
		if (!a->is_over)
			await_event(a, is_more);
		take_signals(a);
	}
	if (a->options->windows && a->windows >= a->options->windows)
		return true;
	notify_stopping(a->notify, "the last window");
	return cut_window(a, error);
}

static bool hold_signals(struct agent *a, GError **error)
{
	sigset_t set;

	hurry_not_by_hangup();
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	a->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a->signal_fd < 0)
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_FAILED, "a descriptor for signals: %s",
			    g_strerror(errno));
	return a->signal_fd >= 0;
}

static bool begin_agent(struct agent *a, GError **error)
{
	g_autoptr(GError) bad = NULL;
	uint64_t now;

	if (!hold_signals(a, error))
		return false;
	a->recorder = recorder_new(a->options, a->config);
	processes_begin(a->config, a->options->log);
	set_collect(a);
	a->exporter = exporter_new(a->config, a->options->log, &bad);
	if (bad) {
		g_propagate_prefixed_error(error, g_steal_pointer(&bad), "[metrics] ");
		return false;
	}
	a->keeper = keeper_new(a->config, a->options->log, error);
	if (!a->keeper || !processes_give_up(a->config, a->options->log, error))
		return false;
	a->pusher = pusher_new(a->config, a->options->log);
	a->alerter = alerter_new(a->config, NULL, a->recorder, a->options->log);
	if (!begin_session(a, error))
		return false;
	now = clock_ns(CLOCK_MONOTONIC);
	a->reloaded_unix_ns = clock_ns(CLOCK_REALTIME);
	a->begun_ns = a->anew_ns = a->reported_ns = now;
	keeper_begin(a->keeper, a->end_unix_ns);
	notify_ready(a->notify, "recording");
	if (a->exporter)
		log_say(a->options->log, LOG_LEVEL_INFO, "metrics are at %s", exporter_url(a->exporter));
	log_say(a->options->log, LOG_LEVEL_INFO, "recording, in windows of %" G_GUINT64_FORMAT " s, to %s",
		a->config->window_ns / SECOND_NS, a->config->dir);
	return true;
}

/*
 * Large freed blocks return to the kernel: reading a program's symbols takes as much again, and glibc would keep that
 * for the next one. Helper threads are short-lived, so they get no arenas of their own.
 */
static void keep_memory_small(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	mallopt(M_TRIM_THRESHOLD, 512 << 10);
}

bool agent_run(const struct agent_options *options, struct agent_config *config, GError **error)
{
	struct agent a = { .options = options, .config = config, .signal_fd = -1 };
	bool is_well;

	keep_memory_small();

	a.notify = notify_new(g_getenv("NOTIFY_SOCKET"), g_getenv("WATCHDOG_USEC"), g_getenv("WATCHDOG_PID"), getpid());
	is_well = begin_agent(&a, error) && record_windows(&a, error);
	if (a.keeper) {
		struct keeper_counts counts = keeper_counts(a.keeper);

		log_say(options->log, LOG_LEVEL_INFO,
			"ends; %" G_GUINT64_FORMAT " windows stored, %" G_GUINT64_FORMAT " lost", counts.stored,
			counts.lost);
	}
	keeper_free(a.keeper);
	pusher_free(a.pusher);
	alerter_free(a.alerter);
	recorder_free(a.recorder);
	exporter_free(a.exporter);
	task_sampler_free(a.tasks);
	session_free(a.session);
	agent_requests_free(a.requests_before);
	processes_end();
	watchdog_end();
	notify_free(a.notify);
	if (a.signal_fd >= 0)
		close(a.signal_fd);
	free_collect(&a);
	agent_config_free(a.config);
	return is_well;
}
