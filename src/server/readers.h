/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_READERS_H
#define SERVER_READERS_H

#include <glib.h>
#include <stdbool.h>

/*
 * Who may read: each reader has a token, and a name for the audit log.  A proxy that authenticates users is a reader
 * too: its token is valid only from its address, and it names the user in a header.
 */
struct reader {
	char *name, *token;
	char *services;	/* globs separated by commas that limit the visible services; NULL: all */
	char *proxy;	/* address of the proxy; NULL: not a proxy */
};

#define READERS_MAX 1000
#define READERS_MAX_BYTES (256 << 10)

/*
 * Parses lines "NAME TOKEN [services=GLOB,...] [proxy=ADDR]", or a token alone in the first line.  Empty lines and
 * lines that begin with # are skipped.  Returns struct reader; NULL on error: the message has the line's number but no
 * token.
 */
GArray *readers_parse(const char *text, GError **error);
/* A single reader who sees everything.  token NULL: an empty array. */
GArray *readers_of_token(const char *token);

/* Whether one of the globs matches; globs NULL: always. */
bool readers_list_has(const char *globs, const char *name);

/* The secret in every served address: whoever has it may read. */

#define TOKEN_LEN 32	 /* characters of a generated one: 192 bits */
#define TOKEN_MIN_LEN 16 /* of one given by the user */
#define TOKEN_MAX_LEN 128

/* Random characters that need no escaping in an address. */
bool token_make(char ret_token[TOKEN_LEN + 1], GError **error);

/* False if it is too short, too long, or needs escaping. */
bool token_is_valid(const char *token);

/* Compares in constant time.  `a` need not be terminated. */
bool token_equal(const char *a, gsize len_bytes, const char *token);

#endif
