/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_MOUNT_POINT_H
#define BASE_PROC_MOUNT_POINT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Prepends the mount point to a path from the root of the file system `dev` (the kernel's number), according to
 * mountinfo of a process, or NULL. False: it is not listed.
 */
bool mount_point_prepend(GString *path, const char *mountinfo, uint32_t dev);

/* "8:1": a device number as in mountinfo. */
void device_append(GString *s, uint32_t dev);

/*
 * Mount point of a control group hierarchy, from PROC_DIR/self/mounts: the first one. controller NULL: of version 2;
 * else of the version 1 hierarchy with it ("cpu", "memory"). NULL: not mounted. Free with g_free.
 */
char *cgroup_mount(const char *proc_dir, const char *controller);
/* The same for several, with one read. */
void cgroup_mounts(const char *proc_dir, const char *const *controllers, unsigned cnt, char **ret);

#endif
