/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef REQUEST_ABI_H
#define REQUEST_ABI_H

/*
 * Requests: calls of functions that the user named, from entry to return on one thread.  Summed in the kernel by
 * function, for each CPU apart; user space adds them up.
 */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

#define OFFCPU_REQUEST_FUNCS_MAX 4096
#define OFFCPU_REQUEST_PORTS_MAX 64
#define OFFCPU_REQUEST_ALL_PORTS_MAX 1024	/* with those of services whose routes are asked for */
#define OFFCPU_REQUEST_ROUTES_MAX 16384	/* of all programs */
#define OFFCPU_REQUEST_NO_FUNC (~0U)	/* a request of no name: its port is looked at for its routes alone */
#define OFFCPU_REQUEST_ASKED (~1U)	/* of a route: user space has yet to say */
#define OFFCPU_REQUEST_CALLS_MAX 32	/* calls of the functions inside of one another */
#define OFFCPU_REQUEST_NOTES_MAX 32	/* waits of one request with different stacks, whose time is told apart */
#define OFFCPU_REQUEST_PARTS_MAX 32768
#define OFFCPU_REQUEST_WAITS_MAX 32	/* of one request, kept until it is known whether it was slow */
#define OFFCPU_REQUEST_SHIFT_MAX 24	/* of requests that are not among the slowest at least 1 in 2^24 is told */

/* Latencies: below 16 ns each has a slot, above 16 slots an octave; the last one holds all from 2^40 ns on. */
#define OFFCPU_REQUEST_STEPS 16
#define OFFCPU_REQUEST_SLOTS ((40 - 3) * OFFCPU_REQUEST_STEPS + 1)

/* Of these as many lie in one range of latencies, by which it is told what requests did. */
#define OFFCPU_REQUEST_RANGE_SLOTS 4
#define OFFCPU_REQUEST_RANGES ((OFFCPU_REQUEST_SLOTS + OFFCPU_REQUEST_RANGE_SLOTS - 1) / OFFCPU_REQUEST_RANGE_SLOTS)

/* The slot that begins there; ns: 2^exponent to below twice that, exponent 4 to 39. */
static inline __u32 offcpu_request_slot(__u64 ns, __u32 exponent)
{
	return (exponent - 3) * OFFCPU_REQUEST_STEPS + ((ns >> (exponent - 4)) & (OFFCPU_REQUEST_STEPS - 1));
}

struct offcpu_request_times {
	__u64 count;
	__u64 wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
};

/* Of one thread, as the programs keep it. */
struct request_state {
	__u32 is_taken;
	__u32 func;
	__u8 is_active;
	__u8 has_sp;		/* 0: a pair of probes, which say nothing of the stack */
	__u8 knows_site;	/* its return was sure to be seen as it began */
	__u8 flags;		/* enum offcpu_span_flag, what is known of it */
	__u32 wait_cnt, due_cnt;	/* waits kept; of these, from the first on, to be listed */
	__u32 over_cnt;		/* waits for which there was no room */
	__u64 over_ns;
	__u64 due_since_ns;	/* of those due, what began before then is of no slow request */
	__u64 gone_before_ns;	/* such ones, kept for others that were open, of which some are not kept any more */
	__u32 gone_cnt, pad;
	__u64 sp, ret, start_ns;
	struct offcpu_request_times start;	/* the thread's account */
	__u32 owner, open_cnt;	/* requests by connection: of which thread, and how many */
	__u32 number, tno;	/* its own; the thread's as it last waited */
	__u32 note_cnt;		/* see request_part.bpf.h */
	__u32 call_cnt;		/* see request_calls.bpf.h */
	/* of a goroutine: its waits so far, where its stack ends, and whether that was another place before */
	struct offcpu_request_times went;
	__u64 goroutine, stack_top;
	__u32 has_moved;
	__u32 where;		/* enum goroutine_where: see request_park.bpf.h */
	__u32 runner;		/* number of the thread that runs it */
	__u32 park_reason;
	__u64 ran_ns, run_since_ns;	/* on threads so far; and since when it is on this one */
	__u64 waits_ns;		/* of ran_ns: what the threads waited meanwhile */
	__u64 route;		/* as its trace context last said; 0: not known */
	__u64 trace[3];		/* the same: 16 bytes and the span's 8, as W3C writes them; 0: not known */
	__u32 route_func, pad2;	/* as it ends: what it is called by its route, or OFFCPU_REQUEST_NO_FUNC */
	struct offcpu_request_times cut;	/* of the thread, what went on at cuts: it is in no account of its */
	__u64 off_since_ns, ready_ns, park_stack;	/* on no thread since then; 0: nobody has woken it yet */
};

/* Of one connection. */
struct socket_request {
	__u64 start_ns;
	struct offcpu_request_times start;	/* the thread's account */
	__u32 func;
	__u32 owner, request;	/* the thread that received it, and the number of its state */
	__u32 has_before;	/* its thread had waits noted already, for others */
};

