/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_CLICKHOUSE_H
#define PUSH_CLICKHOUSE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyse/reason/reasons.h"
#include "profile/profile.h"
#include "push/unit.h"

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

/*
 * A window as rows of ClickHouse's tables (share/clickhouse), RowBinary.  Each row has a key that pushing the same
 * window again gives again, and the tables keep one row a key: nothing counts twice however often it is sent.  The row
 * of `windows` goes last, and who reads looks at windows that have one.
 */

/* More waits in a window might be split by the server, and what its views sum would not have one key. */
#define CLICKHOUSE_WAITS_MAX 250000

/*
 * reasons: of p.  What is in `sent` is left out, and is noted in the unit what is to be there once it is taken; NULL:
 * everything is sent.  NULL with one sentence for what is no recording of a window.
 */
struct push_unit *clickhouse_unit(const struct profile *p, const struct reasons *reasons, struct sent *sent,
				  GError **error);

/* "INSERT INTO `db`.`table` (...) FORMAT RowBinary"; NULL: there is no such table.  Free with g_free(). */
char *clickhouse_insert(const char *database, const char *table);
/* `a name`, 'a text': with what must be escaped; appended. */
void clickhouse_name(GString *sql, const char *name);
void clickhouse_text(GString *sql, const char *text);

/* In threads.flags: the service is known, and not only called as the process is. */
#define CLICKHOUSE_HAS_SERVICE (1u << 31)

/* Bits of windows.knows: what was asked for as the window was recorded. */
enum clickhouse_knows {
	KNOWS_BPF = 1 << 0,
	KNOWS_LOCKS = 1 << 1,
	KNOWS_OBJECTS = 1 << 2,
	KNOWS_WAKERS = 1 << 3,
	KNOWS_SELF_EXCLUDED = 1 << 4,
	KNOWS_USED = 1 << 5,
	KNOWS_TASKS = 1 << 6,
};

#endif
