/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ANALYSIS_ROUTES_H
#define FEATURES_REQUESTS_ANALYSIS_ROUTES_H

#include "analyse/routes.h"
#include "features/requests/analysis.h"

/*
 * Requests by route, where threads have trace contexts (profile/profile.h).  A context is read as a request ends, or as
 * its thread waits.  Routes are those of single requests, which are the
 * slowest and a sample of the others: counts and sums are exact where all were kept, else estimates.
 */
struct request_route {
	const char *name;	/* of no known route: NULL */
	bool is_exact;
	struct offcpu_request_sum sum;
	double estimate;	/* private: requests, of which those counted are the whole ones */
	GArray *slowest;	/* indices of spans, uint32_t, the slowest first: at most as many as were asked for */
};

struct request_routes {
	GPtrArray *rows;	/* struct request_route, the most time first; that of no route is the last */
	bool has_any;		/* a route is known */
	/* private */
	struct routes *routes;
};

/* slowest_max: single requests of each route.  Borrows from p. */
struct request_routes *request_routes_new(const struct profile *p, guint slowest_max);
void request_routes_free(struct request_routes *r);	/* NULL is fine */

/* The route of one, of routes_new(p); NULL: not known. */
const char *request_route(struct routes *routes, const struct profile *p, const struct request_span *s);
/*
 * The trace that a request was a part of, and the span; NULL: not known.  Where the request itself does not say, each row
 * of waits has that of its longest wait, so it is known of the requests that had one of these.
 */
const char *request_trace(const struct profile *p, const struct request_span *s, const char **ret_span);

#endif
