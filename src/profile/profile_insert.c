/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_insert.h"

#include <string.h>

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, int *ret_rc)
{
	sqlite3_stmt *stmt = NULL;

	*ret_rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	return stmt;
}

/* Sets the statement for the next rows. */
static void use_stmt(struct insert *in, sqlite3_stmt *stmt)
{
	sqlite3_finalize(in->stmt);
	in->stmt = stmt;
	g_free(in->bound);
	in->parameter_cnt = sqlite3_bind_parameter_count(stmt);
	in->bound = g_new0(struct insert_bound, (gsize)in->parameter_cnt + 1);
}

struct insert insert_into(sqlite3 *db, const char *sql)
{
	struct insert in = { .at = 1, .single_cnt = G_MAXUINT };

	use_stmt(&in, prepare(db, sql, &in.rc));
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
	if (!in.single_cnt)
		use_stmt(&in, g_steal_pointer(&in.then));
	return in;
}

void insert_note(struct insert *in, int rc)
{
	if (in->rc == SQLITE_OK)
		in->rc = rc;
}

/*
 * Advances to the next parameter. True: it already has this value. A missing parameter is reported by SQLite's bind.
 */
static bool is_bound(struct insert *in, enum insert_kind kind, uint64_t number)
{
	const struct insert_bound this = { .number = number, .kind = kind };
	int at = in->at++;

	if (at > in->parameter_cnt)
		return false;
	struct insert_bound *bound = &in->bound[at];
	bool is_same = bound->kind == kind && bound->number == number;

	*bound = this;
	return is_same;
}

void insert_number(struct insert *in, uint64_t value)
{
	if (!is_bound(in, INSERT_NUMBER, value))
		insert_note(in, sqlite3_bind_int64(in->stmt, in->at - 1, (sqlite3_int64)value));
}

void insert_null(struct insert *in)
{
	if (!is_bound(in, INSERT_NULL, 0))
		insert_note(in, sqlite3_bind_null(in->stmt, in->at - 1));
}

/* Always bound: the memory may hold another text now. */
static void put_text(struct insert *in, const char *text)
{
	is_bound(in, INSERT_TEXT, 0);
	insert_note(in, sqlite3_bind_text(in->stmt, in->at - 1, text, -1, SQLITE_STATIC));
}

void insert_id(struct insert *in, uint64_t id)
{
	if (in->has_row || in->rows)
		insert_null(in);
	else
		insert_number(in, id);
}

void insert_text(struct insert *in, const char *text)
{
	if (text)
		put_text(in, text);
	else
		insert_null(in);
}

void insert_blob(struct insert *in, const void *bytes, int cnt)
{
	is_bound(in, INSERT_TEXT, 0);
	insert_note(in, sqlite3_bind_blob(in->stmt, in->at - 1, bytes, cnt, SQLITE_STATIC));
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
	in->has_row = true;
}

bool insert_row_done(struct insert *in)
{
	if (in->single_cnt) {
		put_rows(in);
		if (--in->single_cnt == 0 && in->then)
			use_stmt(in, g_steal_pointer(&in->then));
	} else if (++in->rows == INSERT_ROWS_AT_ONCE) {
		put_rows(in);
	}
	return in->rc == SQLITE_OK;
}

int insert_end(struct insert *in)
{
	if (in->rows)
		insert_note(in, SQLITE_MISUSE);	/* fewer rows than announced: they would be lost */
	sqlite3_finalize(in->stmt);
	sqlite3_finalize(in->then);
	g_free(in->bound);
	return in->rc;
}
