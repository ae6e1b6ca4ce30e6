/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_CREDENTIALS_H
#define PUSH_CREDENTIALS_H

#include <glib.h>
#include <stdbool.h>

/* Who we are to an engine.  Never from a command line, which all users can read. */
struct credentials {
	char *user, *password;	/* basic authentication; NULL: none */
	char *token;		/* bearer; NULL: none */
};

/*
 * From a file of lines "user NAME", "password SECRET", "token SECRET", which nobody but its owner may read, or where
 * path is NULL from OFFCPU_PUSH_USER, OFFCPU_PUSH_PASSWORD and OFFCPU_PUSH_TOKEN.  False with one sentence, without
 * any of the secrets.
 */
bool credentials_read(const char *path, struct credentials *ret, GError **error);
bool credentials_are_there(const struct credentials *c);
void credentials_clear(struct credentials *c);

#endif
