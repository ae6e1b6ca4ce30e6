/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_READER_H
#define PROFILE_PROFILE_READER_H

#include <sqlite3.h>

#include "profile/profile_schema.h"

/* Inside the profile layer: reads the tables of a recording, which is not trusted. */

/* State of reading. A bad value is recorded here and returned as 0; it is reported at the end of the row. */
struct reader {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	struct profile *p;
	const char *table;
	uint64_t text_budget_bytes;
	const char *wrong;	/* first bad column of the row */
	GPtrArray *strings;	/* string id -> the profile's own string */
	GArray *ids[TABLE_CNT];	/* id in the file -> id in the profile; a forged file may repeat ids */
	GArray *task_looks;	/* struct reader_look: the position of each */
	uint32_t task_look;	/* index of the look that the last cells belong to */
};

struct reader_look {
	uint32_t population, look;
};

/*
 * Reads every row. False with an error. Column 0 is the id and must count up by one. A forged file whose branches
 * share pages would repeat ids, so memory is bounded by the file's size.
 */
bool reader_table(struct reader *r, enum table_id id, GError **error);
/* Reads a column into a row that is zeroed. */
void reader_column(struct reader *r, const struct column *c, int column, void *row);
void reader_wrong(struct reader *r, const char *name);

/* row_wrong() marks a column as invalid. */
void row_wrong(struct reader *r, int column);
bool row_is_null(struct reader *r, int column);
uint64_t row_number(struct reader *r, int column, uint64_t max);
uint64_t row_ns(struct reader *r, int column);
uint32_t row_u32(struct reader *r, int column);
/* Up to the first NUL, valid until the next call; "" for NULL. */
const char *row_text(struct reader *r, int column);
/* Like row_text(), as a string of the profile. */
const char *row_own_text(struct reader *r, int column);
/* The bytes of a blob, valid until the next row. */
const void *row_blob(struct reader *r, int column, uint32_t *ret_bytes);
/* A histogram of PROFILE_HIST_SLOTS: [exponent,count,...], the counts of that slot and the following ones. */
void row_hist(struct reader *r, int column, uint32_t *hist);

/* slices_file.c */
void row_of_slice_length(struct reader *r, int column);

#endif
