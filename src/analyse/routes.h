/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ROUTES_H
#define ANALYSE_ROUTES_H

#include "profile/profile.h"

/* For which requests threads waited, as their trace contexts say: see profile/profile.h. */
struct routes;

/* Borrows from p.  NULL: it has no trace contexts; the others take that. */
struct routes *routes_new(const struct profile *p);
/* The same, but values of that attribute in the place of routes. */
struct routes *routes_new_of(const struct profile *p, const char *attribute);
void routes_free(struct routes *r);

/* "POST /order/create", or the attribute's value: of a user stack, one pointer for equal ones.  NULL: of none that is known. */
const char *routes_of(struct routes *r, uint32_t node);

#endif
