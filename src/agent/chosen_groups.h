/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_CHOSEN_GROUPS_H
#define AGENT_CHOSEN_GROUPS_H

#include <glib.h>
#include <stdbool.h>

/* The control groups named in [record] cgroups. They come and go with units and containers. */

/*
 * Ids (uint64_t) of the existing ones; NULL where all threads are recorded. *ret_missing: names without a group,
 * *ret_why: a sentence for each, with existing alternatives; or NULL.
 */
GArray *chosen_groups(char **names, char **ret_missing, char **ret_why);
/* Does `now` have one that `before` lacks? Either may be NULL. */
bool chosen_groups_has_new(const GArray *now, const GArray *before);

/*
 * The kernel's count of existing and dying control groups, from one small file: the text changes when one is created
 * or removed. NULL: unreadable. Free with g_free().
 */
char *chosen_groups_counted(void);

#endif
