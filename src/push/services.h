/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SERVICES_H
#define PUSH_SERVICES_H

#include "profile/profile.h"

/*
 * Names of services as labels of series, of which an engine bears only so many.  A service, or where none is known a
 * process, gets a name of its own once it has a hundredth of a window's time and there is room, and keeps it, so that
 * what is counted under a name only grows. The kernel's threads are one service, "kernel", and whatever else there is
 * is "other".
 */
struct services;

#define SERVICES_MAX 50

struct services *services_new(unsigned max);
void services_free(struct services *s);	/* NULL is fine */
/* Before the names of this window are asked for: those with most time come first. */
void services_learn(struct services *s, const struct profile *p);
/* Valid as long as s. */
const char *services_name(const struct services *s, const struct thread *t);

#endif
