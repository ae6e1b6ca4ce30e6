/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_REQUESTS_OF_H
#define EXPLAIN_REQUESTS_OF_H

#include "explain/findings.h"

/* For which requests threads waited, as their trace contexts say: of each finding the route with most of its time. */
void requests_of_find(struct findings *f);

/* ", for POST /order/create", where nearly all of it is of that one.  Appends. */
void requests_of_append(GString *s, const struct finding *row);
/* "; for GET /search 52%, of 3 routes", where it is of several.  Appends. */
void requests_of_append_share(GString *s, const struct finding *row);

#endif
