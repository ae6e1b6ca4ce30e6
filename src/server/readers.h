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

/* The secret that stands in every address that is served: whoever has it may read. */

#define TOKEN_LEN 32	 /* characters of one that we make: 192 bits */
#define TOKEN_MIN_LEN 16 /* of one that the user gives */
#define TOKEN_MAX_LEN 128

/* Random, of characters that need no escape in an address. */
bool token_make(char ret_token[TOKEN_LEN + 1], GError **error);

/* False for what is too short, too long, or needs an escape. */
bool token_is_valid(const char *token);

/* In a time that does not depend on where they differ.  `a` need not end after len_bytes. */
bool token_equal(const char *a, gsize len_bytes, const char *token);

#endif
