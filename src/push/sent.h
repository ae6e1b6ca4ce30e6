/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SENT_H
#define PUSH_SENT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Which rows of contents (stacks, objects, wakers) an engine has taken lately, by their numbers, so that each is sent
 * once in a day and not with every window.  Only what was taken is in here: a window that waits in the spool, is lost
 * or refused leaves nothing behind.  Bounded: beyond SENT_MAX what was asked for longest ago is forgotten, and is sent
 * again.  From any thread.
 */
struct sent;

#define SENT_MAX 262144
/* The server keeps such a row this much longer than windows: see the TTL of `stacks` in share/clickhouse/schema.sql. */
#define SENT_S (24 * 3600)

struct sent *sent_new(void);
void sent_free(struct sent *s);	/* NULL is fine */

/* Is it there, and of a time before which no longer than a day has passed?  at_s: Unix seconds, of the window. */
bool sent_has(struct sent *s, uint64_t id, uint64_t at_s);
/* Those of a window that began at at_s were taken. */
void sent_add(struct sent *s, const uint64_t *ids, gsize cnt, uint64_t at_s);
/* It is another server, or other tables. */
void sent_forget(struct sent *s);

#endif
