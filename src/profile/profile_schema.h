/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_SCHEMA_H
#define PROFILE_PROFILE_SCHEMA_H

#include <sqlite3.h>

#include "features/requests/rows.h"
#include "features/tasks/rows.h"

/*
 * One description of the tables of a recording, which docs/file-format.md explains.  Out of it come the SQL of each
 * table, its writing and its reading, what profile_check() asks of its rows, and how two rows become one.  The reader
 * compares the SQL with the file's own, byte by byte, so that no forged column, constraint or expression is ever
 * evaluated.
 */

/* In the order in which rows refer to each other, and in which they are read. */
enum table_id {
	TABLE_META,
	TABLE_WINDOW,
	TABLE_LOSS,
	TABLE_STRING,
	TABLE_FRAME,
	TABLE_STACK,
	TABLE_THREAD,
	TABLE_OBJECT,
	TABLE_WAIT,
	TABLE_STATE_TOTAL,
	TABLE_SAMPLING,
	TABLE_WAKER,
	TABLE_WAKE,
	TABLE_CHAIN,
	TABLE_STORY,
	TABLE_HOP,
	TABLE_BLAME,
	TABLE_STORM,
	TABLE_TRACE,
	TABLE_TCP_WAIT,
	TABLE_CONNECTION,
	TABLE_SLICE,
	TABLE_SLICE_CELLS,
	TABLE_ON_CPU,
	TABLE_REQUEST,
	TABLE_REQUEST_CALLS,
	TABLE_REQUEST_PART,
	TABLE_SPAN,
	TABLE_SPAN_WAIT,
	TABLE_TASK_POPULATION,
	TABLE_TASK,
	TABLE_LONGEST,
	TABLE_TASK_LOOK,
	TABLE_TASK_LOOK_CELLS,
	TABLE_CNT
};

enum column_kind {
	COLUMN_NUMBER,	/* an unsigned member of any width */
	COLUMN_NS,	/* the same, up to PROFILE_NS_MAX */
	COLUMN_FLAG,	/* a bool */
	COLUMN_BITS,	/* any 64 bits */
	COLUMN_TEXT,	/* a string of the profile */
	COLUMN_STRING,	/* the same by its id in the table of strings; NULL for NULL */
	COLUMN_STATE,	/* a letter */
	COLUMN_HIST,	/* PROFILE_HIST_SLOTS counts */
	COLUMN_ID,	/* the index of a row of the table `of` */
	COLUMN_WINDOW,	/* no member: that of the one window */
	COLUMN_BLOB,
	COLUMN_ODD,	/* put() and get() know */
};

/* Of two rows that become one: what stands in the column then. */
enum column_merge {
	MERGE_KEEP,	/* what stood there, or who merges them knows */
	MERGE_LAST,	/* what the row that is added has */
	MERGE_SUM,	/* and over a whole table it fits in 63 bits */
	MERGE_MAX,
	MERGE_ERROR,	/* of sums that are independent of one another: variances add */
	MERGE_HIST,	/* PROFILE_HIST_SLOTS sums */
};

struct reader;
struct table_writer;

struct column {
	const char *name, *note;
	enum column_kind kind;
	enum column_merge merge;
	bool adds_on;		/* its sum over the table and that of the column before are one */
	uint8_t bytes;		/* of the member */
	uint16_t at;
	uint16_t known;		/* a bool of the row that says whether there is a value, else NULL; 0: there always is */
	enum table_id of;
	bool is_nullable;	/* NULL stands for 0, for NULL of a text */
	bool plus_1;		/* the member is the index + 1; 0: NULL */
	bool may_be_many;	/* of a state: '?' is one */
	bool is_text;		/* of an odd one */
	uint64_t max;		/* 0: what the kind or the width allows */
	void (*put)(struct table_writer *w, const void *row);
	void (*get)(struct reader *r, int column, void *row);
};

/* Where an iteration is; all 0: at the beginning. */
struct table_at {
	guint i, k;
};

struct profile_table {
	const char *name, *note;
	const char *id_note;
	const struct column *columns;	/* but the id */
	unsigned column_cnt;
	int64_t first_id;		/* -1: rows have no id */
	int64_t min_rows, max_rows;	/* max_rows 0: PROFILE_ROWS_MAX */
	size_t row_bytes;
	/* where rows are: a GArray of the profile, or the one of the info, or what next() makes */
	size_t array;
	bool is_of_info;
	size_t info_at;
	bool (*next)(const struct profile *p, struct table_at *at, void *ret_row);
	/* Takes what was read; its id.  NULL: appended to the array.  It may call row_wrong_at(). */
	uint32_t (*add)(struct reader *r, const void *row);
	/* of a table that goes its own way */
	const char *sql;
	int (*write)(sqlite3 *db, const struct profile *p);
	void (*read)(struct reader *r);
};

extern const struct profile_table profile_tables[TABLE_CNT];

/* The number in a row's column, and the largest that may be there. */
static inline uint64_t column_value(const struct column *c, const void *row)
{
	const void *at = (const char *)row + c->at;

	switch (c->bytes) {
	case 1: return *(const uint8_t *)at;
	case 2: return *(const uint16_t *)at;
	case 4: return *(const uint32_t *)at;
	default: return *(const uint64_t *)at;
	}
}

void column_set(const struct column *c, void *row, uint64_t value);
uint64_t column_max(const struct column *c);
/* May it stand in the column?  '?', a state that is not known, is for recordings of such. */
bool column_has_state(const struct column *c, const struct profile *p, char state);

/* The array of its rows; NULL: they are no array of the profile. */
static inline GArray *profile_table_rows(const struct profile_table *t, const struct profile *p)
{
	return t->array ? *(GArray *const *)((const char *)p + t->array) : NULL;
}

/* Takes `row` into `into`, a row of the same table.  Sums stop at the highest value. */
void profile_merge_row(enum table_id id, void *into, const void *row);
/* Its texts become strings of p, whose info or row it is. */
void profile_own_texts(struct profile *p, enum table_id id, void *row);

/* Exactly as SQLite keeps it: no blank lines around, no semicolon.  Free with g_free(). */
char *profile_table_sql(const struct profile_table *t);

/* For people at the sqlite3 shell; the reader never looks at them, so they may change. */
extern const char profile_views[];

#define PROFILE_WINDOW_ID 1	/* of the one window of a recording */

/* Rows of tables that are no array of the profile. */
struct hop_row {
	uint32_t story, step;
	struct hop hop;
};

struct span_wait_row {
	uint32_t span;
	struct span_wait wait;
};

struct population_row {
	uint32_t pid, rate_milli_hz, looked_at_ppm;
	const char *kind, *program, *version;
	uint64_t window_ns, looks, cpu_ns, stale, unreadable, no_row;
	bool is_cut;
};

struct recorded_task {
	uint32_t population;
	struct task_row row;
};

struct longest_row {
	uint32_t wait, waker;	/* waker: + 1 */
	uint64_t start_ns;
};

struct look_row {
	uint32_t population;
	uint64_t start_ns, period_ns, looks, weight_milli, stale, unreadable, no_row;
};

#endif
