/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Waits in other programs' formats: a Perfetto trace, written as they end; a Firefox profile, written at the end. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/opener/opener.h"
#include "cmd/events/events.h"
#include "exchange/format.h"
#include "exchange/perfetto_events.h"

/* --- Perfetto --- */

struct perfetto_state {
	struct writer *writer;
	struct perfetto_events *trace;
	uint64_t lost_switches, lost;
};

#define ARGUMENTS_MAX 64
#define ARGUMENTS_MAX_BYTES (128 << 10)

/* NULL for kernel threads. */
static char **process_arguments(uint32_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/cmdline", pid), *text = NULL;
	gsize len = 0;

	text = opener_text(path, ARGUMENTS_MAX_BYTES, &len);
	if (!text || !*text)
		return NULL;
	GPtrArray *arguments = g_ptr_array_new();

	for (const char *at = text; at < text + len && arguments->len < ARGUMENTS_MAX; at += strlen(at) + 1)
		g_ptr_array_add(arguments, g_strdup(at));
	g_ptr_array_add(arguments, NULL);
	return (char **)g_ptr_array_free(arguments, FALSE);
}

/* Name of its first thread; NULL: it has ended. */
static char *process_comm(uint32_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/comm", pid);
	char *comm;

	return g_file_get_contents(path, &comm, NULL, NULL) ? g_strchomp(comm) : NULL;
}

/* If the machine was never suspended, both clocks are equal to the nanosecond. */
static struct perfetto_clocks read_clocks(void)
{
	struct perfetto_clocks c = { .monotonic_ns = clock_ns(CLOCK_MONOTONIC), .boot_ns = clock_ns(CLOCK_BOOTTIME) };
	const uint64_t later_ns = clock_ns(CLOCK_MONOTONIC);

	c.real_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - c.monotonic_ns);
	if (c.boot_ns <= later_ns)
		c.boot_ns = c.monotonic_ns;
	return c;
}

static void begin_perfetto(struct events *ev)
{
	struct perfetto_state *st = g_new0(struct perfetto_state, 1);
	const struct sink sink = events_sink(ev);
	const struct perfetto_clocks clocks = read_clocks();
	struct utsname names;

	uname(&names);
	const struct perfetto_host host = {
		.kernel_release = names.release, .kernel_version = names.version, .machine = names.machine,
	};
	st->writer = writer_new(&sink, false);
	st->trace = perfetto_events_new(st->writer, &clocks, &host, process_arguments);
	ev->state = st;
}

static void wait_perfetto(struct events *ev, const struct offcpu_rec_event *rec)
{
	struct perfetto_state *st = ev->state;
	struct wait_event e;
	struct wait stacks;

	event_facts_find(ev->facts, rec, &e);
	if (ev->stacks) {
		session_event_wait(ev->run->session, rec, &stacks);
		e.profile = session_profile(ev->run->session);
		e.user = stacks.user;
		e.kernel = stacks.kernel;
	}
	perfetto_events_wait(st->trace, &e);
}

static void switch_perfetto(struct events *ev, const struct offcpu_rec_switch *sw)
{
	struct perfetto_state *st = ev->state;

	perfetto_events_switch(st->trace, sw, event_facts_waker(ev->facts, sw->waker));
}

static void tick_perfetto(struct events *ev)
{
	struct perfetto_state *st = ev->state;
	struct session_progress now;

	session_progress(ev->run->session, &now);
	perfetto_events_flush(st->trace, now.lost_switches > st->lost_switches);
	if (now.lost > st->lost)
		perfetto_events_lost(st->trace, clock_ns(CLOCK_MONOTONIC), "see the end", now.lost - st->lost);
	st->lost = now.lost;
	st->lost_switches = now.lost_switches;
}

static void end_perfetto(struct events *ev, struct profile *p)
{
	struct perfetto_state *st = ev->state;

	perfetto_events_flush(st->trace, false);
	EACH_ROW(i, const struct profile_loss, l, p->losses)
		perfetto_events_lost(st->trace, p->info.start_ns + p->info.duration_ns, l->reason, l->count);
	writer_end(g_steal_pointer(&st->writer), NULL);
}

static void free_perfetto(struct events *ev)
{
	struct perfetto_state *st = ev->state;

	if (!st)
		return;
	perfetto_events_free(st->trace);
	if (st->writer)
		writer_end(st->writer, NULL);
	g_free(st);
}

const struct event_format event_perfetto = {
	.name = "perfetto", .is_file = true, .has_switches = true, .begin = begin_perfetto, .wait = wait_perfetto,
	.on_switch = switch_perfetto, .tick = tick_perfetto, .end = end_perfetto, .free = free_perfetto,
};

/* --- Firefox Profiler --- */

/* More than the page can handle; writing them takes about 120 MiB. */
#define FIREFOX_WAITS_MAX 250000

/* Ids of the session as indices in its profile. */
struct event_rows {
	uint64_t start_unix_ns;
	uint32_t user, kernel, object, waker;
	uint8_t flags;
};

