/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_READER_H
#define PROFILE_PROFILE_READER_H

#include <sqlite3.h>

#include "profile/profile_schema.h"

/* Inside the profile layer: a recording's tables and their rows, none of which is trusted. */

/* Reads table after table.  A bad value is noted and answered with 0; the row's end looks. */
struct reader {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	struct profile *p;
	const char *table;
	uint64_t text_budget_bytes;
	const char *wrong;	/* the first bad column of this row */
	GPtrArray *strings;	/* string id -> the profile's own string */
	GArray *ids[TABLE_CNT];	/* id in the file -> id in the profile: a forged file may repeat itself */
	GArray *task_looks;	/* struct reader_look: where each one is */
	uint32_t task_look;	/* whose cells were the last */
};

struct reader_look {
	uint32_t population, look;
};

/*
 * Reads every row; false with a sentence.  Column 0 is the id, which counts up by one: pages that a forged file
 * shares between branches would repeat ids, so nothing grows beyond the file's own size.
 */
bool reader_table(struct reader *r, enum table_id id, GError **error);
/* The column of a row in which 0 is what is not there. */
void reader_column(struct reader *r, const struct column *c, int column, void *row);
void reader_wrong(struct reader *r, const char *name);

/* Columns of the row; row_wrong() says that one cannot be. */
void row_wrong(struct reader *r, int column);
bool row_is_null(struct reader *r, int column);
uint64_t row_number(struct reader *r, int column, uint64_t max);
uint64_t row_ns(struct reader *r, int column);
uint32_t row_u32(struct reader *r, int column);
/* Up to the first NUL, valid until another one is asked for; "" for NULL. */
const char *row_text(struct reader *r, int column);
/* The same as a string of the profile. */
const char *row_own_text(struct reader *r, int column);
/* The bytes of a blob, valid until the next row. */
const void *row_blob(struct reader *r, int column, uint32_t *ret_bytes);
/* A histogram of PROFILE_HIST_SLOTS: [exponent,count,...], the counts of that slot and those that follow. */
void row_hist(struct reader *r, int column, uint32_t *hist);

/* slices_file.c */
void row_of_slice_length(struct reader *r, int column);

#endif
