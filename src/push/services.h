/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SERVICES_H
#define PUSH_SERVICES_H

#include "profile/profile.h"

/*
 * Names of services as labels of series.  Engines support only a limited number of series.  A service (or process, if
 * it has no service) gets its own name once it takes a hundredth of a window's time and there is room.  It keeps the
 * name, so that counters only grow.  The kernel's threads are the service "kernel", everything else is "other".
 */
struct services;

#define SERVICES_MAX 50

struct services *services_new(unsigned max);
void services_free(struct services *s);	/* NULL is fine */
/* Call it before asking for names of this window.  Services with most time get names first. */
void services_learn(struct services *s, const struct profile *p);
/* Valid as long as s. */
const char *services_name(const struct services *s, const struct thread *t);

#endif
