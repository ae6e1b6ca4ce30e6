/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ROUTES_H
#define ANALYSE_ROUTES_H

#include "profile/profile.h"

/* Which requests threads waited for, according to their trace contexts: see profile/profile.h. */
struct routes;

/* Borrows from p.  NULL: it has no trace contexts; the other functions accept NULL. */
struct routes *routes_new(const struct profile *p);
/* The same with values of that attribute instead of routes. */
struct routes *routes_new_of(const struct profile *p, const char *attribute);
void routes_free(struct routes *r);

/* "POST /order/create", or the attribute's value, for a user stack; equal strings share a pointer.  NULL: unknown. */
const char *routes_of(struct routes *r, uint32_t node);

#endif
