/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_PYROSCOPE_H
#define PUSH_PYROSCOPE_H

#include "analyse/reason/reasons.h"
#include "profile/profile.h"
#include "push/services.h"
#include "push/unit.h"

/*
 * A window as requests of Pyroscope's push.v1: a series for each service and for idle time apart, without threads.  One series a request,
 * since a batch of which one part is refused must be sent again as a whole, and would count twice.  What is too large for one is
 * several, a millisecond apart.
 */
#define PYROSCOPE_PATH "/push.v1.PusherService/Push"
#define PYROSCOPE_SAMPLES_MAX 16000
#define PYROSCOPE_BYTES_MAX 1900000	/* of a profile before it is packed: the engine's rate limit has a burst of 2 MB */

/* struct push_unit, each a request.  reasons: of p.  Names are learnt from the window.  NULL with one sentence. */
GPtrArray *pyroscope_units(const struct profile *p, const struct reasons *reasons, struct services *services, GError **error);

#endif
