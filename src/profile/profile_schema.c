/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_schema.h"

#include <math.h>
#include <string.h>

#include "profile/profile_rows.h"
#include "profile/profile.h"
#include "features/slices/rows.h"

#define RATE_MAX_MILLI_HZ 1000000
#define WEIGHT_MAX_MILLI (UINT64_C(1) << 48)

/* For tables with code of their own, and columns without a member. */
#define PLAIN(kind_, name_, note_, ...) { .name = name_, .note = note_, .kind = COLUMN_##kind_, __VA_ARGS__ }

#define COLUMN(kind_, type, member, name_, note_, ...)                                                                \
	{ .name = name_, .note = note_, .kind = COLUMN_##kind_, .at = offsetof(struct type, member),                   \
	  .bytes = (uint8_t)(sizeof(((struct type *)NULL)->member) > 8 ? 8 : sizeof(((struct type *)NULL)->member)),   \
	  __VA_ARGS__ }

/* Keys and values; a nullable one is omitted if it is 0. */
static const struct column meta_columns[] = {
	COLUMN(TEXT, profile_info, version, "version", NULL, .merge = MERGE_LAST),
	COLUMN(TEXT, profile_info, host, "host", NULL, .merge = MERGE_LAST),
	COLUMN(TEXT, profile_info, kernel, "kernel", NULL, .merge = MERGE_LAST),
	COLUMN(NUMBER, profile_info, cpus, "cpus", NULL, .merge = MERGE_MAX),
	COLUMN(TEXT, profile_info, command_line, "command_line", NULL, .merge = MERGE_LAST),
	COLUMN(TEXT, profile_info, filters, "filters", NULL, .merge = MERGE_LAST),
	COLUMN(FLAG, profile_info, self_excluded, "self_excluded", NULL, .merge = MERGE_LAST),
	COLUMN(FLAG, profile_info, has_wakers, "has_wakers", NULL, .merge = MERGE_MAX),
	COLUMN(FLAG, profile_info, has_locks, "has_locks", NULL, .merge = MERGE_MAX),
	COLUMN(FLAG, profile_info, has_objects, "has_objects", NULL, .merge = MERGE_MAX),
	COLUMN(FLAG, profile_info, has_blame, "has_blame", NULL, .merge = MERGE_MAX),
	COLUMN(FLAG, profile_info, has_storms, "has_storms", NULL, .merge = MERGE_MAX),
	COLUMN(NS, profile_info, tracer_start_cpu_ns, "tracer_start_cpu_ns", NULL, .is_nullable = true),
	COLUMN(NS, profile_info, tracer_stop_cpu_ns, "tracer_stop_cpu_ns", NULL, .is_nullable = true),
	COLUMN(NUMBER, profile_info, on_cpu_hz, "on_cpu_hz", NULL, .is_nullable = true, .merge = MERGE_MAX),
	COLUMN(NUMBER, profile_info, on_cpu_end_hz, "on_cpu_end_hz", NULL, .is_nullable = true, .merge = MERGE_LAST),
	COLUMN(NS, profile_info, request_slower_ns, "request_slower_ns", NULL, .is_nullable = true),
	COLUMN(FLAG, profile_info, has_tasks, "has_tasks", NULL, .is_nullable = true, .merge = MERGE_MAX),
	COLUMN(NS, profile_info, looks.asked_ns, "looks_asked_ns", NULL, .is_nullable = true),
	COLUMN(NUMBER, profile_info, looks.rounds, "looks_rounds", NULL, .is_nullable = true, .max = UINT32_MAX,
	       .merge = MERGE_SUM),
	COLUMN(NUMBER, profile_info, looks.budget_ppm, "looks_budget_ppm", NULL, .is_nullable = true),
	COLUMN(NUMBER, profile_info, unknown, "unknown", NULL, .is_nullable = true),
	COLUMN(TEXT, profile_info, imported, "not_waits", NULL, .is_nullable = true),
	COLUMN(TEXT, profile_info, rows_are, "rows_are", NULL, .is_nullable = true),
	COLUMN(NUMBER, profile_info, unfollowed, "unfollowed", NULL, .is_nullable = true, .merge = MERGE_SUM),
	COLUMN(TEXT, profile_info, scheduler, "scheduler", NULL, .is_nullable = true, .merge = MERGE_LAST),
};

static const struct column window_columns[] = {
	COLUMN(NS, profile_info, start_unix_ns, "start_unix_ns", "CLOCK_REALTIME"),
	COLUMN(NS, profile_info, start_ns, "start_ns", "CLOCK_MONOTONIC, as every time without a word"),
	COLUMN(NS, profile_info, duration_ns, "duration_ns", NULL, .merge = MERGE_SUM),
	COLUMN(NUMBER, profile_info, switches, "switches", NULL, .max = PROFILE_NS_MAX, .merge = MERGE_SUM),
	COLUMN(NS, profile_info, tracer_cpu_ns, "tracer_cpu_ns", NULL, .merge = MERGE_MAX),
	COLUMN(NUMBER, profile_info, tracer_peak_rss_bytes, "tracer_peak_rss_bytes", NULL,
	       .max = PROFILE_NS_MAX, .merge = MERGE_MAX),
	COLUMN(NS, profile_info, tracer_bpf_ns, "tracer_bpf_ns", "NULL: not known",
	       .known = offsetof(struct profile_info, has_bpf_ns), .merge = MERGE_SUM),
};

static const struct column loss_columns[] = {
	PLAIN(WINDOW, "window_id", NULL),
	COLUMN(TEXT, profile_loss, reason, "reason", NULL),
	COLUMN(TEXT, profile_loss, help, "help", NULL),
	COLUMN(NUMBER, profile_loss, count, "count", NULL, .merge = MERGE_SUM),
	COLUMN(NS, profile_loss, time_ns, "time_ns", "of the threads concerned, where known", .merge = MERGE_SUM),
};

static const struct column string_columns[] = {
	PLAIN(TEXT, "text", NULL),
};

static const struct column frame_columns[] = {
	COLUMN(STRING, frame, name, "name_id", "NULL: unnamed, see why"),
	COLUMN(STRING, frame, module, "module_id", NULL),
	COLUMN(BITS, frame, offset, "offset",
	       "in the module, or the address; 64 bits, print it with printf('%x')"),
	COLUMN(STRING, frame, file, "file_id", NULL),
	COLUMN(NUMBER, frame, line, "line", "0: not known"),
	COLUMN(NUMBER, frame, kind, "kind", "0 user, 1 kernel", .max = FRAME_CONTEXT),
	COLUMN(NUMBER, frame, why, "why",
	       "0 named, 1 no symbols, 2 not mapped, 3 process gone, 4 no file, 5 stack lost",
	       .max = FRAME_WHY_COUNT - 1),
	COLUMN(FLAG, frame, is_inline, "is_inline", NULL),
};

static const struct column stack_columns[] = {
	COLUMN(ID, stack_node, parent, "parent_id", "NULL: outermost; else below id", .of = TABLE_STACK,
	       .is_nullable = true),
	COLUMN(ID, stack_node, frame, "frame_id", NULL, .of = TABLE_FRAME),
	COLUMN(NUMBER, stack_node, depth, "depth", "frames on the path", .max = PROFILE_DEPTH_MAX),
	COLUMN(NUMBER, stack_node, end, "end",
	       "0 none (inner row), 1 complete, 2 truncated, 3 broken, 4 pending", .max = STACK_END_COUNT - 1),
};

