/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_TARGET_CGROUP_H
#define CMD_TARGET_CGROUP_H

#include <glib.h>
#include <stdbool.h>

/* Appends the ids (uint64_t) of the groups that an argument of --cgroup means: a path, or a name of a unit or container. */
bool target_cgroup(const char *typed, GArray *ids, GError **error);

#endif
