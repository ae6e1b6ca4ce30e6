/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_MOUNT_POINT_H
#define BASE_MOUNT_POINT_H

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

#endif
