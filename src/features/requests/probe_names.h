/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_PROBE_NAMES_H
#define FEATURES_REQUESTS_PROBE_NAMES_H

#include "features/requests/fold.h"
#include "features/requests/probe.h"
#include "fold/fold.h"

/*
 * Routes of requests: what those by connection are called by them, and which are the slowest of each.  Where a service
 * accepts connections its windows tell; which route is which the attributes do that its threads' trace contexts have.
 * features/requests/route.bpf.h is the kernel's half.
 */
struct request_names;

/* Borrows the plan and the spans; maps by their descriptors. */
struct request_names *request_names_new(const struct request_plan *plan, struct spans *spans, int ports_fd,
					int routes_fd);
void request_names_free(struct request_names *n);	/* NULL is fine */
/* A struct offcpu_rec_context: attributes that were not met before. */
void request_names_take(struct request_names *n, struct fold *fold, const void *record, size_t size);
/* A struct offcpu_rec_request_span, for the spans. */
void request_names_span(struct request_names *n, const void *record, size_t size);
/* The ports of a window's services are looked at from here on. */
void request_names_look(struct request_names *n, const struct profile *window);

#endif