/* Where windows are cut each function has two, which take turns and are never emptied. */
struct offcpu_request_sum {
	struct offcpu_request_times all, slow;	/* slow: of those that took as long as was asked for */
	__u64 unwound_cnt;			/* of all: an exception ended them */
	__u64 max_ns;
	__u64 hist[OFFCPU_REQUEST_SLOTS];
};

/* Where several functions are wanted: all calls of one, whether it is a request or lies inside of one. */
struct offcpu_request_calls {
	/* its count: of all; its times: of those inside of no other call of the same function */
	struct offcpu_request_times all;
	/* of all calls, outside of the functions called from there that are traced, too; count: 0 */
	struct offcpu_request_times self;
};

/*
 * What requests of alike latency did: the waits with the same stacks, and, with a state of 0, the requests themselves.
 */
struct offcpu_request_part_key {
	/* as of struct offcpu_wait_key; all 0 with the state '?': more than could be told apart */
	__u64 ustack, kstack, object;
	__u32 func;
	__u16 range;			/* of latencies: slots / OFFCPU_REQUEST_RANGE_SLOTS */
	__u8 state;
	__u8 flags;			/* enum offcpu_part_flag */
};

enum offcpu_part_flag {
	OFFCPU_PART_SLOW = 1 << 0,	/* they took as long as was asked for */
	OFFCPU_PART_SECOND = 1 << 1,	/* where windows are cut: of the second half, as sums of waits are */
};

/* The state of what a goroutine was parked for; the object is the number that Go's runtime has for the reason. */
#define OFFCPU_REQUEST_PARKED 'g'

struct offcpu_request_part {
	__u64 requests, waits;
	__u64 wall_ns, on_cpu_ns;	/* of requests only */
	__u64 blocked_ns, runnable_ns, preempted_ns;
	__u32 tno;			/* one of the threads */
	__u32 pad;
};

/* What is known of one request beside its times. */
enum offcpu_span_flag {
	OFFCPU_SPAN_NESTED = 1 << 0,	/* others of the traced functions were called in it */
	OFFCPU_SPAN_RECURSED = 1 << 1,	/* its own was */
	OFFCPU_SPAN_THROWN = 1 << 2,	/* an exception ended it */
	OFFCPU_SPAN_MORE = 1 << 3,	/* it waited with more different stacks than are told apart */
	OFFCPU_SPAN_SLOWEST = 1 << 4,	/* told for it took as long as was asked for: it stands for itself alone */
};
#define OFFCPU_SPAN_FLAGS ((1 << 5) - 1)

/* The waits of one request with the same stacks. */
struct offcpu_request_note {
	__u64 ustack, kstack, object;	/* as of struct offcpu_request_part_key */
	__u32 count;
	__u8 state;
	__u8 pad[3];
	__u64 blocked_ns, runnable_ns, preempted_ns;
};

/* One request, where recordings have them.  The record ends behind the last of its notes. */
struct offcpu_rec_request_span {
	__u32 type;
	__u32 func, tno;
	__u8 flags;		/* enum offcpu_span_flag */
	__u8 shift;		/* not among the slowest, it was told with a chance of 1 in 2^shift */
	__u16 note_cnt;
	__u64 start_ns;
	__u64 wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
	__u64 route, trace[3];	/* as of struct request_state */
	struct offcpu_request_note note[OFFCPU_REQUEST_NOTES_MAX];
};

/* What is in no sum, and why. */
#define OFFCPU_REQUEST_COUNTS(X)                                                                                       \
	X(LEFT, "left",                                                                                                \
	  "left without a return, by longjmp or as their thread ended; the time is until that was noticed")            \
	X(NO_SITE, "no_site", "ended before the place that they return to was known")                                  \
	X(AT_START, "at_start", "had begun when the window did")                                                       \
	X(AT_END, "at_end", "had not ended when the window did")                                                       \
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

/* Of the attributes of a trace context. */
struct offcpu_request_route {
	__u64 from_ns;		/* such requests may be among the slowest of the route, and are told */
	__u32 func;		/* what they are called, OFFCPU_REQUEST_NO_FUNC, or OFFCPU_REQUEST_ASKED */
	__u32 pad;
};

/* Keys of the map of places that requests return to. */
struct offcpu_request_site {
	__u64 addr;
	__u32 pid, pad;
};

enum offcpu_site_state {
	OFFCPU_SITE_ASKED = 1,	/* user space is asked to put a probe there */
	OFFCPU_SITE_PROBED,
	OFFCPU_SITE_REFUSED,	/* there can be none */
};

struct offcpu_rec_request_site {
	__u32 type;
	__u32 func;
	struct offcpu_request_site site;
};

#endif
