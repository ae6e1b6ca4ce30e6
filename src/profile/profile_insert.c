/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_insert.h"

#include <string.h>

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, int *ret_rc)
{
	sqlite3_stmt *stmt = NULL;

	*ret_rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	return stmt;
}

struct insert insert_into(sqlite3 *db, const char *sql)
{
	struct insert in = { .at = 1, .single_cnt = G_MAXUINT };

	in.stmt = prepare(db, sql, &in.rc);
	return in;
}

struct insert insert_rows(sqlite3 *db, const char *sql, guint cnt)
{
	struct insert in = insert_into(db, sql);
	const char *row = strchr(sql, '(');

	in.single_cnt = cnt % INSERT_ROWS_AT_ONCE;
	if (cnt < INSERT_ROWS_AT_ONCE || in.rc != SQLITE_OK)
		return in;
	g_autoptr(GString) many = g_string_new(sql);

	for (int i = 1; i < INSERT_ROWS_AT_ONCE; i++)
		g_string_append_printf(many, ", %s", row);
	in.then = prepare(db, many->str, &in.rc);
	if (!in.single_cnt) {
		sqlite3_finalize(in.stmt);
		in.stmt = g_steal_pointer(&in.then);
	}
	return in;
}

void insert_note(struct insert *in, int rc)
{
	if (in->rc == SQLITE_OK)
		in->rc = rc;
}

void insert_number(struct insert *in, uint64_t value)
{
	insert_note(in, sqlite3_bind_int64(in->stmt, in->at++, (sqlite3_int64)value));
}

void insert_null(struct insert *in)
{
	insert_note(in, sqlite3_bind_null(in->stmt, in->at++));
}

void insert_text(struct insert *in, const char *text)
{
	insert_note(in, sqlite3_bind_text(in->stmt, in->at++, text, -1, SQLITE_STATIC));
}

static void put_rows(struct insert *in)
{
	if (in->rc == SQLITE_OK) {
		int rc = sqlite3_step(in->stmt);

		insert_note(in, rc == SQLITE_DONE ? SQLITE_OK : rc);
		insert_note(in, sqlite3_reset(in->stmt));
	}
	in->at = 1;
	in->rows = 0;
}

bool insert_row_done(struct insert *in)
{
	if (in->single_cnt) {
		put_rows(in);
		if (--in->single_cnt == 0 && in->then) {
			sqlite3_finalize(in->stmt);
			in->stmt = g_steal_pointer(&in->then);
		}
	} else if (++in->rows == INSERT_ROWS_AT_ONCE) {
		put_rows(in);
	}
	return in->rc == SQLITE_OK;
}

int insert_end(struct insert *in)
{
	if (in->rows)
		insert_note(in, SQLITE_MISUSE);	/* fewer rows than were promised: these would be lost */
	sqlite3_finalize(in->stmt);
	sqlite3_finalize(in->then);
	return in->rc;
}
