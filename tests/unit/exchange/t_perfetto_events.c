/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A Perfetto trace of single waits: what it begins with, what is told once, and that what is kept is bounded. */
#include "exchange/perfetto_events.h"

#include "base/wire.h"
#include "exchange/perfetto.h"

#define BOOT_NS 5000000000ULL	/* the machine was suspended for so long */
#define STACKS 20000

static unsigned names_asked;

static char **process_arguments(uint32_t pid)
{
	names_asked++;
	return pid == 7 ? g_strsplit("server --port 80", " ", -1) : NULL;
}

static const struct perfetto_clocks clocks = { .monotonic_ns = 1000, .boot_ns = 1000 + BOOT_NS, .real_ns = 1 };
static const struct perfetto_host host = { "6.1.0", "#1", "x86_64" };

struct counts {
	unsigned packet[200];	/* by the field that says of what kind they are */
	unsigned cleared, switches, wakings, lost, frames, callstacks, processes, threads;
	uint64_t first_switch_ns, waking_pid, waking_flags, prev_state;
};

static unsigned count_fields(struct cursor c, unsigned number)
{
	struct wire_field f;
	unsigned cnt = 0;

	while (wire_next(&c, &f))
		cnt += f.number == number;
	g_assert_false(c.bad);
	return cnt;
}

static void count_event(struct cursor c, struct counts *n)
{
	uint64_t ns = 0, pid = 0, flags = 0;
	struct wire_field f;
	bool is_waking = false;

	while (wire_next(&c, &f)) {
		ns = f.number == FTRACE_TIMESTAMP ? f.value : ns;
		pid = f.number == FTRACE_PID ? f.value : pid;
		flags = f.number == FTRACE_FLAGS ? f.value : flags;
		is_waking |= f.number == FTRACE_WAKING;
		if (f.number != FTRACE_SWITCH)
			continue;
		n->switches++;
		n->first_switch_ns = n->first_switch_ns ? n->first_switch_ns : ns;
		struct cursor in = f.bytes;
		struct wire_field g;

		while (wire_next(&in, &g))
			n->prev_state = g.number == SWITCH_PREV_STATE ? g.value : n->prev_state;
	}
	if (!is_waking)
		return;
	n->wakings++;
	n->waking_pid = pid;
	n->waking_flags = flags;
}

static void count_bundle(struct cursor c, struct counts *n)
{
	struct wire_field f;

	while (wire_next(&c, &f)) {
		if (f.number == BUNDLE_EVENT)
			count_event(f.bytes, n);
		n->lost += f.number == BUNDLE_LOST;
	}
	g_assert_false(c.bad);
}

static void count_packet(struct cursor c, struct counts *n)
{
	struct wire_field f;

	while (wire_next(&c, &f)) {
		n->packet[MIN(f.number, G_N_ELEMENTS(n->packet) - 1)]++;
		n->cleared += f.number == PACKET_SEQUENCE_FLAGS && f.value == SEQUENCE_CLEARED;
		if (f.number == PACKET_FTRACE)
			count_bundle(f.bytes, n);
		if (f.number == PACKET_INTERNED) {
			n->frames += count_fields(f.bytes, INTERNED_FRAME);
			n->callstacks += count_fields(f.bytes, INTERNED_CALLSTACK);
		}
		if (f.number == PACKET_PROCESS_TREE) {
			n->processes += count_fields(f.bytes, TREE_PROCESS);
			n->threads += count_fields(f.bytes, TREE_THREAD);
		}
	}
	g_assert_false(c.bad);
}

static struct counts count(const GString *out)
{
	struct cursor c = { .at = (const uint8_t *)out->str, .end = (const uint8_t *)out->str + out->len };
	struct counts n = { 0 };
	struct wire_field f;

	while (wire_next(&c, &f)) {
		g_assert_cmpuint(f.number, ==, TRACE_PACKET);
		count_packet(f.bytes, &n);
	}
	g_assert_false(c.bad);
	return n;
}

struct trace {
	GString *out;
	struct writer *writer;
	struct perfetto_events *events;
};

static struct trace begin(void)
{
	struct trace t = { .out = g_string_new(NULL) };
	const struct sink sink = sink_of_string(t.out);

	t.writer = writer_new(&sink, false);
	t.events = perfetto_events_new(t.writer, &clocks, &host, process_arguments);
	names_asked = 0;
	return t;
}

static struct counts end(struct trace *t)
{
	perfetto_events_flush(t->events, false);
	perfetto_events_free(t->events);
	g_assert_true(writer_end(t->writer, NULL));
	struct counts n = count(t->out);

