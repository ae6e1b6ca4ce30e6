/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_OBJECT_ACCEPTED_H
#define PROFILE_OBJECT_ACCEPTED_H

#include <string.h>

#include "profile/profile.h"

/* A connection that this side has accepted at there, as LIMIT_BACKLOG has it: ":8080 from 10.0.0.7", "/run/app.sock from". */
static inline bool object_is_accepted_at(const struct object *o, const char *there)
{
	static const char from[] = " from";
	size_t len = strlen(there);

	return o->kind == OBJECT_SOCKET && len && strncmp(o->name, there, len) == 0 &&
	       strncmp(o->name + len, from, strlen(from)) == 0;
}

#endif
