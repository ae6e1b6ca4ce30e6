/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_MOUNT_POINT_H
#define BASE_PROC_MOUNT_POINT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A path from the root of the file system `dev` (the kernel's number) gets the place in front where mountinfo, a
 * process's or NULL, says that it is mounted.  False: it says nothing of it.
 */
bool mount_point_prepend(GString *path, const char *mountinfo, uint32_t dev);

/* "8:1": such a number as people and mountinfo have it. */
void device_append(GString *s, uint32_t dev);

/*
 * Where a hierarchy of control groups is mounted, as PROC_DIR/self/mounts says: the first one.  controller NULL: that of
 * version 2; else the one of version 1 that has it ("cpu", "memory").  NULL: nowhere.  Free with g_free.
 */
char *cgroup_mount(const char *proc_dir, const char *controller);
/* The same of several, read once. */
void cgroup_mounts(const char *proc_dir, const char *const *controllers, unsigned cnt, char **ret);

#endif
