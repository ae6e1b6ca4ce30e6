/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_CONNECTS_H
#define EXPLAIN_CONNECTS_H

#include "explain/findings.h"

/*
 * Sleeps between tries to connect: who did not take the connections.  docs/reasons.md, "Findings", has the rules.
 */

/* Fills in the limit of a finding of sleeps; false: there is none. */
bool connects_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ": 127.0.0.1:7521 refuses connections" */
void connects_append(GString *s, const struct finding *row);
/* "; 35 connections to 127.0.0.1:7521 were refused" */
void connects_append_evidence(GString *s, const struct finding *row);
/* " 35 connections to 127.0.0.1:7521 were refused.": of an event loop, which has no sleeps; nothing where few failed. */
void connects_append_most(GString *s, const struct findings *f);
const char *connects_advice(const struct finding *row);

#endif
