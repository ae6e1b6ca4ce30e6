/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_CRITICAL_TREE_H
#define ANALYSE_CRITICAL_TREE_H

#include "analyse/critical.h"

/* Between the two files that make a critical path. */

/* Appends the parts below WAITING that have a waker: FOR, PLACE and, with chains, what those did. */
void critical_append_waiting(struct critical *c, uint32_t waiting);
/* Fills c->shares from the parts. */
void critical_sum_shares(struct critical *c);

#endif
