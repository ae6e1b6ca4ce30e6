/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_METRICS_H
#define PUSH_METRICS_H

#include "analyse/reason/reasons.h"
#include "features/requests/rows.h"
#include "profile/profile.h"
#include "push/services.h"
#include "push/unit.h"

/*
 * Windows as counters of Prometheus, which only grow as windows are added.  Labels are bounded: services as in
 * services.h, reasons and classes are closed sets.
 */
struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);	/* NULL is fine */
/* reasons: of p. */
void metrics_add(struct metrics *m, const struct profile *p, const struct reasons *reasons);
/* The text exposition format, appended. */
void metrics_text(const struct metrics *m, GString *s);

/* What requests took falls into buckets: below such powers of two of nanoseconds, and at last all that took longer. */
#define METRICS_REQUEST_EDGES 16
extern const unsigned metrics_request_edges[METRICS_REQUEST_EDGES];
void metrics_request_buckets(const struct offcpu_request_sum *sum, uint64_t ret_counts[METRICS_REQUEST_EDGES + 1]);

/* One that stands for itself, without labels: its head and its value; appended. */
void metrics_number(GString *s, const char *name, const char *type, const char *help, uint64_t value);
void metrics_seconds(GString *s, const char *name, const char *type, const char *help, uint64_t value_ns);
/* Lines of one metric: its head, then each value with one label, of any text. */
void metrics_head(GString *s, const char *name, const char *type, const char *help);
void metrics_labelled(GString *s, const char *name, const char *label, const char *text, uint64_t value);

/*
 * The requests of a window as OpenTelemetry metrics (OTLP 1.0 and later): profiles have rows of stacks, and no
 * latencies.
 */

#define OTLP_METRICS "metrics"	/* the name of such a request of a unit */

/* part: of the window's units.  NULL: it has no requests. */
struct push_unit *otlp_metrics_unit(const struct profile *p, const struct services *services, uint32_t part);

#endif
