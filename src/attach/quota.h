/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_QUOTA_H
#define ATTACH_QUOTA_H

#include <stdbool.h>

/*
 * Has a cgroup at or below `root` ("/sys/fs/cgroup") a CPU quota, of version 1 or 2?  True also where there are too
 * many to look at.
 */
bool quota_is_used(const char *root);

#endif
