/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_FINDINGS_LATENCY_H
#define FEATURES_REQUESTS_FINDINGS_LATENCY_H

#include "features/requests/analysis_cells.h"

/* What is told of requests over time: whether their latency changed, when, and what grew. */

#define LATENCY_SLOWEST 0.01

/* A row of the split: of each request, and of each of the slowest. */
struct latency_part {
	const struct request_cause_cell *cause;	/* NULL: what nothing tells */
	uint64_t ns, slowest_ns;	/* of all of them together */
};

/* Most of the slowest ones' time first, those without any time left out; struct latency_part, free with g_array_unref(). */
GArray *latency_parts(const struct request_cell *cell, uint32_t slowest_from);

/* "lock stock in take_stock" into s, in so many columns; 0: in any number. */
void latency_append_cause(GString *s, const struct request_cause_cell *cause, unsigned width);

/* A sentence about the whole range, without a line's end: "p99 of checkout was 38 ms until 14:20 and 212 ms after it; ..." */
void latency_append_sentence(GString *s, const struct request_line *l, const struct request_series *series);

/* What is in no number, where that is one request in a hundred or more; else nothing. */
void latency_append_uncounted(GString *s, const struct request_line *l);

/* Where the latency changed.  False: it did not, as far as can be told.  [*ret_from, *ret_to) are steps unlike all others. */
bool latency_change(const struct request_line *l, const struct request_series *series, uint32_t *ret_from,
		    uint32_t *ret_to);

#endif
