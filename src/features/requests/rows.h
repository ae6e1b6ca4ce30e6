/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ROWS_H
#define FEATURES_REQUESTS_ROWS_H

#include "features/requests/abi.h"
#include "profile/profile.h"

/*
 * Requests recorded by `offcpu request`: exact sums of each function; what requests of similar latency did; and
 * single requests as spans, the slowest and a sample of the others.
 */

/* A function, a pair of probes, or a port whose calls or messages are requests. */
struct request_row {
	const char *name, *file;	/* not escaped */
	struct offcpu_request_sum sum;
	struct offcpu_request_calls calls;	/* if there are several functions, else 0 */
};

/* What requests of similar latency did: features/requests/abi.h. Stacks, object and thread are ids of the profile. */
struct request_part {
	uint32_t func;
	uint32_t range;		/* range of latencies */
	bool is_slow;		/* at least as slow as requested; not recorded */
	uint64_t requests;
	uint64_t wall_ns, on_cpu_ns;	/* of the requests themselves, if the wait's state is 0 */
	struct wait wait;	/* state '?': from here on stacks were not distinguished */
};

/* A single request. */
struct request_span {
	uint32_t func, thread;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
	uint32_t wait, wait_cnt;	/* its rows of span_waits, which are contiguous */
	uint8_t flags;		/* enum offcpu_span_flag */
	/* trace context of its thread when it ended, or at the thread's last wait in it; 0 and NULL: none */
	uint32_t context;	/* stack node of its attributes */
	const char *trace, *trace_span;	/* 32 and 16 hexadecimal digits */
};

/* The completed waits of a span with equal stacks. */
struct span_wait {
	uint32_t user, kernel;
	uint32_t object;	/* + 1; 0: none */
	uint8_t state;		/* '?': too many different stacks to distinguish */
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

/* The lowest latency of a slot, and the lowest of the next one. */
uint64_t request_slot_low(unsigned slot);
uint64_t request_slot_high(unsigned slot);

/* The difference from an earlier reading. max_ns: end of the highest used slot, as no exact maximum is known. */
void request_since(const struct offcpu_request_sum *now, const struct offcpu_request_sum *then,
		   struct offcpu_request_sum *ret_diff);

/*
 * For each function: how many requests one sampled span stands for, which is the number of requests not among the
 * slowest, divided by the number of sampled spans; 0 without any. An array with an element per function; free with
 * g_free().
 */
double *request_span_weights(const struct profile *p);

/* If not all spans are left, as after a cut: estimates sums and parts from the spans. weights: as of all spans. */
void requests_estimate(struct profile *p, const double *weights);

/* Checks that ids are in range and that times and sums fit; else *error says what is wrong. */
bool requests_check(const struct profile *p, GError **error);

#endif
