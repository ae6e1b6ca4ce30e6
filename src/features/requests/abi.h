/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ABI_H
#define FEATURES_REQUESTS_ABI_H

/*
 * Requests: calls of functions named by the user, from entry to return on one thread. Summed in the kernel by function
 * and CPU; user space adds the CPUs.
 */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define OFFCPU_REQUEST_FUNCS_MAX 4096
#define OFFCPU_REQUEST_PORTS_MAX 64
#define OFFCPU_REQUEST_ALL_PORTS_MAX 1024	/* including ports of services whose routes are wanted */
#define OFFCPU_REQUEST_ROUTES_MAX 16384	/* of all programs */
#define OFFCPU_REQUEST_NO_FUNC (~0U)	/* a request without a name: its port is traced only for its routes */
#define OFFCPU_REQUEST_ASKED (~1U)	/* of a route: user space has not answered yet */
#define OFFCPU_REQUEST_CALLS_MAX 32	/* limit of nested calls of the functions */
#define OFFCPU_REQUEST_NOTES_MAX 32	/* waits of one request with different stacks that have separate times */
#define OFFCPU_REQUEST_PARTS_MAX 32768
#define OFFCPU_REQUEST_WAITS_MAX 32	/* waits of one request kept until it is known whether it was slow */
#define OFFCPU_REQUEST_SHIFT_MAX 24	/* of requests that are not among the slowest at least 1 in 2^24 is sent */

/* Slots of latencies: one for each ns below 16 ns, 16 for each octave above; the last one has all from 2^40 ns on. */
#define OFFCPU_REQUEST_STEPS 16
#define OFFCPU_REQUEST_SLOTS ((40 - 3) * OFFCPU_REQUEST_STEPS + 1)

/* Slots in one range of latencies, for which parts are summed together. */
#define OFFCPU_REQUEST_RANGE_SLOTS 4
#define OFFCPU_REQUEST_RANGES ((OFFCPU_REQUEST_SLOTS + OFFCPU_REQUEST_RANGE_SLOTS - 1) / OFFCPU_REQUEST_RANGE_SLOTS)

/* The first slot of an octave; ns: 2^exponent to below twice that, exponent 4 to 39. */
static inline __u32 offcpu_request_slot(__u64 ns, __u32 exponent)
{
	return (exponent - 3) * OFFCPU_REQUEST_STEPS + ((ns >> (exponent - 4)) & (OFFCPU_REQUEST_STEPS - 1));
}

struct offcpu_request_times {
	__u64 count;
	__u64 wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
};

/* State of one thread's request. */
struct request_state {
	__u32 is_taken;
	__u32 func;
	__u8 is_active;
	__u8 has_sp;		/* 0: a pair of probes, without a stack pointer */
	__u8 knows_site;	/* when it began a probe at its return existed */
	__u8 flags;		/* enum offcpu_span_flag, so far */
	__u32 wait_cnt, due_cnt;	/* waits kept; how many of them, from the first on, are to be listed */
	__u32 over_cnt;		/* waits without room */
	__u64 over_ns;
	__u64 due_since_ns;	/* due waits that began before this belong to no slow request */
	__u64 gone_before_ns;	/* of waits kept for other open requests, those before this were dropped */
	__u32 gone_cnt, pad;
	__u64 sp, ret, start_ns;
	struct offcpu_request_times start;	/* the thread's account at its start */
	__u32 owner, open_cnt;	/* requests by connection: their thread, and how many are open */
	__u32 number, tno;	/* its own number; its thread's when it last waited */
	__u32 note_cnt;		/* see part.bpf.h */
	__u32 call_cnt;		/* see calls.bpf.h */
	/* of a goroutine: its waits so far, its stack's end, and whether the stack has moved */
	struct offcpu_request_times went;
	__u64 goroutine, stack_top;
	__u32 has_moved;
	__u32 where;		/* enum goroutine_where: see runtimes/go/park.bpf.h */
	__u32 runner;		/* number of the thread that runs it */
	__u32 park_reason;
	__u64 ran_ns, run_since_ns;	/* time on threads so far; start of the current run */
	__u64 waits_ns;		/* part of ran_ns in which the thread waited */
	__u64 route;		/* from its last trace context; 0: not known */
	__u64 trace[3];		/* likewise: 16 bytes and the span's 8, in W3C's format; 0: not known */
	__u32 route_func, pad2;	/* at its end: its name by the route, or OFFCPU_REQUEST_NO_FUNC */
	struct offcpu_request_times cut;	/* of the thread: what was open at cuts and is in no account */
	__u64 off_since_ns, ready_ns, park_stack;	/* on no thread since then; 0: not woken yet */
};

/* State of one connection's request. */
struct socket_request {
	__u64 start_ns;
	struct offcpu_request_times start;	/* the thread's account at its start */
	__u32 func;
	__u32 owner, request;	/* the receiving thread, and the number of its state */
	__u32 has_before;	/* its thread had notes already, for other requests */
};

/* Where windows are cut each function has two, which take turns and are never reset. */
struct offcpu_request_sum {
	struct offcpu_request_times all, slow;	/* slow: of those above the requested latency */
	__u64 unwound_cnt;			/* part of all: ended by an exception */
	__u64 max_ns;
	__u64 hist[OFFCPU_REQUEST_SLOTS];
};

/* For several functions: all calls of one, whether they are requests or nested in one. */
struct offcpu_request_calls {
	/* count: of all; times: of those not nested in another call of the same function */
	struct offcpu_request_times all;
	/* of all calls, without nested calls of traced functions; count: 0 */
	struct offcpu_request_times self;
};

