/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_CGROUP_H
#define ATTACH_CGROUP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The id of a group of the version 2 hierarchy: its inode number.  A relative path is looked for where that is
 * mounted.  False with a sentence.
 */
bool cgroup_id(const char *path, uint64_t *ret_id, GError **error);

#endif
