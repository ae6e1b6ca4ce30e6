/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_READER_H
#define PROFILE_PROFILE_READER_H

#include <sqlite3.h>

#include "profile/profile.h"

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
	/* id in the file -> id in the profile: a forged file may repeat itself */
	GArray *frames, *nodes, *objects, *waits, *wakers, *wakes, *chains;
	GArray *task_looks;	/* struct reader_look: where each one is */
	uint32_t task_look;	/* whose cells were the last */
};

struct reader_look {
	uint32_t population, look;
};

struct row_table {
	const char *name;
	int64_t first_id;	/* -1: rows have no id */
	int64_t min_rows, max_rows;
	void (*row)(struct reader *r);
};

/*
 * Reads every row; false with a sentence.  Column 0 is the id, which counts up by one: pages that a forged file
 * shares between branches would repeat ids, so nothing grows beyond the file's own size.
 */
bool reader_table(struct reader *r, const struct row_table *t, GError **error);

/* Columns of the row; row_wrong() says that one cannot be. */
void row_wrong(struct reader *r, int column);
bool row_is_null(struct reader *r, int column);
uint64_t row_number(struct reader *r, int column, uint64_t max);
uint64_t row_ns(struct reader *r, int column);
uint32_t row_u32(struct reader *r, int column);
uint8_t row_u8(struct reader *r, int column);
/* Up to the first NUL, valid until another one is asked for; "" for NULL. */
const char *row_text(struct reader *r, int column);
/* The same as a string of the profile. */
const char *row_own_text(struct reader *r, int column);
/* The string that the file calls by this id; NULL for NULL. */
const char *row_string(struct reader *r, int column);
/* What the file calls by this id, of those in `ids`; 0 for NULL where `nullable`. */
uint32_t row_id(struct reader *r, int column, const GArray *ids, bool nullable);
/* The bytes of a blob, valid until the next row. */
const void *row_blob(struct reader *r, int column, uint32_t *ret_bytes);
/* A histogram of PROFILE_HIST_SLOTS: [exponent,count,...], the counts of that slot and those that follow. */
void row_hist(struct reader *r, int column, uint32_t *hist);

/* profile_read_who.c */
void row_of_object(struct reader *r);
void row_of_waker(struct reader *r);
void row_of_wake(struct reader *r);
void row_of_chain(struct reader *r);
void row_of_story(struct reader *r);
void row_of_hop(struct reader *r);
void row_of_blame(struct reader *r);
void row_of_storm(struct reader *r);
void row_of_on_cpu(struct reader *r);
/* slices_file.c */
void row_of_slice_length(struct reader *r, int column);
void row_of_slice(struct reader *r);
void row_of_slice_cells(struct reader *r);
/* requests_file.c */
void row_of_request(struct reader *r);
void row_of_request_calls(struct reader *r);
void row_of_request_part(struct reader *r);
void row_of_span(struct reader *r);
void row_of_span_wait(struct reader *r);
/* tasks_file.c */
void row_of_task_population(struct reader *r);
void row_of_task(struct reader *r);
/* task_looks_file.c */
void row_of_longest(struct reader *r);
void row_of_task_look(struct reader *r);
void row_of_task_look_cells(struct reader *r);

#endif
