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

#define OBJECT_BOUND " bound"	/* in the name of a socket for datagrams without a peer, behind its own port */
#define PORT_OF_NOBODY 32768	/* from here on Linux gives ports to those that do not ask for one */

/* Its port was chosen, so that others send there: a server. */
static inline bool object_serves_datagrams(const struct object *o)
{
	const char *end = o->kind == OBJECT_SOCKET ? strstr(o->name, OBJECT_BOUND) : NULL;
	unsigned port = 0, unit = 1;

	for (; end && end > o->name && g_ascii_isdigit(end[-1]) && port < PORT_OF_NOBODY; end--, unit *= 10)
		port += unit * (unsigned)(end[-1] - '0');
	return port && port < PORT_OF_NOBODY;
}

#endif
