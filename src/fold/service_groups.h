/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_SERVICE_GROUPS_H
#define FOLD_SERVICE_GROUPS_H

#include <glib.h>

/*
 * Control groups by what people call them: a unit ("nginx.service", "nginx"), a container or a pod ("web", "shop/web",
 * "container:web", "pod:shop/checkout"), or the first digits of a container's id.  A path of a group is told from a name
 * by the caller.
 */

/*
 * Absolute paths of all groups of that name (char *, free with the array), none below another of them: replicas and
 * user services have the same.  Empty: none; *ret_alike: "a, b" of names that may be meant, or NULL; free with g_free().
 * mount: of the version 2 hierarchy; proc_dir: "/proc", but for tests.
 */
GPtrArray *service_groups_find(const char *proc_dir, const char *mount, const char *name, char **ret_alike);

#endif
