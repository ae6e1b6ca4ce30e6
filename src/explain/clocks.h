/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_CLOCKS_H
#define EXPLAIN_CLOCKS_H

#include "explain/findings.h"

/*
 * Threads that do nothing but sleep the same time again and again, as tickers and health checks: notes in each finding
 * how much of it is theirs.  Nobody waits for them, so what others wait for ranks before.
 */
void clocks_find(struct findings *f);
/*
 * Is it told of these alone, is nobody seen to wait for them, and does no rule have an advice of its own?  Once the causes
 * are known.
 */
bool clocks_is_all(const struct findings *f, const struct finding *row);
/* Of these, where somebody waits for a lock that is held meanwhile: once it is known by whom. */
void clocks_find_waited_for(struct findings *f);

#endif