/* What requests of similar latency did: the waits with the same stacks, and, with state 0, the requests themselves. */
struct offcpu_request_part_key {
	/* as in struct offcpu_wait_key; all 0 with state '?': the rest that has no separate times */
	__u64 ustack, kstack, object;
	__u32 func;
	__u16 range;			/* of latency: slot / OFFCPU_REQUEST_RANGE_SLOTS */
	__u8 state;
	__u8 flags;			/* enum offcpu_part_flag */
};

enum offcpu_part_flag {
	OFFCPU_PART_SLOW = 1 << 0,	/* above the requested latency */
	OFFCPU_PART_SECOND = 1 << 1,	/* where windows are cut: of the second half, as in sums of waits */
};

/* The state of a parked goroutine; the object is the number of the reason in Go's runtime. */
#define OFFCPU_REQUEST_PARKED 'g'

struct offcpu_request_part {
	__u64 requests, waits;
	__u64 wall_ns, on_cpu_ns;	/* only for requests */
	__u64 blocked_ns, runnable_ns, preempted_ns;
	__u32 tno;			/* one of the threads */
	__u32 pad;
};

/* Facts of a request besides its times. */
enum offcpu_span_flag {
	OFFCPU_SPAN_NESTED = 1 << 0,	/* other traced functions were called in it */
	OFFCPU_SPAN_RECURSED = 1 << 1,	/* it called itself */
	OFFCPU_SPAN_THROWN = 1 << 2,	/* it was ended by an exception */
	OFFCPU_SPAN_MORE = 1 << 3,	/* some waits have no separate times */
	OFFCPU_SPAN_SLOWEST = 1 << 4,	/* sent because it took as long as requested: it stands for itself alone */
};
#define OFFCPU_SPAN_FLAGS ((1 << 5) - 1)

/* The waits of one request with the same stacks. */
struct offcpu_request_note {
	__u64 ustack, kstack, object;	/* as in struct offcpu_request_part_key */
	__u32 count;
	__u8 state;
	__u8 pad[3];
	__u64 blocked_ns, runnable_ns, preempted_ns;
};

/* One request, for recordings. The record ends after the last used note. */
struct offcpu_rec_request_span {
	__u32 type;
	__u32 func, tno;
	__u8 flags;		/* enum offcpu_span_flag */
	__u8 shift;		/* not among the slowest: it was sent with a probability of 1 in 2^shift */
	__u16 note_cnt;
	__u64 start_ns;
	__u64 wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
	__u64 route, trace[3];	/* as in struct request_state */
	struct offcpu_request_note note[OFFCPU_REQUEST_NOTES_MAX];
};

/* What is in no sum, and why. */
#define OFFCPU_REQUEST_COUNTS(X)                                                                                       \
	X(LEFT, "left",                                                                                                \
	  "left without a return, by longjmp or as their thread ended; the time is until that was noticed")            \
	X(NO_SITE, "no_site", "ended before the place that they return to was known")                                  \
	X(AT_START, "at_start", "had begun before the window")                                                       \
	X(AT_END, "at_end", "had not ended as the window ended")                                                       \
	X(NO_ROOM, "no_room", "began in a thread for which there was no room")                                         \
	X(NESTED, "nested", "calls inside of a request, which are part of that")                                       \
	X(WAITS, "waits", "waits of slow requests beyond the first 32 of each, which are not listed one by one")       \
	X(UNTIL_END, "until_end", "slow requests whose waits are not listed, for the window ended first")              \
	X(CALLS, "calls", "calls inside of a request whose return was not seen; their time is their caller's")         \
	X(DEPTH, "depth", "calls more than 32 deep inside of a request; their time is their caller's")                 \
	X(PARTS, "parts", "waits that are not told by latency, for there was no room")                                 \
	X(RESIDUAL, "residual", "requests with a part of their time unexplained, as a context switch was missed")      \
	X(SPANS, "spans",                                                                                              \
	  "requests that the recording has no span of, though it was to, for the ring buffer was full")                \
	X(RING, "ring", "times that the place a request returns to did not get through")                               \
	X(HANDED, "handed", "were answered, or read on, by another thread than the one that received them")            \
	X(UNANSWERED, "unanswered", "were not answered before the connection was closed, or the next came")            \
	X(NO_GOROUTINE, "no_goroutine", "calls of a Go program outside of any goroutine, or of Go before 1.17")        \
	X(GONE, "gone", "ended with their goroutine; the time is until then")                                         \
	X(NO_STACK, "no_stack", "times that a goroutine was parked and its stack could not be read")                   \
	X(NO_ROUTE, "no_route", "were answered, and no trace context told which route they are")                       \
	X(NEW_ROUTE, "new_route", "were the first of their route, which had yet to be looked up")

enum offcpu_request_count {
#define X(id, name, help) OFFCPU_REQUEST_##id,
	OFFCPU_REQUEST_COUNTS(X)
#undef X
	OFFCPU_REQUEST_COUNT
};

/* Of a trace context's attributes. */
struct offcpu_request_route {
	__u64 from_ns;		/* slower requests may be among the slowest of the route, and are sent */
	__u32 func;		/* their name's number, OFFCPU_REQUEST_NO_FUNC, or OFFCPU_REQUEST_ASKED */
	__u32 pad;
};

/* Keys of the map of return addresses. */
struct offcpu_request_site {
	__u64 addr;
	__u32 pid, pad;
};

enum offcpu_site_state {
	OFFCPU_SITE_ASKED = 1,	/* user space was asked to set a probe there */
	OFFCPU_SITE_PROBED,
	OFFCPU_SITE_REFUSED,	/* no probe is possible there */
};

struct offcpu_rec_request_site {
	__u32 type;
	__u32 func;
	struct offcpu_request_site site;
};

#endif
