/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_INSERT_H
#define PROFILE_PROFILE_INSERT_H

#include <glib.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Rows on their way into a table. */

/* To step and reset a statement takes half the time of a row: these many go in one. */
#define INSERT_ROWS_AT_ONCE 32

enum insert_kind { INSERT_NULL, INSERT_NUMBER, INSERT_TEXT };

/* To bind a number takes as long as SQLite needs for the rest of it: many are the same row after row. */
struct insert_bound {
	uint64_t number;
	enum insert_kind kind;
};

/*
 * Rows put into a table; `at` is the parameter that comes next, `rc` the first failure.  What is left over
 * of a division by INSERT_ROWS_AT_ONCE goes first, row by row.
 */
struct insert {
	sqlite3_stmt *stmt, *then;	/* then: of many rows; NULL: there is none, or it is stmt */
	/* of each parameter of stmt, counted from 1: what it keeps from the row before */
	struct insert_bound *bound;
	int parameter_cnt;
	bool has_row;		/* there was one */
	guint single_cnt;	/* rows to go one by one */
	guint rows;		/* bound, but not put */
	int at, rc;
};

/* Any number of rows. */
struct insert insert_into(sqlite3 *db, const char *sql);
/* That number of rows, and what is bound as text must stay until the end, or that of the next INSERT_ROWS_AT_ONCE. */
struct insert insert_rows(sqlite3 *db, const char *sql, guint cnt);

/* The row's next column. */
/* one more than the last row's: SQLite is told the first one only, and seeks none */
void insert_id(struct insert *in, uint64_t id);
void insert_number(struct insert *in, uint64_t value);
void insert_null(struct insert *in);
void insert_text(struct insert *in, const char *text);	/* not copied; NULL is null */
/* It must stay until the row is done. */
void insert_blob(struct insert *in, const void *bytes, int cnt);

/* Ends a row; false after a failure. */
bool insert_row_done(struct insert *in);
/* A failure from elsewhere is this one's, too. */
void insert_note(struct insert *in, int rc);
/* In any case; the first failure, or SQLITE_OK. */
int insert_end(struct insert *in);

#endif
