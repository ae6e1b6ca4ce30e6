/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_OBJECT_UPSTREAM_H
#define PROFILE_OBJECT_UPSTREAM_H

#include <string.h>

#include "profile/profile.h"

#define OBJECT_UPSTREAM " -> "	/* in the name of an epoll set, before whom its loop has asked */

/* "127.0.0.1:8081 (python3)"; NULL: it is no epoll set, or has asked nobody. */
static inline const char *object_upstream(const struct object *o)
{
	const char *at = o && o->kind == OBJECT_EPOLL && o->name ? strstr(o->name, OBJECT_UPSTREAM) : NULL;

	return at ? at + strlen(OBJECT_UPSTREAM) : NULL;
}

#endif
