/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A Perfetto trace of single waits.  Switches and wakings are written as the kernel's ftrace events, from which the
 * trace processor derives slices of CPUs, thread states and "woken by".  Each listed wait is also a slice on its
 * thread's track, for what ftrace does not have: reason, object, stack.  A nested slice begins at its waking; there
 * the arrow from the waker ends.
 *
 * Ftrace uses CLOCK_BOOTTIME, so all times are converted: CLOCK_MONOTONIC plus the suspended time at the trace's
 * start.  Packets need not be sorted by time: a wait is written when it is over.
 */
#include "exchange/perfetto_events.h"

#include <string.h>

#include "base/wire.h"
#include "exchange/parts.h"
#include "exchange/perfetto.h"
#include "features/wakers/analysis.h"

#define CPU_FLUSH_BYTES (64 * 1024)
#define CPUS_MAX 1024	/* the trace processor's limit */
/* With more threads, interned state is reset, since a trace may be long and readers keep everything interned too. */
#define THREADS_MAX 65536
#define LOSSES_TRACK 1

struct cpu_bundle {
	GString *events;
	bool has_lost;
};

struct known_thread {
	uint32_t pid;
	bool has_track;
	char comm[OFFCPU_COMM_LEN + 1];
};

struct perfetto_events {
	struct writer *writer;
	uint64_t boot_offset_ns;	/* offset to CLOCK_BOOTTIME */
	perfetto_process_fn process_arguments;
	GPtrArray *cpus;	/* struct cpu_bundle *, by number */
	GHashTable *threads;	/* tid -> struct known_thread */
	GHashTable *processes;	/* pids already written */
	struct perfetto_stacks *stacks;
	uint64_t flow;
	bool has_losses_track;
	GString *packet, *a, *b, *event;
};

static void bundle_free(gpointer data)
{
	struct cpu_bundle *c = data;

	if (c)
		g_string_free(c->events, TRUE);
	g_free(c);
}

static void end_packet(struct perfetto_events *w)
{
	perfetto_end_packet(w->writer, w->packet);
}

/* --- start of a trace --- */

static void write_clocks(struct perfetto_events *w, const struct perfetto_clocks *clocks)
{
	g_string_truncate(w->a, 0);
	perfetto_append_clock(w->a, w->b, CLOCK_IS_BOOTTIME, clocks->boot_ns);
	perfetto_append_clock(w->a, w->b, CLOCK_IS_MONOTONIC, clocks->monotonic_ns);
	perfetto_append_clock(w->a, w->b, CLOCK_IS_REALTIME, clocks->real_ns);
	wire_uint(w->a, CLOCKS_PRIMARY, CLOCK_IS_BOOTTIME);
	wire_message(w->packet, PACKET_CLOCKS, w->a);
	end_packet(w);
}

/* Readers need the kernel's version to interpret bits of thread states. */
static void write_host(struct perfetto_events *w, const struct perfetto_host *host)
{
	g_string_truncate(w->a, 0);
	g_string_truncate(w->b, 0);
	wire_string(w->b, UTSNAME_SYSNAME, "Linux");
	wire_string(w->b, UTSNAME_VERSION, host->kernel_version);
	wire_string(w->b, UTSNAME_RELEASE, host->kernel_release);
	wire_string(w->b, UTSNAME_MACHINE, host->machine);
	wire_message(w->a, SYSTEM_UTSNAME, w->b);
	wire_message(w->packet, PACKET_SYSTEM_INFO, w->a);
	end_packet(w);
}

/* Resets what packets refer to. */
static void begin_state(struct perfetto_events *w)
{
	perfetto_stacks_clear(w->stacks);
	perfetto_append_defaults(w->packet, CLOCK_IS_BOOTTIME, NULL);
	end_packet(w);
}

struct perfetto_events *perfetto_events_new(struct writer *writer, const struct perfetto_clocks *clocks,
					    const struct perfetto_host *host, perfetto_process_fn process_arguments)
{
	struct perfetto_events *w = g_new0(struct perfetto_events, 1);

	w->writer = writer;
	w->boot_offset_ns = clocks->boot_ns - clocks->monotonic_ns;
	w->process_arguments = process_arguments;
	w->cpus = g_ptr_array_new_with_free_func(bundle_free);
	w->threads = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	w->processes = g_hash_table_new(NULL, NULL);
	w->stacks = perfetto_stacks_new();
	w->packet = g_string_new(NULL);
	w->a = g_string_new(NULL);
	w->b = g_string_new(NULL);
	w->event = g_string_new(NULL);
	write_clocks(w, clocks);
	write_host(w, host);
	begin_state(w);
	return w;
}