static const struct column thread_columns[] = {
	PLAIN(WINDOW, "window_id", NULL),
	COLUMN(NUMBER, thread, pid, "pid", NULL),
	COLUMN(NUMBER, thread, tid, "tid", NULL),
	COLUMN(NS, thread, start_ns, "start_ns", "since boot"),
	COLUMN(TEXT, thread, comm, "comm", NULL),
	COLUMN(TEXT, thread, process, "process", "comm of the process's first thread"),
	COLUMN(NUMBER, thread, flags, "flags", "1 kernel, 2 open_at_start, 4 open_at_end, 8 exited, 16 execed"),
	COLUMN(NS, thread, from_ns, "from_ns", NULL),
	COLUMN(NS, thread, to_ns, "to_ns", NULL),
	COLUMN(NS, thread, on_cpu_ns, "on_cpu_ns", NULL, .merge = MERGE_SUM),
	COLUMN(NS, thread, blocked_ns, "blocked_ns", NULL, .merge = MERGE_SUM),
	COLUMN(NS, thread, runnable_ns, "runnable_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NS, thread, preempted_ns, "preempted_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NS, thread, filtered_ns, "filtered_ns",
	       "off-CPU time that a filter kept from being listed in wait", .merge = MERGE_SUM),
	COLUMN(NS, thread, lost_ns, "lost_ns", "off-CPU time that a loss kept from being listed in wait",
	       .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NUMBER, thread, switches, "switches", NULL, .merge = MERGE_SUM),
	COLUMN(TEXT, thread, service, "service",
	       "the process's own name for it, a pod, a container, a unit; NULL: not known",
	       .is_nullable = true),
};

static const struct column object_columns[] = {
	COLUMN(ODD, object, kind, "kind",
	       "mutex, condition variable, rwlock, semaphore, barrier, join, once, libc lock, park; futex: not known",
	       .put = put_object_kind, .get = get_object_kind, .is_text = true),
	COLUMN(FLAG, object, is_private, "is_private", NULL),
	COLUMN(TEXT, object, operation, "operation", "FUTEX_WAIT, ..., futex_waitv"),
	COLUMN(TEXT, object, name, "name", "of the variable, or where it lies"),
	COLUMN(TEXT, object, place, "place", "path of the file whose data it is, [heap], [stack], ..."),
	COLUMN(NUMBER, object, pid, "pid", "0: shared, and known by its name"),
	COLUMN(BITS, object, addr, "address", "in that process; 64 bits, print it with printf('%x')"),
	COLUMN(NUMBER, object, holder_tid, "holder_tid", "who held it as the waits began; NULL: not known",
	       .is_nullable = true),
};

static const struct column tcp_wait_columns[] = {
	COLUMN(ID, tcp_wait, object, "object_id", NULL, .of = TABLE_OBJECT),
	COLUMN(NUMBER, tcp_wait, direction, "direction", "0 receive, 1 send, 2 connect", .max = TCP_WAIT_DIRECTION_COUNT - 1),
	COLUMN(NUMBER, tcp_wait, count, "count", NULL, .merge = MERGE_SUM),
	COLUMN(NS, tcp_wait, blocked_ns, "blocked_ns", "of which the next four are parts; what is in none is not known",
	       .merge = MERGE_SUM),
	COLUMN(NS, tcp_wait, peer_ns, "peer_ns", "all was acknowledged; of sending: its window was closed", .merge = MERGE_SUM),
	COLUMN(NS, tcp_wait, network_ns, "network_ns", "least round trips, and until something was sent again",
	       .merge = MERGE_SUM),
	COLUMN(NS, tcp_wait, silent_ns, "silent_ns", "nothing was sent since the last data came", .merge = MERGE_SUM),
	COLUMN(NS, tcp_wait, unclear_ns, "unclear_ns", "the peer, or the way there", .merge = MERGE_SUM),
	COLUMN(NUMBER, tcp_wait, resent, "resent", "segments that were sent again", .merge = MERGE_SUM),
	COLUMN(NUMBER, tcp_wait, srtt_us, "srtt_us", "smoothed round trip; NULL: not known", .is_nullable = true,
	       .merge = MERGE_LAST),
	COLUMN(NUMBER, tcp_wait, min_rtt_us, "min_rtt_us", "least round trip; NULL: not known", .is_nullable = true,
	       .merge = MERGE_LAST),
};

static const struct column connection_columns[] = {
	COLUMN(NUMBER, connection, pid, "pid", NULL),
	COLUMN(NUMBER, connection, side, "side", "0: it connected, 1: it serves", .max = CONNECTION_SIDE_COUNT - 1),
	COLUMN(TEXT, connection, local, "local", "address:port; of a client without a port: several"),
	COLUMN(TEXT, connection, remote, "remote", "the other end; of a server an address or nothing: several"),
};

static const struct column wait_columns[] = {
	COLUMN(ID, wait, thread, "thread_id", NULL, .of = TABLE_THREAD),
	COLUMN(ID, wait, user, "user_stack_id", "NULL: none", .of = TABLE_STACK, .is_nullable = true),
	COLUMN(ID, wait, kernel, "kernel_stack_id", NULL, .of = TABLE_STACK, .is_nullable = true),
	COLUMN(STATE, wait, state, "state", "S D T t P I R"),
	COLUMN(NUMBER, wait, flags, "flags", "1 open_at_start, 2 open_at_end"),
	COLUMN(NUMBER, wait, count, "count", NULL, .merge = MERGE_SUM),
	COLUMN(NS, wait, blocked_ns, "blocked_ns", NULL, .merge = MERGE_SUM),
	COLUMN(NS, wait, runnable_ns, "runnable_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NS, wait, preempted_ns, "preempted_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NS, wait, off_cpu_se_ns, "off_cpu_se_ns",
	       "error of the sum of the three before, which is most likely within three of it; NULL: exact",
	       .is_nullable = true, .merge = MERGE_ERROR),
	COLUMN(ODD, wait, max_ns, "max_ns", "NULL: one wait, so that sum", .put = put_wait_max,
	       .get = get_wait_max, .max = PROFILE_NS_MAX),
	COLUMN(ODD, wait, hist, "log2_ns",
	       "JSON [exponent,count,...]: durations from 2^exponent ns up to the next, and so on; NULL: one wait",
	       .put = put_wait_hist, .get = get_wait_hist, .is_text = true, .merge = MERGE_HIST),
	COLUMN(ID, wait, object, "object_id", "NULL: none, or not recorded", .of = TABLE_OBJECT,
	       .plus_1 = true),
	COLUMN(NUMBER, wait, count_se, "count_se", "error of the count; NULL: exact", .is_nullable = true,
	       .merge = MERGE_ERROR),
};

