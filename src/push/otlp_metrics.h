/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_OTLP_METRICS_H
#define PUSH_OTLP_METRICS_H

#include "profile/profile.h"
#include "push/services.h"
#include "push/unit.h"

/*
 * The requests of a window as OpenTelemetry metrics (OTLP 1.0 and later): profiles have rows of stacks, and no
 * latencies.
 */

#define OTLP_METRICS "metrics"	/* the name of such a request of a unit */

/* part: of the window's units.  NULL: it has no requests. */
struct push_unit *otlp_metrics_unit(const struct profile *p, const struct services *services, uint32_t part);

#endif
