/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_CHOSEN_GROUPS_H
#define AGENT_CHOSEN_GROUPS_H

#include <glib.h>
#include <stdbool.h>

/* The control groups that [record] cgroups names.  They come and go, as units and containers do. */

/*
 * Ids (uint64_t) of those that are there now; NULL where all threads are recorded.  *ret_missing: the names that none
 * has, *ret_why: a sentence for each, which tells of others that are there; or NULL.
 */
GArray *chosen_groups(char **names, char **ret_missing, char **ret_why);
/* Is one among `now` that was not among `before`?  Either may be NULL. */
bool chosen_groups_has_new(const GArray *now, const GArray *before);

/*
 * How many control groups there are, and how many are going, as the kernel counts them in one small file: that is
 * another text once one came or went.  NULL: it cannot be read.  Free with g_free().
 */
char *chosen_groups_counted(void);

#endif