static const struct column state_total_columns[] = {
	COLUMN(ID, state_total, thread, "thread_id", NULL, .of = TABLE_THREAD),
	COLUMN(STATE, state_total, state, "state", "S D T t P I R"),
	COLUMN(NUMBER, state_total, count, "count", NULL, .merge = MERGE_SUM),
	COLUMN(NS, state_total, blocked_ns, "blocked_ns", NULL, .merge = MERGE_SUM),
	COLUMN(NS, state_total, runnable_ns, "runnable_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NS, state_total, preempted_ns, "preempted_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
};

static const struct column sampling_columns[] = {
	PLAIN(WINDOW, "window_id", NULL),
	COLUMN(NS, profile_sampling, start_ns, "start_scale_ns", "as the window began; 0: exact"),
	COLUMN(NS, profile_sampling, end_ns, "end_scale_ns", NULL, .merge = MERGE_LAST),
	COLUMN(NS, profile_sampling, max_ns, "max_scale_ns", NULL, .merge = MERGE_MAX),
	COLUMN(NUMBER, profile_sampling, raised_cnt, "raised", "times the governor raised the scale",
	       .merge = MERGE_LAST),
	COLUMN(NUMBER, profile_sampling, lowered_cnt, "lowered", NULL, .merge = MERGE_LAST),
	COLUMN(NUMBER, profile_sampling, over_cnt, "exceeded",
	       "readings, about one a second, above the budget by the BPF programs' time", .merge = MERGE_LAST),
	COLUMN(NUMBER, profile_sampling, budget_ppm, "budget_ppm", "of all CPUs' time; 0: no governor",
	       .merge = MERGE_LAST),
	COLUMN(NUMBER, profile_sampling, used_ppm, "used_ppm", "the tracer's BPF and CPU time; NULL: not known",
	       .known = offsetof(struct profile_sampling, has_used)),
	COLUMN(NUMBER, profile_sampling, peak_ppm, "peak_ppm", "in the worst second",
	       .known = offsetof(struct profile_sampling, has_used), .merge = MERGE_MAX),
};

static const struct column waker_columns[] = {
	COLUMN(NUMBER, waker, pid, "pid", "0: an interrupt"),
	COLUMN(NUMBER, waker, tid, "tid", NULL),
	COLUMN(NS, waker, start_ns, "start_ns", "since boot"),
	COLUMN(TEXT, waker, comm, "comm", NULL),
	COLUMN(TEXT, waker, irq, "irq", "NULL: a thread; else irq:DEVICE, softirq:VECTOR, timer, ipi, ...",
	       .is_nullable = true),
	COLUMN(ID, waker, user, "user_stack_id", "NULL: none", .of = TABLE_STACK, .is_nullable = true),
	COLUMN(ID, waker, kernel, "kernel_stack_id", NULL, .of = TABLE_STACK, .is_nullable = true),
};

static const struct column wake_columns[] = {
	COLUMN(ID, wake, wait, "wait_id", NULL, .of = TABLE_WAIT),
	COLUMN(ID, wake, waker, "waker_id", NULL, .of = TABLE_WAKER),
	COLUMN(NUMBER, wake, count, "count", NULL, .merge = MERGE_SUM),
	COLUMN(NS, wake, blocked_ns, "blocked_ns", "part of the wait's", .merge = MERGE_SUM),
	COLUMN(NS, wake, runnable_ns, "runnable_ns", "part of the wait's: from the waking to the CPU",
	       .merge = MERGE_SUM),
	COLUMN(HIST, wake, hist, "log2_ns", "of these delays, as in wait", .merge = MERGE_HIST),
};

static const struct column chain_columns[] = {
	COLUMN(ID, chain_node, waker, "waker_id", NULL, .of = TABLE_WAKER),
	COLUMN(ID, chain_node, next, "next_id", "NULL: see end; else below id", .of = TABLE_CHAIN,
	       .plus_1 = true),
	COLUMN(NUMBER, chain_node, end, "end",
	       "0 goes on, 1 awake, 2 loop, 3 interrupt, 4 depth, 5 start of tracing, 6 unknown",
	       .max = CHAIN_END_COUNT - 1),
	COLUMN(NUMBER, chain_node, loop_steps, "loop_steps",
	       "how many steps back towards the sleeper a loop closes", .max = PROFILE_CHAIN_MAX),
};

static const struct column story_columns[] = {
	COLUMN(ID, story, wake, "wake_id", NULL, .of = TABLE_WAKE),
	COLUMN(ID, story, chain, "chain_id", NULL, .of = TABLE_CHAIN),
	COLUMN(NUMBER, story, count, "count", NULL, .merge = MERGE_SUM),
	COLUMN(NS, story, blocked_ns, "blocked_ns", "part of the wake's; its hops and rest_ns add up to it",
	       .merge = MERGE_SUM),
	COLUMN(NS, story, runnable_ns, "runnable_ns", "part of the wake's", .merge = MERGE_SUM),
	COLUMN(NS, story, rest_ns, "rest_ns",
	       "the last waker's wait for who is not in the chain; until the interrupt came"),
};

static const struct column hop_columns[] = {
	COLUMN(ID, hop_row, story, "story_id", NULL, .of = TABLE_STORY),
	COLUMN(NUMBER, hop_row, step, "step", "1: who woke the sleeper", .max = PROFILE_CHAIN_MAX),
	COLUMN(NS, hop_row, hop.ran_ns, "ran_ns", "from the end of its own wait to its waking, on CPU"),
	COLUMN(NS, hop_row, hop.runnable_ns, "runnable_ns", "the same, waiting for a CPU"),
	COLUMN(NS, hop_row, hop.earlier_ns, "earlier_ns", "before its own wait"),
};

static const struct column blame_columns[] = {
	COLUMN(ID, blame, thread, "thread_id", "that waited", .of = TABLE_THREAD),
	COLUMN(NUMBER, blame, kind, "kind",
	       "1 a thread, 2 nobody: the CPU was idle, 3 nobody: throttled by its cgroup",
	       .max = BLAME_THROTTLED),
	COLUMN(NUMBER, blame, pid, "pid", "of the thread that held it, as the next two; 0 and '' without"),
	COLUMN(NUMBER, blame, tid, "tid", "0: several threads of that name"),
	COLUMN(TEXT, blame, comm, "comm", NULL),
	COLUMN(NUMBER, blame, count, "count", "stretches of its on the CPU", .merge = MERGE_SUM),
	COLUMN(NS, blame, runnable_ns, "runnable_ns", "part of the waiting thread's", .merge = MERGE_SUM),
	COLUMN(NS, blame, preempted_ns, "preempted_ns", NULL, .merge = MERGE_SUM),
};

static const struct column trace_columns[] = {
	COLUMN(ID, wait_trace, wait, "wait_id", NULL, .of = TABLE_WAIT),
	COLUMN(TEXT, wait_trace, trace, "trace_id", "32 hexadecimal digits"),
	COLUMN(TEXT, wait_trace, span, "span_id", "16"),
	COLUMN(NS, wait_trace, start_ns, "start_ns", "when it began, since the start of the window"),
	COLUMN(NS, wait_trace, ns, "ns", "how long it took"),
};

static const struct column storm_columns[] = {
	COLUMN(ID, storm, waker, "waker_id", NULL, .of = TABLE_WAKER),
	COLUMN(NUMBER, storm, event_cnt, "events", NULL, .merge = MERGE_SUM),
	COLUMN(NUMBER, storm, call_cnt, "calls", "system calls or interrupts that they took", .merge = MERGE_SUM),
	COLUMN(NUMBER, storm, woken_cnt, "woken", NULL, .merge = MERGE_SUM),
	COLUMN(NUMBER, storm, most_cnt, "most", "woken by one event", .merge = MERGE_MAX),
	COLUMN(NUMBER, storm, ended_cnt, "ended", "of the woken, seen to sleep again or exit", .merge = MERGE_SUM),
	COLUMN(NUMBER, storm, again_cnt, "again", "of those, asleep again after 100 us on CPU or less",
	       .merge = MERGE_SUM),
	COLUMN(NS, storm, cpu_ns, "cpu_ns", "on CPU from the waking until then, of all that ended",
	       .merge = MERGE_SUM),
	COLUMN(NS, storm, again_ns, "again_ns", "the same of those asleep again", .merge = MERGE_SUM),
	COLUMN(NS, storm, delay_ns, "delay_ns", "in a run queue meanwhile, of all that ended", .merge = MERGE_SUM),
};

static const struct column slice_columns[] = {
	PLAIN(NUMBER, "count", "of waits that ended in it"),
	PLAIN(NS, "blocked_ns", "of all waits, what lies in it"),
	PLAIN(NS, "runnable_ns", NULL),
	PLAIN(NS, "preempted_ns", NULL),
	PLAIN(HIST, "log2_ns", "of the waits that ended in it, as in wait; NULL: none did"),
};

static const struct column slice_cells_columns[] = {
	PLAIN(ID, "slice_id", NULL, .of = TABLE_SLICE),
	PLAIN(BLOB, "cells", "see docs/file-format.md; those of one slice are one after the other"),
};

static const struct column on_cpu_columns[] = {
	COLUMN(ID, on_cpu_sample, thread, "thread_id", NULL, .of = TABLE_THREAD),
	COLUMN(ID, on_cpu_sample, user, "user_stack_id", "NULL: none", .of = TABLE_STACK, .is_nullable = true),
	COLUMN(ID, on_cpu_sample, kernel, "kernel_stack_id", "NULL: it ran in user mode", .of = TABLE_STACK,
	       .is_nullable = true),
	COLUMN(NUMBER, on_cpu_sample, slice, "slice_id", "of the window; 0 where there are no slices"),
	COLUMN(NUMBER, on_cpu_sample, samples, "samples", NULL, .merge = MERGE_SUM),
	COLUMN(NS, on_cpu_sample, weight_ns, "weight_ns",
	       "the time between two samples of a CPU, of each: what they count", .merge = MERGE_SUM),
};

static const struct column request_columns[] = {
	COLUMN(TEXT, request_row, name, "name", NULL),
	COLUMN(TEXT, request_row, file, "file", "that it lies in"),
	COLUMN(NUMBER, request_row, sum.all.count, "count", "of requests that ended in the window"),
	COLUMN(NS, request_row, sum.all.wall_ns, "wall_ns",
	       "their sum; the next four add up to it, but for context switches that were not seen"),
	COLUMN(NS, request_row, sum.all.on_cpu_ns, "on_cpu_ns", NULL),
	COLUMN(NS, request_row, sum.all.blocked_ns, "blocked_ns", NULL),
	COLUMN(NS, request_row, sum.all.runnable_ns, "runnable_ns", NULL),
	COLUMN(NS, request_row, sum.all.preempted_ns, "preempted_ns", NULL),
	COLUMN(NUMBER, request_row, sum.slow.count, "slow_count",
	       "of these, those that took meta's request_slower_ns or more; and their times"),
	COLUMN(NS, request_row, sum.slow.wall_ns, "slow_wall_ns", NULL),
	COLUMN(NS, request_row, sum.slow.on_cpu_ns, "slow_on_cpu_ns", NULL),
	COLUMN(NS, request_row, sum.slow.blocked_ns, "slow_blocked_ns", NULL),
	COLUMN(NS, request_row, sum.slow.runnable_ns, "slow_runnable_ns", NULL),
	COLUMN(NS, request_row, sum.slow.preempted_ns, "slow_preempted_ns", NULL),
	COLUMN(NUMBER, request_row, sum.unwound_cnt, "thrown", "of all: ended by an exception"),
	COLUMN(NS, request_row, sum.max_ns, "max_ns", NULL),
	COLUMN(ODD, request_row, sum.hist, "latency_ns",
	       "JSON [slot,count,slot,count,...], 16 slots an octave: see docs/file-format.md",
	       .put = put_latencies, .get = get_latencies, .is_text = true),
};

static const struct column request_calls_columns[] = {
	COLUMN(NUMBER, request_row, calls.all.count, "count", NULL),
	COLUMN(NS, request_row, calls.all.wall_ns, "wall_ns",
	       "and its parts: of those inside of no other call of the same function"),
	COLUMN(NS, request_row, calls.all.on_cpu_ns, "on_cpu_ns", NULL),
	COLUMN(NS, request_row, calls.all.blocked_ns, "blocked_ns", NULL),
	COLUMN(NS, request_row, calls.all.runnable_ns, "runnable_ns", NULL),
	COLUMN(NS, request_row, calls.all.preempted_ns, "preempted_ns", NULL),
	COLUMN(NUMBER, request_row, calls.self.count, "self_count", "always 0"),
	COLUMN(NS, request_row, calls.self.wall_ns, "self_wall_ns",
	       "outside of the traced functions called from there"),
	COLUMN(NS, request_row, calls.self.on_cpu_ns, "self_on_cpu_ns", NULL),
	COLUMN(NS, request_row, calls.self.blocked_ns, "self_blocked_ns", NULL),
	COLUMN(NS, request_row, calls.self.runnable_ns, "self_runnable_ns", NULL),
	COLUMN(NS, request_row, calls.self.preempted_ns, "self_preempted_ns", NULL),
};

static const struct column request_part_columns[] = {
	COLUMN(ID, request_part, func, "request_id", NULL, .of = TABLE_REQUEST),
	COLUMN(NUMBER, request_part, range, "latency_range", "four slots of latency_ns",
	       .max = OFFCPU_REQUEST_RANGES - 1),
	COLUMN(STATE, request_part, wait.state, "state",
	       "as of wait; NULL: the requests themselves; ?: waits with more stacks than could be told apart",
	       .is_nullable = true, .may_be_many = true),
	COLUMN(ID, request_part, wait.thread, "thread_id", "one of theirs", .of = TABLE_THREAD),
	COLUMN(ID, request_part, wait.user, "user_stack_id", "NULL: none", .of = TABLE_STACK,
	       .is_nullable = true),
	COLUMN(ID, request_part, wait.kernel, "kernel_stack_id", NULL, .of = TABLE_STACK, .is_nullable = true),
	COLUMN(ID, request_part, wait.object, "object_id", "NULL: none, or not recorded", .of = TABLE_OBJECT,
	       .plus_1 = true),
	COLUMN(NUMBER, request_part, requests, "requests", NULL, .merge = MERGE_SUM),
	COLUMN(NUMBER, request_part, wait.count, "waits", NULL, .merge = MERGE_SUM),
	COLUMN(NS, request_part, wall_ns, "wall_ns", "of the requests themselves, as the next one; else 0",
	       .merge = MERGE_SUM),
	COLUMN(NS, request_part, on_cpu_ns, "on_cpu_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NS, request_part, wait.blocked_ns, "blocked_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NS, request_part, wait.runnable_ns, "runnable_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
	COLUMN(NS, request_part, wait.preempted_ns, "preempted_ns", NULL, .merge = MERGE_SUM, .adds_on = true),
};

static const struct column span_columns[] = {
	COLUMN(ID, request_span, func, "request_id", NULL, .of = TABLE_REQUEST),
	COLUMN(ID, request_span, thread, "thread_id", NULL, .of = TABLE_THREAD),
	COLUMN(NS, request_span, start_ns, "start_ns", NULL),
	COLUMN(NS, request_span, wall_ns, "wall_ns", NULL, .merge = MERGE_SUM),
	COLUMN(NS, request_span, on_cpu_ns, "on_cpu_ns", NULL),
	COLUMN(NS, request_span, blocked_ns, "blocked_ns", NULL),
	COLUMN(NS, request_span, runnable_ns, "runnable_ns", NULL),
	COLUMN(NS, request_span, preempted_ns, "preempted_ns", NULL),
	COLUMN(NUMBER, request_span, flags, "flags",
	       "1 nested calls, 2 recursed, 4 thrown, 8 more waits than told apart, 16 slowest: stands for itself alone",
	       .max = OFFCPU_SPAN_FLAGS),
	COLUMN(ID, request_span, context, "context_stack_id",
	       "of the attributes of its trace context as it ended, or waited last; NULL: none", .of = TABLE_STACK,
	       .is_nullable = true),
	COLUMN(TEXT, request_span, trace, "trace_id", "the same: 32 hexadecimal digits", .is_nullable = true),
	COLUMN(TEXT, request_span, trace_span, "trace_span_id", "16", .is_nullable = true),
};

static const struct column span_wait_columns[] = {
	COLUMN(ID, span_wait_row, span, "span_id", NULL, .of = TABLE_SPAN),
	COLUMN(STATE, span_wait_row, wait.state, "state", "as of wait; ?: with more stacks than are told apart",
	       .may_be_many = true),
	COLUMN(ID, span_wait_row, wait.user, "user_stack_id", "NULL: none", .of = TABLE_STACK,
	       .is_nullable = true),
	COLUMN(ID, span_wait_row, wait.kernel, "kernel_stack_id", NULL, .of = TABLE_STACK, .is_nullable = true),
	COLUMN(ID, span_wait_row, wait.object, "object_id", "NULL: none, or not recorded", .of = TABLE_OBJECT,
	       .plus_1 = true),
	COLUMN(NUMBER, span_wait_row, wait.count, "count", NULL),
	COLUMN(NS, span_wait_row, wait.blocked_ns, "blocked_ns", NULL),
	COLUMN(NS, span_wait_row, wait.runnable_ns, "runnable_ns", NULL),
	COLUMN(NS, span_wait_row, wait.preempted_ns, "preempted_ns", NULL),
};

static const struct column task_population_columns[] = {
	COLUMN(NUMBER, population_row, pid, "pid", NULL),
	COLUMN(TEXT, population_row, kind, "kind", "goroutine, asyncio"),
	COLUMN(TEXT, population_row, program, "program", NULL),
	COLUMN(TEXT, population_row, version, "version", "of the runtime; NULL: not known",
	       .is_nullable = true),
	COLUMN(NS, population_row, window_ns, "window_ns", "that the looks stand for"),
	COLUMN(NUMBER, population_row, looks, "looks", NULL),
	COLUMN(NUMBER, population_row, rate_milli_hz, "rate_milli_hz", "as asked for",
	       .max = RATE_MAX_MILLI_HZ),
	COLUMN(NUMBER, population_row, looked_at_ppm, "looked_at_ppm", "of the tasks, by each look",
	       .max = TASKS_PPM),
	COLUMN(NS, population_row, cpu_ns, "cpu_ns", "what looking cost"),
	COLUMN(NUMBER, population_row, stale, "stale",
	       "looks at a task that changed meanwhile: these have no stack"),
	COLUMN(NUMBER, population_row, unreadable, "unreadable", "looks at memory that was gone"),
	COLUMN(NUMBER, population_row, no_row, "no_row", "looks at tasks with more stacks than are told apart"),
	COLUMN(FLAG, population_row, is_cut, "is_cut", "there were more tasks than are ever looked at"),
};

static const struct column task_columns[] = {
	COLUMN(ID, recorded_task, population, "population_id", NULL, .of = TABLE_TASK_POPULATION),
	COLUMN(TEXT, recorded_task, row.state, "state", "waiting, runnable, running, syscall, ..."),
	COLUMN(TEXT, recorded_task, row.reason, "reason", "chan send, ...; NULL: none", .is_nullable = true),
	COLUMN(ID, recorded_task, row.stack, "stack_id", "NULL: none", .of = TABLE_STACK, .is_nullable = true),
	COLUMN(NUMBER, recorded_task, row.end, "stack_end", "as in stack", .max = STACK_END_COUNT - 1),
	COLUMN(ID, recorded_task, row.creator_frame, "creator_frame_id",
	       "where they were made; NULL: not known", .of = TABLE_FRAME, .plus_1 = true),
	COLUMN(NUMBER, recorded_task, row.parent, "parent",
	       "number of the task that made them all; NULL: not known, or several", .is_nullable = true),
	COLUMN(TEXT, recorded_task, row.name, "name", "of the one task, or of all; NULL: none",
	       .is_nullable = true),
	COLUMN(TEXT, recorded_task, row.awaited_by, "awaited_by", "the same of tasks that wait for these",
	       .is_nullable = true),
	COLUMN(NUMBER, recorded_task, row.seen, "seen", "how often a task was seen so"),
	COLUMN(NS, recorded_task, row.task_ns, "task_ns", "of task time, which is in no account of a thread"),
	COLUMN(NS, recorded_task, row.task_se_ns, "task_se_ns", "its standard error"),
};

static const struct column longest_columns[] = {
	COLUMN(ID, longest_row, wait, "wait_id", NULL, .of = TABLE_WAIT),
	COLUMN(NS, longest_row, start_ns, "start_ns", "behind the start of the window"),
	COLUMN(ID, longest_row, waker, "waker_id", "who ended it; NULL: not known, or not recorded",
	       .of = TABLE_WAKER, .plus_1 = true),
};

static const struct column task_look_columns[] = {
	COLUMN(ID, look_row, population, "population_id", NULL, .of = TABLE_TASK_POPULATION),
	COLUMN(NS, look_row, start_ns, "start_ns", "of the time that it stands for"),
	COLUMN(NS, look_row, period_ns, "period_ns", NULL),
	COLUMN(NUMBER, look_row, looks, "looks", "that were joined", .max = UINT32_MAX),
	COLUMN(NUMBER, look_row, weight_milli, "weight_milli",
	       "the most tasks, in thousandths, that one stood for", .max = WEIGHT_MAX_MILLI),
	COLUMN(NUMBER, look_row, stale, "stale", "as in task_population, as the next two", .max = UINT32_MAX),
	COLUMN(NUMBER, look_row, unreadable, "unreadable", NULL, .max = UINT32_MAX),
	COLUMN(NUMBER, look_row, no_row, "no_row", NULL, .max = UINT32_MAX),
};

static const struct column task_look_cells_columns[] = {
	PLAIN(ID, "look_id", NULL, .of = TABLE_TASK_LOOK),
	PLAIN(BLOB, "cells", "see docs/file-format.md; those of one look are one after the other"),
};

#define TABLE(id, type, name_, note_, ...)                                                                            \
	[TABLE_##id] = { .name = #name_, .note = note_, .columns = name_##_columns,                                    \
			 .column_cnt = G_N_ELEMENTS(name_##_columns), .row_bytes = sizeof(type), __VA_ARGS__ }
#define OF(member) offsetof(struct profile, member)

const struct profile_table profile_tables[TABLE_CNT] = {
	[TABLE_META] = { .name = "meta", .first_id = -1, .max_rows = 64, .write = write_meta, .read = read_meta,
			 .columns = meta_columns, .column_cnt = G_N_ELEMENTS(meta_columns),
			 .sql = "CREATE TABLE meta( -- about the whole recording\n"
				"  key TEXT PRIMARY KEY, -- version, host, kernel, cpus, command_line, filters, self_excluded\n"
				"  value\n"
				") WITHOUT ROWID" },
	TABLE(WINDOW, struct profile_info, window, NULL,
	      .first_id = PROFILE_WINDOW_ID, .min_rows = 1, .max_rows = 1, .is_of_info = true),
	TABLE(LOSS, struct profile_loss, loss, "what could not be recorded",
	      .max_rows = 1024, .array = OF(losses), .add = add_loss),
	TABLE(STRING, uint8_t, string, NULL,
	      .max_rows = 3 * PROFILE_ROWS_MAX, .write = write_no_strings, .read = read_string),
	TABLE(FRAME, struct frame, frame, NULL,
	      .array = OF(frames), .add = add_frame),
	TABLE(STACK, struct stack_node, stack,
	      "prefix tree: a stack is the path from the outermost frame to this row",
	      .first_id = 1, .max_rows = PROFILE_NODES_MAX, .array = OF(nodes), .add = add_stack),
	TABLE(THREAD, struct thread, thread, "one thread as one program: an exec begins a new row",
	      .array = OF(threads), .add = add_thread),
	TABLE(OBJECT, struct object, object, "what threads waited for: futexes",
	      .array = OF(objects), .add = add_object),
	TABLE(WAIT, struct wait, wait, "all waits of one thread with the same state, flags, stacks and object",
	      .array = OF(waits), .add = add_wait),
	TABLE(STATE_TOTAL, struct state_total, state_total,
	      "exact, whatever was sampled: all waits of one thread in one state but those filtered",
	      .array = OF(states)),
	TABLE(SAMPLING, struct profile_sampling, sampling,
	      "waits below the scale were kept with probability duration / scale",
	      .first_id = PROFILE_WINDOW_ID, .max_rows = 1, .is_of_info = true,
	      .info_at = offsetof(struct profile_info, sampling)),
	TABLE(WAKER, struct waker, waker, "what made threads runnable: a thread at a place, or an interrupt",
	      .array = OF(wakers), .add = add_waker),
	TABLE(WAKE, struct wake, wake, "the sleeps of one wait row that one waker ended",
	      .array = OF(wakes), .add = add_wake),
	TABLE(CHAIN, struct chain_node, chain, "a waker, and the chain that had ended its own last wait",
	      .array = OF(chains), .add = add_chain),
	TABLE(STORY, struct story, story, "sleeps of one wake row that one chain ended",
	      .array = OF(stories)),
	TABLE(HOP, struct hop_row, hop, "what one waker of the chain did in that time",
	      .max_rows = PROFILE_CHAIN_MAX * PROFILE_ROWS_MAX, .next = next_hop, .add = add_hop),
	TABLE(BLAME, struct blame, blame,
	      "who held the CPU while a thread stood in its queue; what no row of it takes is not known",
	      .array = OF(blames), .add = add_blame),
	TABLE(STORM, struct storm, storm, "events of one waker that woke 8 threads or more at once",
	      .array = OF(storms), .add = add_storm),
	TABLE(TRACE, struct wait_trace, trace,
	      "of rows of waits: for which trace the longest was, as the thread's trace context said",
	      .array = OF(traces), .add = add_trace),
	TABLE(TCP_WAIT, struct tcp_wait, tcp_wait, "what waits for an object went on, as its TCP sockets say",
	      .array = OF(tcp_waits), .add = add_tcp_wait),
	TABLE(CONNECTION, struct connection, connection, "TCP connections that threads waited for, and ports that processes serve",
	      .max_rows = CONNECTIONS_MAX, .array = OF(connections), .add = add_connection),
	TABLE(SLICE, uint8_t, slice, "the window in pieces of meta's slice_ns, the first one being 0",
	      .max_rows = SLICES_MAX, .write = slices_write, .read = row_of_slice),
	TABLE(SLICE_CELLS, uint8_t, slice_cells, "the same for each wait row",
	      .write = slices_write_cells, .read = row_of_slice_cells),
	TABLE(ON_CPU, struct on_cpu_sample, on_cpu,
	      "samples of a thread on CPU with the same stacks in the same slice",
	      .array = OF(on_cpu), .add = add_on_cpu),
	TABLE(REQUEST, struct request_row, request,
	      "a function whose calls are requests, a pair of probes, or a port",
	      .max_rows = OFFCPU_REQUEST_FUNCS_MAX, .array = OF(requests), .add = add_request),
	TABLE(REQUEST_CALLS, struct request_row, request_calls,
	      "where there are several functions: all calls, be they a request or inside of one",
	      .max_rows = OFFCPU_REQUEST_FUNCS_MAX, .id_note = "of the request",
	      .array = OF(requests), .next = next_request_calls, .add = add_request_calls),
	TABLE(REQUEST_PART, struct request_part, request_part, "what all requests of alike latency did",
	      .array = OF(request_parts)),
	TABLE(SPAN, struct request_span, span, "single requests: the slowest, and a sample of the others",
	      .array = OF(spans)),
	TABLE(SPAN_WAIT, struct span_wait_row, span_wait, "the waits of a span with the same stacks",
	      .next = next_span_wait, .add = add_span_wait),
	TABLE(TASK_POPULATION, struct population_row, task_population,
	      "the tasks of one process: goroutines, or tasks of asyncio",
	      .max_rows = TASKS_POPULATIONS_MAX, .next = next_population, .add = add_population),
	TABLE(TASK, struct recorded_task, task, "tasks with the same state, reason, stack and creator",
	      .max_rows = TASKS_RECORDED_MAX, .next = next_task, .add = add_task),
	TABLE(LONGEST, struct longest_row, longest,
	      "of rows of waits: when the longest began, where it is 1 ms or more",
	      .next = next_longest, .add = add_longest),
	TABLE(TASK_LOOK, struct look_row, task_look,
	      "a look at the tasks of one population, or neighbouring ones that were joined",
	      .max_rows = TASKS_POPULATIONS_MAX * TASK_LOOKS_MAX, .next = next_look, .add = add_look),
	TABLE(TASK_LOOK_CELLS, uint8_t, task_look_cells, "what it found of each task row",
	      .write = task_look_cells_write, .read = row_of_task_look_cells),
};

void column_set(const struct column *c, void *row, uint64_t value)
{
	void *at = (char *)row + c->at;

	switch (c->bytes) {
	case 1: *(uint8_t *)at = (uint8_t)value; break;
	case 2: *(uint16_t *)at = (uint16_t)value; break;
	case 4: *(uint32_t *)at = (uint32_t)value; break;
	default: *(uint64_t *)at = value; break;
	}
}

uint64_t column_max(const struct column *c)
{
	if (c->max || c->kind == COLUMN_FLAG)
		return c->max ? c->max : 1;
	if (c->kind == COLUMN_NS)
		return PROFILE_NS_MAX;
	return c->bytes < 8 ? (UINT64_C(1) << (8 * c->bytes)) - 1 : INT64_MAX;
}

bool column_has_state(const struct column *c, const struct profile *p, char state)
{
	if (!state)
		return c->is_nullable;
	return strchr(c->may_be_many || p->info.unknown & UNKNOWN_STATES ? "SDTtPIR?" : "SDTtPIR", state) != NULL;
}

static void merge_hist(uint32_t *into, const uint32_t *hist)
{
	for (int i = 0; i < PROFILE_HIST_SLOTS; i++)
		into[i] = into[i] > UINT32_MAX - hist[i] ? UINT32_MAX : into[i] + hist[i];
}

static uint64_t merged_value(enum column_merge merge, uint64_t a, uint64_t b)
{
	switch (merge) {
	case MERGE_SUM: return profile_sum(a, b);
	case MERGE_MAX: return MAX(a, b);
	case MERGE_ERROR: return a && b ? (uint64_t)llround(hypot((double)a, (double)b)) : a + b;
	case MERGE_LAST: return b;
	default: return a;
	}
}

void profile_merge_row(enum table_id id, void *into, const void *row)
{
	const struct profile_table *t = &profile_tables[id];

	for (unsigned i = 0; i < t->column_cnt; i++) {
		const struct column *c = &t->columns[i];

		if (c->merge == MERGE_HIST)
			merge_hist((uint32_t *)(void *)((char *)into + c->at),
				   (const uint32_t *)(const void *)((const char *)row + c->at));
		else if (c->merge)
			column_set(c, into, merged_value(c->merge, column_value(c, into), column_value(c, row)));
	}
}

void profile_own_texts(struct profile *p, enum table_id id, void *row)
{
	for (unsigned i = 0; i < profile_tables[id].column_cnt; i++) {
		const struct column *c = &profile_tables[id].columns[i];
		const char **text = (const char **)(void *)((char *)row + c->at);

		if (c->kind == COLUMN_TEXT || c->kind == COLUMN_STRING)
			*text = profile_string(p, *text);
	}
}

static const char *type_of(const struct column *c)
{
	if (c->kind == COLUMN_BLOB)
		return "BLOB";
	return c->kind == COLUMN_TEXT || c->kind == COLUMN_STATE || c->kind == COLUMN_HIST || c->is_text ? "TEXT" : "INTEGER";
}

static const char *table_of(const struct column *c)
{
	switch (c->kind) {
	case COLUMN_WINDOW: return "window";
	case COLUMN_STRING: return "string";
	case COLUMN_ID: return profile_tables[c->of].name;
	default: return NULL;
	}
}

static void append_note(GString *s, const char *note)
{
	if (note)
		g_string_append_printf(s, " -- %s", note);
	g_string_append_c(s, '\n');
}

char *profile_table_sql(const struct profile_table *t)
{
	GString *s = g_string_new(NULL);

	if (t->sql)
		return g_string_free(g_string_assign(s, t->sql), FALSE);
	g_string_append_printf(s, "CREATE TABLE %s(", t->name);
	append_note(s, t->note);
	g_string_append(s, "  id INTEGER PRIMARY KEY,");
	append_note(s, t->id_note);
	for (unsigned i = 0; i < t->column_cnt; i++) {
		const struct column *c = &t->columns[i];

		g_string_append_printf(s, "  %s %s", c->name, type_of(c));
		if (table_of(c))
			g_string_append_printf(s, " REFERENCES %s(id)", table_of(c));
		g_string_append(s, i + 1 < t->column_cnt ? "," : "");
		append_note(s, c->note);
	}
	g_string_append_c(s, ')');
	return g_string_free(s, FALSE);
}

const char profile_views[] =
	"CREATE VIEW v_frame AS SELECT f.id,\n"
	"  coalesce(n.text, printf('%s+0x%x', coalesce(m.text, ''), f.offset)) AS name,\n"
	"  m.text AS module, f.offset, s.text AS file, f.line,\n"
	"  CASE f.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'context' ELSE 'user' END AS kind,\n"
	"  CASE f.why WHEN 0 THEN 'named' WHEN 1 THEN 'no symbols' WHEN 2 THEN 'not mapped'\n"
	"    WHEN 3 THEN 'process gone' WHEN 4 THEN 'no file' ELSE 'stack lost' END AS why,\n"
	"  f.is_inline\n"
	"FROM frame f LEFT JOIN string n ON n.id = f.name_id LEFT JOIN string m ON m.id = f.module_id\n"
	"  LEFT JOIN string s ON s.id = f.file_id;\n"
	"CREATE VIEW v_stack AS SELECT s.id, s.parent_id, s.depth,\n"
	"  CASE s.end WHEN 0 THEN 'none' WHEN 1 THEN 'complete' WHEN 2 THEN 'truncated'\n"
	"    WHEN 3 THEN 'broken' ELSE 'pending' END AS end,\n"
	"  f.name AS leaf, f.module, f.file, f.line, f.kind\n"
	"FROM stack s LEFT JOIN v_frame f ON f.id = s.frame_id;\n"
	"CREATE VIEW v_stack_text AS SELECT s.id, (WITH RECURSIVE up(next_id, stack) AS (\n"
	"  SELECT parent_id, leaf FROM v_stack WHERE id = s.id\n"
	"  UNION ALL SELECT o.parent_id, o.leaf || ';' || up.stack FROM up JOIN v_stack o ON o.id = up.next_id)\n"
	"  SELECT stack FROM up WHERE next_id IS NULL) AS stack\n"
	"FROM stack s;\n"
	"CREATE VIEW v_thread AS SELECT id, window_id, pid, tid, comm, process, service,\n"
	"  to_ns - from_ns AS observed_ns, on_cpu_ns,\n"
	"  blocked_ns + runnable_ns + preempted_ns AS off_cpu_ns, blocked_ns, runnable_ns, preempted_ns,\n"
	"  to_ns - from_ns - on_cpu_ns - blocked_ns - runnable_ns - preempted_ns AS residual_ns,\n"
	"  filtered_ns, lost_ns, switches, flags & 1 <> 0 AS is_kernel, flags & 2 <> 0 AS open_at_start,\n"
	"  flags & 4 <> 0 AS open_at_end, flags & 8 <> 0 AS exited, flags & 16 <> 0 AS execed\n"
	"FROM thread;\n"
	"CREATE VIEW v_wait AS SELECT w.id, t.window_id, w.thread_id, t.pid, t.tid, t.comm, t.process, t.service, w.state,\n"
	"  w.flags & 1 <> 0 AS open_at_start, w.flags & 2 <> 0 AS open_at_end, w.count,\n"
	"  w.blocked_ns + w.runnable_ns + w.preempted_ns AS off_cpu_ns,\n"
	"  w.blocked_ns, w.runnable_ns, w.preempted_ns, coalesce(w.off_cpu_se_ns, 0) AS off_cpu_se_ns,\n"
	"  coalesce(w.max_ns, w.blocked_ns + w.runnable_ns + w.preempted_ns) AS max_ns,\n"
	"  w.user_stack_id, u.leaf AS user_leaf, w.kernel_stack_id, k.leaf AS kernel_leaf,\n"
	"  o.kind AS object_kind, o.name AS object\n"
	"FROM wait w LEFT JOIN thread t ON t.id = w.thread_id LEFT JOIN v_stack u ON u.id = w.user_stack_id\n"
	"  LEFT JOIN v_stack k ON k.id = w.kernel_stack_id LEFT JOIN object o ON o.id = w.object_id;\n"
	"CREATE VIEW v_on_cpu AS SELECT o.thread_id, t.pid, t.tid, t.comm, o.user_stack_id, u.leaf AS user_leaf,\n"
	"  o.kernel_stack_id, k.leaf AS kernel_leaf, sum(o.samples) AS samples,\n"
	"  t.on_cpu_ns * 1.0 * sum(o.weight_ns) / (SELECT sum(a.weight_ns) FROM on_cpu a WHERE a.thread_id = o.thread_id)\n"
	"    AS on_cpu_ns\n"
	"FROM on_cpu o JOIN thread t ON t.id = o.thread_id LEFT JOIN v_stack u ON u.id = o.user_stack_id\n"
	"  LEFT JOIN v_stack k ON k.id = o.kernel_stack_id GROUP BY o.thread_id, o.user_stack_id, o.kernel_stack_id;\n"
	"CREATE VIEW v_wake AS SELECT k.id, k.wait_id, t.comm, t.pid, t.tid, coalesce(a.irq, a.comm) AS waker,\n"
	"  a.pid AS waker_pid, a.tid AS waker_tid, a.irq, k.count, k.blocked_ns, k.runnable_ns,\n"
	"  a.user_stack_id AS waker_user_stack_id, a.kernel_stack_id AS waker_kernel_stack_id\n"
	"FROM wake k JOIN wait w ON w.id = k.wait_id JOIN thread t ON t.id = w.thread_id\n"
	"  JOIN waker a ON a.id = k.waker_id;\n"
	"CREATE VIEW v_story AS WITH RECURSIVE path(chain_id, at_id, step) AS (SELECT id, id, 1 FROM chain\n"
	"  UNION ALL SELECT p.chain_id, c.next_id, p.step + 1 FROM path p JOIN chain c ON c.id = p.at_id\n"
	"    WHERE c.next_id IS NOT NULL)\n"
	"SELECT s.id, s.wake_id, k.comm, k.pid, k.tid, s.count, s.blocked_ns, p.step, coalesce(a.irq, a.comm) AS waker,\n"
	"  a.pid AS waker_pid, a.tid AS waker_tid, coalesce(h.ran_ns, 0) AS ran_ns,\n"
	"  coalesce(h.runnable_ns, 0) AS runnable_ns, coalesce(h.earlier_ns, 0) AS earlier_ns,\n"
	"  CASE WHEN c.next_id IS NULL THEN s.rest_ns ELSE 0 END AS rest_ns,\n"
	"  CASE c.end WHEN 0 THEN '' WHEN 1 THEN 'awake' WHEN 2 THEN 'loop' WHEN 3 THEN 'interrupt'\n"
	"    WHEN 4 THEN 'depth' WHEN 5 THEN 'start' ELSE 'unknown' END AS end\n"
	"FROM story s JOIN v_wake k ON k.id = s.wake_id JOIN path p ON p.chain_id = s.chain_id\n"
	"  JOIN chain c ON c.id = p.at_id JOIN waker a ON a.id = c.waker_id\n"
	"  LEFT JOIN hop h ON h.story_id = s.id AND h.step = p.step;\n"
	"CREATE VIEW v_blame AS SELECT b.id, b.thread_id, t.comm, t.pid, t.tid,\n"
	"  CASE b.kind WHEN 1 THEN b.comm WHEN 2 THEN '[idle]' ELSE '[throttled]' END AS held_by,\n"
	"  b.pid AS held_by_pid, b.tid AS held_by_tid, b.count, b.runnable_ns, b.preempted_ns\n"
	"FROM blame b JOIN thread t ON t.id = b.thread_id\n"
	"UNION ALL SELECT NULL, t.id, t.comm, t.pid, t.tid, '[unknown]', 0, 0, 0,\n"
	"  t.runnable_ns - coalesce(sum(b.runnable_ns), 0), t.preempted_ns - coalesce(sum(b.preempted_ns), 0)\n"
	"FROM thread t LEFT JOIN blame b ON b.thread_id = t.id GROUP BY t.id\n"
	"HAVING t.runnable_ns + t.preempted_ns > coalesce(sum(b.runnable_ns + b.preempted_ns), 0);\n"
	"CREATE VIEW v_span AS SELECT s.id, r.name AS request, t.comm, t.pid, t.tid,\n"
	"  (s.start_ns - (SELECT start_ns FROM window)) / 1e9 AS at_s, s.wall_ns, s.on_cpu_ns, s.blocked_ns, s.runnable_ns,\n"
	"  s.preempted_ns, s.flags & 1 <> 0 AS nested, s.flags & 2 <> 0 AS recursed, s.flags & 4 <> 0 AS thrown,\n"
	"  s.flags & 16 <> 0 AS slowest\n"
	"FROM span s JOIN request r ON r.id = s.request_id JOIN thread t ON t.id = s.thread_id;\n"
	"CREATE VIEW v_task AS SELECT t.id, p.pid, p.program, p.kind, t.state, t.reason, t.stack_id, s.leaf, f.name AS creator,\n"
	"  t.name, t.awaited_by, t.task_ns * 1.0 / p.window_ns AS tasks, t.task_ns, t.task_se_ns\n"
	"FROM task t JOIN task_population p ON p.id = t.population_id LEFT JOIN v_stack s ON s.id = t.stack_id\n"
	"  LEFT JOIN v_frame f ON f.id = t.creator_frame_id;\n"
	"CREATE VIEW v_tcp_wait AS SELECT t.id, o.name AS object,\n"
	"  CASE t.direction WHEN 0 THEN 'receive' WHEN 1 THEN 'send' ELSE 'connect' END AS direction, t.count, t.blocked_ns,\n"
	"  t.peer_ns, t.network_ns, t.silent_ns, t.unclear_ns,\n"
	"  t.blocked_ns - t.peer_ns - t.network_ns - t.silent_ns - t.unclear_ns AS unknown_ns, t.resent, t.srtt_us, t.min_rtt_us\n"
	"FROM tcp_wait t JOIN object o ON o.id = t.object_id;\n"
	"CREATE VIEW v_storm AS SELECT s.id, coalesce(a.irq, a.comm) AS waker, a.pid, a.tid, s.events, s.woken, s.most,\n"
	"  s.ended, s.again, s.again * 100.0 / s.ended AS again_percent, s.cpu_ns, s.again_ns, s.delay_ns,\n"
	"  a.user_stack_id AS waker_user_stack_id, a.kernel_stack_id AS waker_kernel_stack_id\n"
	"FROM storm s JOIN waker a ON a.id = s.waker_id;\n"
	"CREATE VIEW v_hist AS SELECT w.id AS wait_id, json_extract(w.log2_ns, '$[0]') + e.key - 1 AS exponent,\n"
	"  e.value AS count\n"
	"FROM wait w, json_each(w.log2_ns) e WHERE e.key > 0 AND e.value > 0\n"
	"UNION ALL SELECT id, min(47, 4 * (length(x) - 1) + CASE WHEN x >= '8' THEN 3 WHEN x >= '4' THEN 2\n"
	"    WHEN x >= '2' THEN 1 ELSE 0 END), count\n"
	"FROM (SELECT id, count, printf('%x', blocked_ns + runnable_ns + preempted_ns) AS x FROM wait\n"
	"  WHERE log2_ns IS NULL);\n";
