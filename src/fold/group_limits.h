/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_GROUP_LIMITS_H
#define FOLD_GROUP_LIMITS_H

#include "profile/limits.h"

/* Limits of control groups, of both versions, as their files say. */
struct group_limits;

/* proc_dir: "/proc", but for tests. */
struct group_limits *group_limits_new(const char *proc_dir);
void group_limits_free(struct group_limits *g);	/* NULL is fine */

/* Adds what the group of a process, or the nearest one around it, is limited to: LIMIT_QUOTA, _DISK, _MEMORY or _FROZEN. */
void group_limits_look(struct group_limits *g, struct profile *p, enum profile_limit_kind kind, uint32_t pid);

#endif
