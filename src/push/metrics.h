/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_METRICS_H
#define PUSH_METRICS_H

#include "analyse/reason/reasons.h"
#include "features/requests/rows.h"
#include "profile/profile.h"
#include "push/services.h"
#include "push/unit.h"

/*
 * Prometheus counters, which grow as windows are added.  Cardinality is bounded: services as in services.h, reasons
 * and classes are closed sets.
 */
struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);	/* NULL is fine */
/* `reasons` are those of p. */
void metrics_add(struct metrics *m, const struct profile *p, const struct reasons *reasons);
/* Appends the text exposition format. */
void metrics_text(const struct metrics *m, GString *s);

/* Upper bounds of latency buckets as powers of two of nanoseconds; the last bucket is unbounded. */
#define METRICS_REQUEST_EDGES 16
extern const unsigned metrics_request_edges[METRICS_REQUEST_EDGES];
void metrics_request_buckets(const struct offcpu_request_sum *sum, uint64_t ret_counts[METRICS_REQUEST_EDGES + 1]);

/* Appends a metric without labels: its head and its value. */
void metrics_number(GString *s, const char *name, const char *type, const char *help, uint64_t value);
void metrics_seconds(GString *s, const char *name, const char *type, const char *help, uint64_t value_ns);
/* Appends a metric's head, and then a line per value with one label of any text. */
void metrics_head(GString *s, const char *name, const char *type, const char *help);
void metrics_labelled(GString *s, const char *name, const char *label, const char *text, uint64_t value);

/* Requests of a window as OpenTelemetry metrics (OTLP 1.0 and later): OTLP profiles cannot express latencies. */

#define OTLP_METRICS "metrics"	/* name of that request in a unit */

/* part: the window's index among the units.  NULL: the window has no requests. */
struct push_unit *otlp_metrics_unit(const struct profile *p, const struct services *services, uint32_t part);

#endif
