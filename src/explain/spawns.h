/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_SPAWNS_H
#define EXPLAIN_SPAWNS_H

#include "explain/findings.h"

/* Many processes that soon end, and that a finding's threads wait for one by one: what takes the time is how many. */
void spawns_find(struct findings *f);
void spawns_append_evidence(GString *s, const struct findings *f, const struct finding *row);
/* NULL: nothing more is known of its children. */
const char *spawns_advice(const struct findings *f, const struct finding *row);

#endif
