/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_PROBE_NAMES_H
#define FEATURES_REQUESTS_PROBE_NAMES_H

#include "features/requests/fold.h"
#include "features/requests/probe.h"
#include "fold/fold.h"

/*
 * Requests by route: the names of requests on connections by their routes, and the slowest of each route. Windows
 * show where a service accepts connections; attributes in its threads' trace contexts show the routes.
 * features/requests/route.bpf.h is the kernel's half.
 */
struct request_names;

/* Borrows the plan, the spans, and the maps' descriptors. */
struct request_names *request_names_new(const struct request_plan *plan, struct spans *spans, int ports_fd,
					int routes_fd);
void request_names_free(struct request_names *n);	/* NULL is fine */
/* A struct offcpu_rec_context with new attributes. */
void request_names_take(struct request_names *n, struct fold *fold, const void *record, size_t size);
/* A struct offcpu_rec_request_span, for the spans. */
void request_names_span(struct request_names *n, const void *record, size_t size);
/* Looks up the ports of the window's services. */
void request_names_look(struct request_names *n, const struct profile *window);

#endif
