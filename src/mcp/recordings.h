/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_RECORDINGS_H
#define MCP_RECORDINGS_H

#include <glib.h>
#include <stdbool.h>

/* The recordings made for a client, in a folder that only this user can enter.  Nothing else is ever written. */

#define RECORDINGS_MAX 8	/* the oldest is deleted for another one */

struct recordings;

struct recordings *recordings_new(void);
/* Deletes all of them; NULL is fine. */
void recordings_free(struct recordings *r);
/* Where the next one goes; makes the folder.  For g_free(); NULL with a sentence. */
char *recordings_next(struct recordings *r, GError **error);
/* It is there now; from then on it is the last one. */
void recordings_add(struct recordings *r, const char *path);
/* NULL: none. */
const char *recordings_last(const struct recordings *r);

#endif
