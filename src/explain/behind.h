/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_BEHIND_H
#define EXPLAIN_BEHIND_H

#include "explain/findings.h"

/*
 * A wait that only queues behind another one of the list is told behind that: what is nearer to the cause leads.  Once the
 * causes are known, and once the limits are, too.
 */
void behind_find(struct findings *f);
void behind_find_peers(struct findings *f);

#endif
