/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ANALYSIS_CAUSES_H
#define FEATURES_REQUESTS_ANALYSIS_CAUSES_H

#include "analyse/reason/reasons.h"
#include "features/requests/rows.h"

/* What requests spent time on: the reason, the function of the program, the object. */
struct request_cause {
	enum reason reason;
	int64_t frame;		/* of the program; -1: unknown, -2: request_cause_rest */
	uint32_t object;	/* + 1; 0: none, or one that says nothing */
	bool is_outer;		/* in unnamed functions that the frame calls */
};

static inline bool request_cause_equal(const struct request_cause *a, const struct request_cause *b)
{
	return a->reason == b->reason && a->frame == b->frame && a->object == b->object &&
	       a->is_outer == b->is_outer;
}

/* The rest is in no class: a goroutine on CPU or parked by Go, or a switch that was not seen. */
extern const struct request_cause request_cause_queue, request_cause_on_cpu, request_cause_rest;

/* Causes of blocked time of waits that are not rows of the profile. */
struct request_causes;

/* waits: struct wait; those with state 0 or '?' are no waits. Borrows both. */
struct request_causes *request_causes_new(const struct profile *p, const GArray *waits);
void request_causes_free(struct request_causes *c);
/* Is it a Go thread without a goroutine to run? It waits for no request, whose own goroutine is parked. */
bool request_is_without_goroutine(const struct reasons *reasons, uint32_t wait);
struct request_cause request_causes_of(const struct request_causes *c, guint wait);

/* What a span spent most time on. */
struct span_top {
	uint32_t span;
	struct request_cause cause;
	uint64_t ns;
};

/* The slowest spans of a function (-1: any), at most `most` (0: all), slowest first: struct span_top. */
GArray *request_slowest(const struct profile *p, int64_t func, guint most);

/* The same for these spans, uint32_t, in their order. */
GArray *request_tops(const struct profile *p, const GArray *spans);

/*
 * What a function's requests spent time on other than on CPU, by its parts: by reason, most first. struct
 * request_share.
 */
struct request_share {
	enum reason reason;
	uint64_t ns;
};
GArray *request_shares(const struct profile *p, uint32_t func);

#endif
