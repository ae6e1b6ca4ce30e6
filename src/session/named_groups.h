/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_NAMED_GROUPS_H
#define SESSION_NAMED_GROUPS_H

#include <glib.h>
#include <stdbool.h>

/*
 * Appends the ids (uint64_t) of the control groups that somebody means: by a path, or by the name of a unit, container
 * or pod.  What is called the same has another id once it was started again.
 */
bool named_groups(const char *typed, GArray *ids, GError **error);

#endif