	g_string_free(t->out, TRUE);
	return n;
}

/* Time is that of CLOCK_BOOTTIME; a preempted thread's state says so; who woke stands where the kernel's tracing has it. */
static void test_switches(void)
{
	const struct waker timer = { .comm = "", .irq = "timer" }, client = { .pid = 9, .tid = 9, .comm = "client" };
	struct trace t = begin();
	struct offcpu_rec_switch sw = {
		.cpu = 1, .ns = 2000, .prev = { 7, 8, 120, "worker" }, .next = { 7, 7, 120, "server" }, .prev_state = 'R',
		.is_preempted = 1, .wake_ns = 1500,
	};

	perfetto_events_switch(t.events, &sw, &client);
	struct counts n = end(&t);

	g_assert_cmpuint(n.switches, ==, 1);
	g_assert_cmpuint(n.first_switch_ns, ==, 2000 + BOOT_NS);
	g_assert_cmpuint(n.prev_state, ==, 0x100);
	g_assert_cmpuint(n.waking_pid, ==, 9);
	g_assert_cmpuint(n.waking_flags, ==, 0);
	g_assert_cmpuint(n.threads, ==, 3);
	t = begin();
	sw.prev_state = 'D';
	perfetto_events_switch(t.events, &sw, &timer);
	perfetto_events_flush(t.events, true);
	sw.wake_ns = 0;
	perfetto_events_switch(t.events, &sw, NULL);
	n = end(&t);
	g_assert_cmpuint(n.switches, ==, 2);
	g_assert_cmpuint(n.wakings, ==, 1);
	g_assert_cmpuint(n.waking_flags, ==, FTRACE_IN_HARDIRQ);
	g_assert_cmpuint(n.prev_state, ==, 2);
	g_assert_cmpuint(n.lost, ==, 2);	/* of both CPUs */
	/* once each, and for a thread that is no process's first the process */
	g_assert_cmpuint(n.threads, ==, 2);
	g_assert_cmpuint(names_asked, ==, 2);
}

/* A wait is a slice, with one from its waking on; an arrow where a thread woke it. */
static void test_waits(void)
{
	const struct waker client = { .pid = 9, .tid = 9, .comm = "client" };
	struct offcpu_rec_event rec = { .pid = 7, .tid = 8, .comm = "worker", .end_ns = 9000, .blocked_ns = 50, .state = 'S' };
	struct wait_event e = { .rec = &rec, .where = "read", .reason = REASON_PIPE, .waker = &client };
	struct trace t = begin();

	perfetto_events_wait(t.events, &e);
	rec.state = 'R';
	e.waker = NULL;
	perfetto_events_wait(t.events, &e);
	struct counts n = end(&t);

	g_assert_cmpuint(n.packet[PACKET_TRACK_EVENT], ==, 5 + 2);
	g_assert_cmpuint(n.packet[PACKET_TRACK_DESCRIPTOR], ==, 2);
	g_assert_cmpuint(n.packet[PACKET_STACK_SAMPLE], ==, 0);
}

/* Each stack is told once; after so many all that was told is forgotten, by us and by the reader. */
static void test_stacks(void)
{
	struct offcpu_rec_event rec = { .pid = 7, .tid = 8, .comm = "worker", .end_ns = 9000, .blocked_ns = 50, .state = 'S' };
	struct profile *p = profile_new();
	const struct frame main_frame = { .name = "main", .module = "/bin/a" };
	uint32_t root = profile_node(p, 0, profile_frame(p, &main_frame));
	struct wait_event e = { .rec = &rec, .where = "read", .reason = REASON_PIPE, .profile = p, .user = root };
	struct trace t = begin();

	for (unsigned i = 0; i < 2 * STACKS; i++) {
		rec.ustack = 100 + i / 2;
		perfetto_events_wait(t.events, &e);
	}
	struct counts n = end(&t);

	g_assert_cmpuint(n.packet[PACKET_STACK_SAMPLE], ==, 2 * STACKS);
	g_assert_cmpuint(n.callstacks, ==, STACKS + 1);	/* the last one before that twice */
	g_assert_cmpuint(n.cleared, ==, 2);
	g_assert_cmpuint(n.frames, ==, 2);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/perfetto-events/switches", test_switches);
	g_test_add_func("/perfetto-events/waits", test_waits);
	g_test_add_func("/perfetto-events/stacks", test_stacks);
	return g_test_run();
}
