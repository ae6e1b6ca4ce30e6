/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_BACKLOG_H
#define EXPLAIN_BACKLOG_H

#include "explain/findings.h"

/*
 * Workers that are all busy let connections wait to be accepted, in the kernel, where no thread waits for them. It is
 * told with what the workers do meanwhile: their first finding.
 */
void backlog_find(struct findings *f);
/* Its workers wait for clients that are slow or ask for nothing: analyse/reason/taken.h. */
bool backlog_is_of_clients(const struct findings *f, const struct finding *row);
void backlog_append_evidence(GString *s, const struct finding *row);
/* " As the recording ended 17 connections at :80 waited to be accepted.": where no finding tells it; or nothing. */
void backlog_append_most(GString *s, const struct findings *f);
const char *backlog_advice(const struct findings *f, const struct finding *row);	/* NULL: the finding's own says more */

#endif
