/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_CGROUP_H
#define ATTACH_CGROUP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The id of a group of the version 2 hierarchy: its inode number. A relative path is taken from that hierarchy's mount
 * point. False with a sentence.
 */
bool cgroup_id(const char *path, uint64_t *ret_id, GError **error);

/*
 * Is this thread's version 2 group one of ids (uint64_t), or below one? mount: of that hierarchy; NULL: not mounted.
 */
bool cgroup_has_thread(const GArray *ids, const char *mount, pid_t pid, pid_t tid);

/*
 * Has a cgroup at or below `root` ("/sys/fs/cgroup") a CPU quota, of version 1 or 2? True also if there are too many
 * to check.
 */
bool quota_is_used(const char *root);

#endif
