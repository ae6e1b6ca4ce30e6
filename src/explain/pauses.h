/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_PAUSES_H
#define EXPLAIN_PAUSES_H

#include "explain/findings.h"

/*
 * What threads do between their sleeps tells pauses from looks: whether they ask somebody each time, or use what others
 * wait for meanwhile, and may hold it.
 */
void pauses_find(struct findings *f);

/* "; between its sleeps it asks 127.0.0.1:18106"; nothing of other rows */
void pauses_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/* For an answer, or for work, through a connection that it has made. */
bool pauses_is_of_connection(const struct findings *f, uint32_t wait);
/* It asks somebody there, and does not wait for its own clients. */
bool pauses_is_question(const struct findings *f, uint32_t wait);

/* NULL: nothing is known of what it sleeps for. */
const char *pauses_advice(const struct finding *row);

#endif
