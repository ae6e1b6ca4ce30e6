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
 * Ids of contents (stacks, objects, wakers) that an engine has received lately, so that each is sent once a day and
 * not with every window.  Ids enter only when a unit was taken: a window that waits in the spool, is lost or is
 * refused adds nothing.  At most SENT_MAX: then the least recently used ids are dropped and sent again.  Thread-safe.
 */
struct sent;

#define SENT_MAX 262144
/* The server keeps contents this much longer than windows: see the TTL of `stacks` in share/clickhouse/schema.sql. */
#define SENT_S (24 * 3600)

struct sent *sent_new(void);
void sent_free(struct sent *s);	/* NULL is fine */

/* Whether it was sent within a day before at_s, the window's time in Unix seconds. */
bool sent_has(struct sent *s, uint64_t id, uint64_t at_s);
/* Ids of a window that began at at_s were taken. */
void sent_add(struct sent *s, const uint64_t *ids, gsize cnt, uint64_t at_s);
/* Forgets all: the server or its tables have changed. */
void sent_forget(struct sent *s);

/*
 * A window as rows of ClickHouse's tables (share/clickhouse), RowBinary.  Keys of rows depend only on the window, and
 * the tables keep one row per key.  So a window may be sent any number of times and counts once.  Its row of `windows`
 * goes last; readers look only at windows that have one.
 */

/* The server might split a larger insert, and the sums in its views would then have several keys. */
#define CLICKHOUSE_WAITS_MAX 250000

/*
 * `reasons` are those of p.  Contents in `sent` are left out; others are listed in the unit, to be added once it is
 * taken.  sent NULL: everything is sent.  NULL on error: p is no recording of a window.
 */
struct push_unit *clickhouse_unit(const struct profile *p, const struct reasons *reasons, struct sent *sent,
				  GError **error);

/* "INSERT INTO `db`.`table` (...) FORMAT RowBinary"; NULL: no such table.  Free with g_free(). */
char *clickhouse_insert(const char *database, const char *table);
/* Append `a name` or 'a text', escaped. */
void clickhouse_name(GString *sql, const char *name);
void clickhouse_text(GString *sql, const char *text);

/* In threads.flags: the service is known, not derived from the process's name. */
#define CLICKHOUSE_HAS_SERVICE (1u << 31)

/* Bits of windows.knows: what was recorded in the window. */
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
