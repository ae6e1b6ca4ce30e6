/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_REQUESTS_H
#define ANALYSE_DIFF_REQUESTS_H

#include "analyse/diff/diff.h"

/* Requests of both sides, where both recordings have some. */

/* All that a recording knows of, of all functions; 0: it has none. */
uint64_t diff_request_cnt(const struct profile *p);

struct diff_latency {
	uint64_t count, p50_ns, p99_ns, max_ns;
	double mean_ns, mean_se_ns;
};

struct diff_request {
	const char *name;	/* not escaped */
	struct diff_latency side[DIFF_SIDES];
	double mean_by_ns, mean_by_se_ns;	/* after - before */
};

/* Functions of that name on both sides, most requests before first: struct diff_request; free with g_array_unref(). */
GArray *diff_requests(const struct diff *d);

#endif