struct firefox_state {
	GArray *events;	/* struct offcpu_rec_event */
	GArray *rows;	/* struct event_rows for each, once the window has ended */
};

static void begin_firefox(struct events *ev)
{
	struct firefox_state *st = g_new0(struct firefox_state, 1);

	st->events = g_array_new(FALSE, FALSE, sizeof(struct offcpu_rec_event));
	st->rows = g_array_new(FALSE, FALSE, sizeof(struct event_rows));
	ev->state = st;
}

static void wait_firefox(struct events *ev, const struct offcpu_rec_event *rec)
{
	struct firefox_state *st = ev->state;

	if (st->events->len < FIREFOX_WAITS_MAX)
		g_array_append_vals(st->events, rec, 1);
	else
		ev->left_out++;
}

static void stopped_firefox(struct events *ev)
{
	struct firefox_state *st = ev->state;

	EACH_ROW(i, const struct offcpu_rec_event, rec, st->events) {
		struct wait w;

		session_event_wait(ev->run->session, rec, &w);
		const struct event_rows rows = {
			.start_unix_ns = w.max_start_unix_ns, .user = w.user, .kernel = w.kernel, .object = w.object,
			.waker = session_waker(ev->run->session, rec->waker), .flags = w.flags,
		};

		g_array_append_val(st->rows, rows);
	}
}

struct thread_key {
	uint32_t pid, tid;
	char comm[OFFCPU_COMM_LEN];
};

HASH_BYTES(thread, struct thread_key)

/* A thread has a row for each of its names. */
static uint32_t thread_row(struct profile *p, GHashTable *rows, const struct offcpu_rec_event *rec)
{
	struct thread_key key = { .pid = rec->pid, .tid = rec->tid };
	char comm[OFFCPU_COMM_LEN + 1];

	g_strlcpy(key.comm, wait_event_comm(rec->comm, comm), sizeof(key.comm));
	guint row = GPOINTER_TO_UINT(g_hash_table_lookup(rows, &key));

	if (!row) {
		g_autofree char *process = process_comm(rec->pid);
		const struct thread t = { .pid = rec->pid, .tid = rec->tid, .comm = profile_string(p, comm),
					  .process = profile_string(p, process ? process : comm),
					  .flags = rec->is_kernel ? THREAD_KERNEL : 0 };

		row = profile_add_thread(p, &t) + 1;
		g_hash_table_insert(rows, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(row));
	}
	return row - 1;
}

static void add_wait(struct profile *p, GHashTable *threads, const struct offcpu_rec_event *rec,
		     const struct event_rows *rows)
{
	const uint64_t ns = rec->blocked_ns + rec->runnable_ns + rec->preempted_ns;
	struct trace_text of;
	const struct wait w = {
		.thread = thread_row(p, threads, rec), .user = rows->user, .kernel = rows->kernel,
		.object = rows->object, .state = rec->state, .flags = rows->flags,
		.max_start_unix_ns = rows->start_unix_ns, .count = 1, .blocked_ns = rec->blocked_ns,
		.runnable_ns = rec->runnable_ns, .preempted_ns = rec->preempted_ns, .max_ns = ns,
		.max_waker = rows->waker,
	};

	uint32_t wait = p->waits->len;

	profile_add_single_wait(p, &w);
	if (wait_event_trace(rec, &of)) {
		const struct wait_trace trace = { .wait = wait, .trace = of.trace, .span = of.span, .ns = ns,
						  .start_ns = rec->end_ns - ns > p->info.start_ns ?
									rec->end_ns - ns - p->info.start_ns : 0 };

		profile_add_trace(p, &trace);
	}
}

static void end_firefox(struct events *ev, struct profile *p)
{
	g_autoptr(GHashTable) threads = g_hash_table_new_full(thread_hash, thread_equal, g_free, NULL);
	struct firefox_state *st = ev->state;
	const struct sink sink = events_sink(ev);
	const struct export_plan plan = { .selection_text = "", .single_waits = true };

	for (guint i = 0; i < st->rows->len; i++)
		add_wait(p, threads, &g_array_index(st->events, struct offcpu_rec_event, i),
			 &g_array_index(st->rows, struct event_rows, i));
	profile_sort_traces(p);
	g_array_set_size(st->rows, 0);
	g_clear_pointer(&st->events, g_array_unref);
	if (ev->left_out)
		profile_add_loss(p, EVENTS_LEFT_OUT, "waits beyond what a Firefox profile is written with", ev->left_out, 0);
	format_write(format_by_name("firefox"), p, &plan, &sink, NULL);
}

static void free_firefox(struct events *ev)
{
	struct firefox_state *st = ev->state;

	if (!st)
		return;
	if (st->events)
		g_array_unref(st->events);
	g_array_unref(st->rows);
	g_free(st);
}

const struct event_format event_firefox = {
	.name = "firefox", .is_file = true, .begin = begin_firefox, .wait = wait_firefox, .stopped = stopped_firefox,
	.end = end_firefox, .free = free_firefox,
};
