/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rows on their way into a table: what is not bound again is what the row before had there. */
#include "profile/profile_insert.h"

#define SQL "INSERT INTO t VALUES(?, ?, ?, ?)"
#define FIRST_ID 5
#define TEXTS INSERT_ROWS_AT_ONCE	/* a row of the statement has a buffer of its own */

static sqlite3 *open_table(void)
{
	sqlite3 *db;

	g_assert_cmpint(sqlite3_open(":memory:", &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c)", NULL, NULL, NULL), ==, SQLITE_OK);
	return db;
}

/* What row i holds, and in c a letter: few values, so that equal ones meet, and each kind follows each other one. */
struct cell {
	enum insert_kind kind;
	uint64_t number;
	char text[8];
};

static struct cell cell_of(guint row, guint column)
{
	GRand *rand = g_rand_new_with_seed(row / INSERT_ROWS_AT_ONCE * 2 + column + row % 3);
	struct cell cell = { .kind = (enum insert_kind)g_rand_int_range(rand, 0, 3), .number = (uint64_t)g_rand_int_range(rand, 0, 3) - 1 };

	g_snprintf(cell.text, sizeof(cell.text), "%u", g_rand_int_range(rand, 8, 12));
	g_rand_free(rand);
	return cell;
}

static void put(struct insert *in, const struct cell *cell, char *buffer)
{
	if (cell->kind == INSERT_NULL) {
		insert_null(in);
	} else if (cell->kind == INSERT_NUMBER) {
		insert_number(in, cell->number);
	} else {
		g_strlcpy(buffer, cell->text, sizeof(cell->text));
		insert_text(in, buffer);
	}
}

static void assert_cell(sqlite3_stmt *stmt, int column, const struct cell *want)
{
	static const int types[] = { [INSERT_NULL] = SQLITE_NULL, [INSERT_NUMBER] = SQLITE_INTEGER, [INSERT_TEXT] = SQLITE_TEXT };

	g_assert_cmpint(sqlite3_column_type(stmt, column), ==, types[want->kind]);
	if (want->kind == INSERT_NUMBER)
		g_assert_cmpuint((uint64_t)sqlite3_column_int64(stmt, column), ==, want->number);
	else if (want->kind == INSERT_TEXT)
		g_assert_cmpstr((const char *)sqlite3_column_text(stmt, column), ==, want->text);
}

static void assert_rows(sqlite3 *db, guint cnt)
{
	sqlite3_stmt *stmt;

	g_assert_cmpint(sqlite3_prepare_v2(db, "SELECT * FROM t ORDER BY id", -1, &stmt, NULL), ==, SQLITE_OK);
	for (guint i = 0; i < cnt; i++) {
		const struct cell a = cell_of(i, 0), b = cell_of(i, 1), letter = { .kind = INSERT_TEXT, .text = { (char)('a' + i % 26) } };

		g_assert_cmpint(sqlite3_step(stmt), ==, SQLITE_ROW);
		g_assert_cmpint(sqlite3_column_int64(stmt, 0), ==, FIRST_ID + i);
		assert_cell(stmt, 1, &a);
		assert_cell(stmt, 2, &b);
		assert_cell(stmt, 3, &letter);
	}
	g_assert_cmpint(sqlite3_step(stmt), ==, SQLITE_DONE);
	sqlite3_finalize(stmt);
}

static void insert_some(guint cnt, bool is_told)
{
	sqlite3 *db = open_table();
	struct insert in = is_told ? insert_rows(db, SQL, cnt) : insert_into(db, SQL);
	char buffers[TEXTS][2][8];
	char letters[TEXTS][2];

	for (guint i = 0; i < cnt; i++) {
		const struct cell a = cell_of(i, 0), b = cell_of(i, 1);

		letters[in.rows][0] = (char)('a' + i % 26);
		letters[in.rows][1] = '\0';
		insert_id(&in, FIRST_ID + i);
		put(&in, &a, buffers[in.rows][0]);
		put(&in, &b, buffers[in.rows][1]);
		insert_text(&in, letters[in.rows]);
		g_assert_true(insert_row_done(&in));
	}
	g_assert_cmpint(insert_end(&in), ==, SQLITE_OK);
	assert_rows(db, cnt);
	sqlite3_close(db);
}

static void test_rows(void)
{
	const guint cnts[] = { 0, 1, 2, INSERT_ROWS_AT_ONCE - 1, INSERT_ROWS_AT_ONCE, INSERT_ROWS_AT_ONCE + 1, 20 * INSERT_ROWS_AT_ONCE + 7 };

	for (size_t i = 0; i < G_N_ELEMENTS(cnts); i++) {
		insert_some(cnts[i], true);
		insert_some(cnts[i], false);
	}
}

/* A failure is told at the end, and nothing is written where there is no room for it. */
static void test_failures(void)
{
	sqlite3 *db = open_table();
	struct insert none = insert_rows(db, "INSERT INTO nothing VALUES(?, ?)", 100);
	struct insert few = insert_rows(db, SQL, 2 * INSERT_ROWS_AT_ONCE), narrow = insert_into(db, SQL);

	insert_id(&none, 1);
	insert_null(&none);
	insert_text(&none, "text");
	g_assert_false(insert_row_done(&none));
	g_assert_cmpint(insert_end(&none), ==, SQLITE_ERROR);
	insert_id(&few, 1);
	for (int i = 0; i < 3; i++)
		insert_null(&few);
	g_assert_true(insert_row_done(&few));
	g_assert_cmpint(insert_end(&few), ==, SQLITE_MISUSE);
	for (int i = 0; i < 5; i++)
		insert_number(&narrow, 1);
	g_assert_false(insert_row_done(&narrow));
	g_assert_cmpint(insert_end(&narrow), ==, SQLITE_RANGE);
	assert_rows(db, 0);
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/profile-insert/rows", test_rows);
	g_test_add_func("/profile-insert/failures", test_failures);
	return g_test_run();
}
