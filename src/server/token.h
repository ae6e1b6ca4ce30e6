/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_TOKEN_H
#define SERVER_TOKEN_H

#include <glib.h>
#include <stdbool.h>

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
