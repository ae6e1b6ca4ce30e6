/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_CYCLE_H
#define EXPLAIN_CYCLE_H

#include "explain/findings.h"

/*
 * Processes that wait for each other by sockets: one waits for an answer, and who owes it has asked back, in a connection
 * that the first one does not accept meanwhile.
 */

/* Fills in the limit; false: there is none. */
bool cycle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ", of which a connection waits to be accepted here, at :8080" */
void cycle_append(GString *s, const struct finding *row);
/* "; billing/4711 waits for that connection in address (billing.py:2)", where it is in the recording */
void cycle_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *cycle_advice(const struct finding *row);

#endif
