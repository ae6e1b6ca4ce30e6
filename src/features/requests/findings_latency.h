/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_FINDINGS_LATENCY_H
#define FEATURES_REQUESTS_FINDINGS_LATENCY_H

#include "features/requests/analysis_cells.h"

/* Requests over time: whether their latency changed, when, and what grew. */

#define LATENCY_SLOWEST 0.01

/* A row of the split, per request and per slowest request. */
struct latency_part {
	const struct request_cause_cell *cause;	/* NULL: unexplained time */
	uint64_t ns, slowest_ns;	/* sum over all of them */
};

/* Sorted by the time of the slowest, without empty rows; struct latency_part, free with g_array_unref(). */
GArray *latency_parts(const struct request_cell *cell, uint32_t slowest_from);

/* Appends "lock stock in take_stock", cut to `columns`; 0: not cut. */
void latency_append_cause(GString *s, const struct request_cause_cell *cause, unsigned width);

/* A sentence on the whole range, without newline: "p99 of checkout was 38 ms until 14:20 and 212 ms after it; ..." */
void latency_append_sentence(GString *s, const struct request_line *l, const struct request_series *series);

/* Appends the uncounted requests if they are at least one in a hundred. */
void latency_append_uncounted(GString *s, const struct request_line *l);

/* Did the latency change visibly? Steps [*ret_from, *ret_to) differ from all others. */
bool latency_change(const struct request_line *l, const struct request_series *series, uint32_t *ret_from,
		    uint32_t *ret_to);

#endif
