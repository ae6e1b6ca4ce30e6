/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_OWED_H
#define EXPLAIN_OWED_H

#include "explain/findings.h"

/*
 * An event loop that waits for an answer, and many times as many clients wait for its own as it has connections to whom
 * it asks: they may queue for these.
 */

/* Fills in the limit; false: there is none. */
bool owed_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/*
 * Of the process that most clients wait for, where nothing is found: "7 clients of haproxy waited for answers as the
 * recording ended, with one connection to 127.0.0.1:8081 (python3), and little is found in its threads".  False: of none.
 */
bool owed_append_most(GString *s, const struct findings *f);
/* Few clients for the connections, and it wakes so often that none of them can have waited for long: a proxy at work. */
bool owed_is_quick(const struct findings *f, const struct finding *row);
/* "127.0.0.1:8081 (python3)"; NULL: it has no LIMIT_OWED. */
const char *owed_upstream(const struct finding *row);
/* "; as the recording ended 20 clients waited for answers, over one connection to 127.0.0.1:8081" */
void owed_append_evidence(GString *s, const struct finding *row);

const char *owed_advice(const struct finding *row);	/* NULL: that of the wait */

#endif
