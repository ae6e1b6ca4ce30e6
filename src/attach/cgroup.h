/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_CGROUP_H
#define ATTACH_CGROUP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The id of a group of the version 2 hierarchy: its inode number.  A relative path is looked for where that is
 * mounted.  False with a sentence.
 */
bool cgroup_id(const char *path, uint64_t *ret_id, GError **error);

/*
 * Is this thread's group of version 2 one of ids (of uint64_t), or below one?  mount: where that hierarchy is; NULL: it
 * is nowhere.
 */
bool cgroup_has_thread(const GArray *ids, const char *mount, pid_t pid, pid_t tid);

/*
 * Has a cgroup at or below `root` ("/sys/fs/cgroup") a CPU quota, of version 1 or 2?  True also where there are too
 * many to look at.
 */
bool quota_is_used(const char *root);

#endif
