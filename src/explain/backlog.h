/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_BACKLOG_H
#define EXPLAIN_BACKLOG_H

#include "explain/findings.h"

/*
 * Workers that are all busy let connections wait to be accepted, in the kernel, where no thread waits for them. It is
 * told with what the workers do meanwhile: their first finding.
 */
void backlog_find(struct findings *f);
void backlog_append_evidence(GString *s, const struct finding *row);
const char *backlog_advice(const struct finding *row);	/* NULL: the finding's own says more */

#endif
