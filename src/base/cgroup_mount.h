/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CGROUP_MOUNT_H
#define CGROUP_MOUNT_H

/*
 * Where a hierarchy of control groups is mounted, as PROC_DIR/self/mounts says: the first one.  controller NULL: that of
 * version 2; else the one of version 1 that has it ("cpu", "memory").  NULL: nowhere.  Free with g_free.
 */
char *cgroup_mount(const char *proc_dir, const char *controller);
/* The same of several, read once. */
void cgroup_mounts(const char *proc_dir, const char *const *controllers, unsigned cnt, char **ret);

#endif
