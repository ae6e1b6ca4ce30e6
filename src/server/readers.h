/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_READERS_H
#define SERVER_READERS_H

#include <glib.h>
#include <stdbool.h>

/*
 * Who may read: each has a token, and a name that the audit tells.  A proxy that knows its users is one of them: its
 * token counts from its address alone, and it names the user in a header.
 */
struct reader {
	char *name, *token;
	char *services;	/* globs with commas between them: sees these alone; NULL: all */
	char *proxy;	/* the address of a proxy; NULL: it is none */
};

#define READERS_MAX 1000
#define READERS_MAX_BYTES (256 << 10)

/*
 * Lines of "NAME TOKEN [services=GLOB,...] [proxy=ADDR]", empty ones and those that begin with #; or a token alone in
 * the first line.  struct reader; NULL with a sentence that names the line and no token.
 */
GArray *readers_parse(const char *text, GError **error);
/* Of one who sees everything; token may be NULL, and then the array is empty. */
GArray *readers_of_token(const char *token);

/* Does one of the globs match?  NULL: all do. */
bool readers_list_has(const char *globs, const char *name);

#endif