FREES(perfetto_events_free, struct perfetto_events, w, g_ptr_array_unref(w->cpus); g_hash_table_unref(w->threads);
      g_hash_table_unref(w->processes); perfetto_stacks_free(w->stacks); g_string_free(w->packet, TRUE);
      g_string_free(w->a, TRUE); g_string_free(w->b, TRUE); g_string_free(w->event, TRUE))

static uint64_t trace_ns(const struct perfetto_events *w, uint64_t monotonic_ns)
{
	return monotonic_ns + w->boot_offset_ns;
}

/* --- threads --- */

static void append_process(struct perfetto_events *w, uint32_t pid, const char *comm)
{
	if (!g_hash_table_add(w->processes, GUINT_TO_POINTER(pid)))
		return;
	g_auto(GStrv) arguments = w->process_arguments(pid);

	g_string_truncate(w->b, 0);
	wire_uint(w->b, TREE_PROCESS_PID, pid);
	for (char **argument = arguments; argument && *argument; argument++)
		wire_bytes(w->b, TREE_PROCESS_CMDLINE, *argument, strlen(*argument));
	if (!arguments)
		wire_string(w->b, TREE_PROCESS_CMDLINE, comm);
	wire_message(w->a, TREE_PROCESS, w->b);
}

static void write_thread(struct perfetto_events *w, uint32_t pid, uint32_t tid, const char *comm)
{
	g_string_truncate(w->a, 0);
	append_process(w, pid, comm);
	perfetto_append_thread(w->a, w->b, pid, tid, comm);
	wire_message(w->packet, PACKET_PROCESS_TREE, w->a);
	end_packet(w);
}

/* Written on first use, and again after a rename. */
static struct known_thread *thread_of(struct perfetto_events *w, uint32_t pid, uint32_t tid, const char *comm)
{
	struct known_thread *t = g_hash_table_lookup(w->threads, GUINT_TO_POINTER(tid));

	if (t && t->pid == pid && strcmp(t->comm, comm) == 0)
		return t;
	if (!t || t->pid != pid) {
		if (g_hash_table_size(w->threads) >= THREADS_MAX) {
			g_hash_table_remove_all(w->threads);
			g_hash_table_remove_all(w->processes);
		}
		t = g_new0(struct known_thread, 1);
		t->pid = pid;
		g_hash_table_insert(w->threads, GUINT_TO_POINTER(tid), t);
	}
	if (tid == pid)
		g_hash_table_remove(w->processes, GUINT_TO_POINTER(pid));
	g_strlcpy(t->comm, comm, sizeof(t->comm));
	write_thread(w, pid, tid, comm);
	return t;
}

