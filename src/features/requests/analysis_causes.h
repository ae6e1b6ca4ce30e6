/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ANALYSIS_CAUSES_H
#define FEATURES_REQUESTS_ANALYSIS_CAUSES_H

#include "analyse/reason/reasons.h"
#include "features/requests/rows.h"

/* What requests spent their time on: the reason, in which function of the program, for what. */
struct request_cause {
	enum reason reason;
	int64_t frame;		/* of the program; -1: not known, -2: it is request_cause_rest */
	uint32_t object;	/* + 1; 0: none, or one that tells nothing */
	bool is_outer;		/* it is in functions without a name that the frame's calls */
};

static inline bool request_cause_equal(const struct request_cause *a, const struct request_cause *b)
{
	return a->reason == b->reason && a->frame == b->frame && a->object == b->object &&
	       a->is_outer == b->is_outer;
}

/* The rest is in no class: what a goroutine does on CPU, or while Go has it parked; or a switch was not seen. */
extern const struct request_cause request_cause_queue, request_cause_on_cpu, request_cause_rest;

/* Causes of the blocked time of waits that are none of the profile's rows. */
struct request_causes;

/* waits: struct wait, those of state 0 and '?' being none; borrows both. */
struct request_causes *request_causes_new(const struct profile *p, const GArray *waits);
void request_causes_free(struct request_causes *c);
/* A thread of Go without a goroutine to run: it waits for no request, whose own goroutine is parked. */
bool request_is_without_goroutine(const struct reasons *reasons, uint32_t wait);
struct request_cause request_causes_of(const struct request_causes *c, guint wait);

/* What one span spent most time on. */
struct span_top {
	uint32_t span;
	struct request_cause cause;
	uint64_t ns;
};

/* The slowest spans, at most so many (0: all) and of that function (-1: any), the slowest first: struct span_top. */
GArray *request_slowest(const struct profile *p, int64_t func, guint most);

/* The same of these spans, uint32_t, in their order. */
GArray *request_tops(const struct profile *p, const GArray *spans);

/*
 * By reasons, most first: what the requests of a function spent beside on-CPU time, by its parts.  struct
 * request_share.
 */
struct request_share {
	enum reason reason;
	uint64_t ns;
};
GArray *request_shares(const struct profile *p, uint32_t func);

#endif
