/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_METRICS_H
#define PUSH_METRICS_H

#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * Windows as counters of Prometheus, which only grow as windows are added.  Labels are bounded: services as in services.h, reasons and
 * classes are closed sets.
 */
struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);	/* NULL is fine */
/* reasons: of p. */
void metrics_add(struct metrics *m, const struct profile *p, const struct reasons *reasons);
/* The text exposition format, appended. */
void metrics_text(const struct metrics *m, GString *s);

#endif