static uint64_t track_uuid(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* The thread's own track, written before its first event. */
static uint64_t track_of(struct perfetto_events *w, uint32_t pid, uint32_t tid, const char *comm)
{
	struct known_thread *t = thread_of(w, pid, tid, comm);
	const uint64_t uuid = track_uuid(pid, tid);

	if (t->has_track)
		return uuid;
	t->has_track = true;
	g_string_truncate(w->a, 0);
	g_string_truncate(w->b, 0);
	wire_uint(w->a, TRACK_UUID, uuid);
	wire_uint(w->b, TRACK_THREAD_PID, pid);
	wire_uint(w->b, TRACK_THREAD_TID, tid);
	wire_message(w->a, TRACK_THREAD, w->b);
	wire_message(w->packet, PACKET_TRACK_DESCRIPTOR, w->a);
	end_packet(w);
	return uuid;
}

/* --- ftrace events --- */

static struct cpu_bundle *bundle_of(struct perfetto_events *w, uint32_t cpu)
{
	while (w->cpus->len <= cpu)
		g_ptr_array_add(w->cpus, NULL);
	struct cpu_bundle **at = (struct cpu_bundle **)&g_ptr_array_index(w->cpus, cpu);

	if (!*at) {
		*at = g_new0(struct cpu_bundle, 1);
		(*at)->events = g_string_new(NULL);
	}
	return *at;
}

static void flush_cpu(struct perfetto_events *w, uint32_t cpu)
{
	struct cpu_bundle *c = g_ptr_array_index(w->cpus, cpu);

	if (!c || !c->events->len)
		return;
	g_string_truncate(w->a, 0);
	wire_uint_always(w->a, BUNDLE_CPU, cpu);
	g_string_append_len(w->a, c->events->str, (gssize)c->events->len);
	wire_uint(w->a, BUNDLE_LOST, c->has_lost);
	wire_message(w->packet, PACKET_FTRACE, w->a);
	end_packet(w);
	g_string_truncate(c->events, 0);
	c->has_lost = false;
}

/* w->a holds the event's message; pid: what ran on the CPU. */
static void append_ftrace(struct perfetto_events *w, uint32_t cpu, uint64_t ns, uint32_t pid, unsigned flags,
			  unsigned field)
{
	if (cpu >= CPUS_MAX)
		return;
	struct cpu_bundle *c = bundle_of(w, cpu);

	g_string_truncate(w->event, 0);
	wire_uint_always(w->event, FTRACE_TIMESTAMP, trace_ns(w, ns));
	wire_uint_always(w->event, FTRACE_PID, pid);
	wire_message(w->event, field, w->a);
	wire_uint(w->event, FTRACE_FLAGS, flags);
	wire_message(c->events, BUNDLE_EVENT, w->event);
	if (c->events->len >= CPU_FLUSH_BYTES)
		flush_cpu(w, cpu);
}

/* Encoded as in the kernel's tracepoint since Linux 4.14 (include/trace/events/sched.h). */
static uint64_t state_bits(const struct offcpu_rec_switch *sw)
{
	switch (sw->prev_state) {
	case 'S': return 0x01;
	case 'D': return 0x02;
	case 'T': return 0x04;
	case 't': return 0x08;
	case 'X': return 0x10;
	case 'P': return 0x40;
	case 'I': return 0x80;
	default: return sw->is_preempted ? 0x100 : 0;
	}
}

#define IDLE_PRIO 120

static void append_side(struct perfetto_events *w, const struct offcpu_sched_thread *t, uint32_t cpu, unsigned first)
{
	char name[OFFCPU_COMM_LEN + 1], idle[32];

	g_snprintf(idle, sizeof(idle), "swapper/%u", cpu);
	wire_string(w->a, first, t->tid ? wait_event_comm(t->comm, name) : idle);
	wire_uint_always(w->a, first + 1, t->tid);
	wire_uint_always(w->a, first + 2, (uint64_t)(int64_t)(t->tid ? t->prio : IDLE_PRIO));
}

static void append_waking(struct perfetto_events *w, const struct offcpu_rec_switch *sw, const struct waker *waker)
{
	const char *irq = waker ? waker->irq : NULL;
	const unsigned flags = !irq ? 0 : g_str_has_prefix(irq, "softirq") ? FTRACE_IN_SOFTIRQ : FTRACE_IN_HARDIRQ;
	char name[OFFCPU_COMM_LEN + 1];

	if (waker && waker->tid)
		thread_of(w, waker->pid, waker->tid, waker->comm);
	g_string_truncate(w->a, 0);
	wire_string(w->a, WAKING_COMM, wait_event_comm(sw->next.comm, name));
	wire_uint(w->a, WAKING_PID, sw->next.tid);
	wire_uint_always(w->a, WAKING_PRIO, (uint64_t)(int64_t)sw->next.prio);
	wire_uint(w->a, WAKING_SUCCESS, 1);
	wire_uint_always(w->a, WAKING_CPU, sw->cpu);
	/* Without a known waker the thread stands for it: it is new, or was queued when tracing began */
	append_ftrace(w, sw->is_new ? sw->cpu : sw->wake_cpu, sw->wake_ns, waker ? waker->tid : sw->next.tid, flags,
		      FTRACE_WAKING);
}

void perfetto_events_switch(struct perfetto_events *w, const struct offcpu_rec_switch *sw, const struct waker *waker)
{
	char name[OFFCPU_COMM_LEN + 1];

	if (sw->prev.tid)
		thread_of(w, sw->prev.pid, sw->prev.tid, wait_event_comm(sw->prev.comm, name));
	if (sw->next.tid)
		thread_of(w, sw->next.pid, sw->next.tid, wait_event_comm(sw->next.comm, name));
	if (sw->wake_ns)
		append_waking(w, sw, waker);
	g_string_truncate(w->a, 0);
	append_side(w, &sw->prev, sw->cpu, SWITCH_PREV_COMM);
	wire_uint_always(w->a, SWITCH_PREV_STATE, state_bits(sw));
	append_side(w, &sw->next, sw->cpu, SWITCH_NEXT_COMM);
	append_ftrace(w, sw->cpu, sw->ns, sw->prev.tid, 0, FTRACE_SWITCH);
}

void perfetto_events_flush(struct perfetto_events *w, bool lost_switches)
{
	EACH_POINTER(i, struct cpu_bundle, c, w->cpus) {
		if (c && lost_switches)
			c->has_lost = true;
		flush_cpu(w, i);
	}
}

/* --- waits as slices --- */

/* A stack sample weighted by the wait's time, with its newly interned frames. */
static void write_sample(struct perfetto_events *w, const struct wait_event *e, guint stack, const GString *interned)
{
	if (interned->len)
		wire_message(w->packet, PACKET_INTERNED, interned);
	perfetto_put_sample(w->packet, &(struct perfetto_sample){ e->rec->pid, e->rec->tid, stack, wait_event_ns(e),
								  trace_ns(w, wait_event_start_ns(e)) });
	end_packet(w);
}

static void end_event(struct perfetto_events *w, unsigned type, uint64_t track, uint64_t ns, const char *name)
{
	perfetto_put_event(w->packet, w->a, type, track, trace_ns(w, ns), "wait", name);
	end_packet(w);
}

static void append_waker(struct perfetto_events *w, const struct waker *waker)
{
	if (!waker)
		return;
	perfetto_annotate_text(w->a, w->b, "woken_by", waker_name(waker));
	if (waker->tid)
		perfetto_annotate(w->a, w->b, "woken_by_tid", ANNOTATION_UINT, waker->tid);
}

static void append_arguments(struct perfetto_events *w, const struct wait_event *e)
{
	const struct offcpu_rec_event *rec = e->rec;
	const char state[] = { (char)rec->state, 0 };
	char name[OFFCPU_COMM_LEN + 1];
	struct trace_text of;

	perfetto_annotate_text(w->a, w->b, "reason", reason_name(e->reason));
	perfetto_annotate_text(w->a, w->b, "for", e->object);
	perfetto_annotate_text(w->a, w->b, "route", e->route);
	if (wait_event_trace(rec, &of)) {
		perfetto_annotate_text(w->a, w->b, "trace", of.trace);
		perfetto_annotate_text(w->a, w->b, "span", of.span);
	}
	append_waker(w, e->waker);
	perfetto_annotate_text(w->a, w->b, "where", e->where);
	perfetto_annotate_text(w->a, w->b, "state", state);
	perfetto_annotate(w->a, w->b, "blocked_ns", ANNOTATION_UINT, rec->blocked_ns);
	perfetto_annotate(w->a, w->b, "runnable_ns", ANNOTATION_UINT, rec->runnable_ns);
	perfetto_annotate(w->a, w->b, "preempted_ns", ANNOTATION_UINT, rec->preempted_ns);
	if (rec->by_comm[0])
		perfetto_annotate_text(w->a, w->b, "preempted_by", wait_event_comm(rec->by_comm, name));
	perfetto_annotate_text(w->a, w->b, "open", open_text((rec->open_at_start ? WAIT_OPEN_AT_START : 0) |
					 (rec->open_at_end ? WAIT_OPEN_AT_END : 0)));
}

/* The nested slice from the waking on, with the arrow. */
static void write_queue(struct perfetto_events *w, const struct wait_event *e, uint64_t track)
{
	const uint64_t woken_ns = e->rec->end_ns - e->rec->runnable_ns;
	const struct waker *by = e->waker && e->waker->tid ? e->waker : NULL;

	if (by) {
		uint64_t of_waker = track_of(w, by->pid, by->tid, by->comm);

		g_string_truncate(w->a, 0);
		wire_fixed64(w->a, EVENT_FLOW, ++w->flow);
		end_event(w, EVENT_IS_INSTANT, of_waker, woken_ns, "wakes");
		wire_fixed64(w->a, EVENT_FLOW_END, w->flow);
	}
	end_event(w, EVENT_IS_BEGIN, track, woken_ns, "run queue");
	end_event(w, EVENT_IS_END, track, e->rec->end_ns, NULL);
}

void perfetto_events_wait(struct perfetto_events *w, const struct wait_event *e)
{
	char name[OFFCPU_COMM_LEN + 1];
	uint64_t track = track_of(w, e->rec->pid, e->rec->tid, wait_event_comm(e->rec->comm, name));
	const GString *interned;
	guint stack;

	if (perfetto_stacks_are_full(w->stacks))
		begin_state(w);
	stack = perfetto_stacks_find(w->stacks, e, &interned);
	if (stack)
		write_sample(w, e, stack, interned);
	g_string_truncate(w->a, 0);
	append_arguments(w, e);
	if (stack)
		wire_uint(w->a, EVENT_CALLSTACK_IID, stack);
	end_event(w, EVENT_IS_BEGIN, track, wait_event_start_ns(e), reason_text(e->reason));
	if (e->rec->state != 'R' && (!e->rec->open_at_end || e->rec->runnable_ns))
		write_queue(w, e, track);
	end_event(w, EVENT_IS_END, track, e->rec->end_ns, NULL);
}

void perfetto_events_lost(struct perfetto_events *w, uint64_t at_ns, const char *reason, uint64_t cnt)
{
	if (!w->has_losses_track) {
		w->has_losses_track = true;
		g_string_truncate(w->a, 0);
		wire_uint(w->a, TRACK_UUID, LOSSES_TRACK);
		wire_string(w->a, TRACK_NAME, "offcpu: lost");
		wire_message(w->packet, PACKET_TRACK_DESCRIPTOR, w->a);
		end_packet(w);
	}
	g_string_truncate(w->a, 0);
	perfetto_annotate_text(w->a, w->b, "reason", reason);
	perfetto_annotate(w->a, w->b, "count", ANNOTATION_UINT, cnt);
	end_event(w, EVENT_IS_INSTANT, LOSSES_TRACK, at_ns, "lost");
}
