/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_PINNED_H
#define EXPLAIN_PINNED_H

#include "explain/findings.h"

/*
 * Why a virtual thread of Java keeps its carrier while it waits: "; pinned by a native frame of Scorer.call", where looks
 * at its tasks have seen that.
 */
void pinned_append_evidence(GString *s, const struct findings *f, const struct finding *row);

#endif
