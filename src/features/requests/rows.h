/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ROWS_H
#define FEATURES_REQUESTS_ROWS_H

#include "features/requests/abi.h"
#include "profile/profile.h"

/*
 * Requests, where `offcpu request` recorded: sums of each function, exact; what requests of alike latency did; and
 * single ones as spans, the slowest and a sample of the others.
 */

/* A function, a pair of probes or a port: what is called a request. */
struct request_row {
	const char *name, *file;	/* not escaped */
	struct offcpu_request_sum sum;
	struct offcpu_request_calls calls;	/* where there are several functions, else 0 */
};

/* What requests of alike latency did: features/requests/abi.h.  Its stacks, object and thread are those of the profile. */
struct request_part {
	uint32_t func;
	uint32_t range;		/* of latencies */
	bool is_slow;		/* of requests as slow as was asked for; not recorded */
	uint64_t requests;
	uint64_t wall_ns, on_cpu_ns;	/* of the requests themselves, whose wait has the state 0 */
	struct wait wait;	/* the state '?': with more stacks than could be told apart */
};

/* One request. */
struct request_span {
	uint32_t func, thread;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
	uint32_t wait, wait_cnt;	/* its rows of span_waits, one behind the other */
	uint8_t flags;		/* enum offcpu_span_flag */
	/* as its thread's trace context said as it ended, or as the thread waited last in it; 0 and NULL: it said nothing */
	uint32_t context;	/* node of a stack of its attributes */
	const char *trace, *trace_span;	/* 32 and 16 hexadecimal digits */
};

/* The waits of a span with the same stacks, of those that are over as it ends. */
struct span_wait {
	uint32_t user, kernel;
	uint32_t object;	/* + 1; 0: none */
	uint8_t state;		/* '?': with more stacks than are told apart */
	uint64_t count, blocked_ns, runnable_ns, preempted_ns;
};

PROFILE_ROW(profile_request, request_row, requests)
PROFILE_ROW(profile_request_part, request_part, request_parts)
PROFILE_ROW(profile_span, request_span, spans)
PROFILE_ROW(profile_span_wait, span_wait, span_waits)
static inline uint64_t span_end_ns(const struct request_span *s)
{
	return s->start_ns + s->wall_ns;
}

/* The shortest latency that a slot counts, and the first that the next one does. */
uint64_t request_slot_low(unsigned slot);
uint64_t request_slot_high(unsigned slot);

/* What came since an earlier reading; max_ns: the end of the highest slot that has some, as no exact one is known. */
void request_since(const struct offcpu_request_sum *now, const struct offcpu_request_sum *then,
		   struct offcpu_request_sum *ret_diff);

/*
 * How many requests of each function one of its sampled spans stands for: those that are not among its slowest,
 * divided by the spans of these; 0 where there is none.  An array of as many as there are functions; free with
 * g_free().
 */
double *request_span_weights(const struct profile *p);

/*
 * Where not all spans are left, as after a cut: sums and parts are made of them, and are estimates then.  weights: as
 * of all of them.
 */
void requests_estimate(struct profile *p, const double *weights);

/* Ids in range, times and sums that fit; else *error says what is wrong. */
bool requests_check(const struct profile *p, GError **error);

#endif
