/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ANALYSIS_ROUTES_H
#define FEATURES_REQUESTS_ANALYSIS_ROUTES_H

#include "analyse/routes.h"
#include "features/requests/analysis.h"

/*
 * Requests by route, where threads have trace contexts (profile/profile.h). A context is read when a request ends or
 * its thread waits. Routes are known of single requests: the slowest and a sample of the others. So counts and sums
 * are exact if all were kept, else estimates.
 */
struct request_route {
	const char *name;	/* NULL: without a known route */
	bool is_exact;
	struct offcpu_request_sum sum;
	double estimate;	/* private: number of requests; the count is rounded */
	GArray *slowest;	/* indexes of spans, uint32_t, slowest first, up to the requested number */
};

struct request_routes {
	GPtrArray *rows;	/* struct request_route, most time first; requests without a route come last */
	bool has_any;		/* some route is known */
	/* private */
	struct routes *routes;
};

/* slowest_max: single requests per route. Borrows p. */
struct request_routes *request_routes_new(const struct profile *p, guint slowest_max);
void request_routes_free(struct request_routes *r);	/* NULL is fine */

/* The route of a request, from routes_new(p). NULL: unknown. */
const char *request_route(struct routes *routes, const struct profile *p, const struct request_span *s);
/*
 * The trace and span that the request was a part of. NULL: unknown. If the request itself has none, its waits may:
 * each row of waits has the trace of its longest wait, so only the requests with such a wait are found.
 */
const char *request_trace(const struct profile *p, const struct request_span *s, const char **ret_span);

#endif
