/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_INSERT_H
#define PROFILE_PROFILE_INSERT_H

#include <glib.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Inserts rows into a table. */

/* Stepping and resetting a statement is half the cost of a row, so this many rows go into one. */
#define INSERT_ROWS_AT_ONCE 32

enum insert_kind { INSERT_NULL, INSERT_NUMBER, INSERT_TEXT };

/* Binding a number costs as much as the rest, and many are equal from row to row. */
struct insert_bound {
	uint64_t number;
	enum insert_kind kind;
};

/*
 * Rows being inserted. `at` is the next parameter, `rc` the first error. The remainder of cnt / INSERT_ROWS_AT_ONCE
 * is inserted first, row by row.
 */
struct insert {
	sqlite3_stmt *stmt, *then;	/* then: the statement for many rows, or NULL; stmt: the one in use */
	/* per parameter of stmt, counted from 1: the value bound for the previous row */
	struct insert_bound *bound;
	int parameter_cnt;
	bool has_row;		/* a value is bound */
	guint single_cnt;	/* remaining rows to insert one by one */
	guint rows;		/* rows bound but not inserted yet */
	int at, rc;
};

/* For any number of rows. */
struct insert insert_into(sqlite3 *db, const char *sql);
/* For exactly cnt rows. Bound text must stay valid until insert_end(), or until INSERT_ROWS_AT_ONCE more rows. */
struct insert insert_rows(sqlite3 *db, const char *sql, guint cnt);

/* Set the next column. */
/* must count up by one: SQLite gets only the first and does not search */
void insert_id(struct insert *in, uint64_t id);
void insert_number(struct insert *in, uint64_t value);
void insert_null(struct insert *in);
void insert_text(struct insert *in, const char *text);	/* not copied; NULL becomes NULL */
/* bytes must stay valid until the row is done */
void insert_blob(struct insert *in, const void *bytes, int cnt);

/* Ends the row. False after an error. */
bool insert_row_done(struct insert *in);
/* Records an error from elsewhere. */
void insert_note(struct insert *in, int rc);
/* Must be called. Returns the first error, or SQLITE_OK. */
int insert_end(struct insert *in);

#endif
