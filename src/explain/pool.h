/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_POOL_H
#define EXPLAIN_POOL_H

#include "explain/findings.h"

/*
 * A proxy with fewer connections of its own than clients: the waits for it, and its own, are for a free one of these.
 * docs/reasons.md, "Findings", has the rules.
 */

/* Fills in the limit of a finding that waits for such a process, or is its own; false: there is none. */
bool pool_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ": pgbouncer's 2 connections to 127.0.0.1:5432 (postgres) are all busy" */
void pool_append(GString *s, const struct findings *f, const struct finding *row);
/* "; pgbouncer has 20 connections from clients, of which 19.9 wait on average" */
void pool_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *pool_advice(const struct finding *row);

#endif
