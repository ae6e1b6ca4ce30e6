/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_ONE_BY_ONE_H
#define EXPLAIN_ONE_BY_ONE_H

#include "explain/findings.h"

/*
 * Threads that were made for what they wait for, and never two at once, as another thread of the process waits for each
 * before the next begins: a std::future of std::async() that nobody keeps, a join() in the loop that starts them.
 */

/* Sets `one_by_one` of the rows that lead. */
void one_by_one_find(struct findings *f);
/* "; no two of these 161 threads live at once: machine_order waits for each" */
void one_by_one_append_evidence(GString *s, const struct findings *f, const struct finding *row);

#endif
