/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_SCHEMA_H
#define PROFILE_PROFILE_SCHEMA_H

#include <sqlite3.h>

#include "features/requests/rows.h"
#include "features/tasks/rows.h"

/*
 * The one description of a recording's tables (see docs/file-format.md). It gives the SQL of each table, writing,
 * reading, the checks of profile_check(), and how two rows merge. The reader compares the SQL with the file's, byte
 * by byte, so no forged column, constraint or expression is evaluated.
 */

/* In reading order: rows refer only to earlier tables. */
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
	COLUMN_NUMBER,	/* an unsigned member of any size */
	COLUMN_NS,	/* likewise, up to PROFILE_NS_MAX */
	COLUMN_FLAG,	/* a bool */
	COLUMN_BITS,	/* any 64 bits */
	COLUMN_TEXT,	/* a string of the profile */
	COLUMN_STRING,	/* likewise, stored as its id in the table of strings; NULL for NULL */
	COLUMN_STATE,	/* a letter */
	COLUMN_HIST,	/* PROFILE_HIST_SLOTS counts */
	COLUMN_ID,	/* the index of a row of the table `of` */
	COLUMN_WINDOW,	/* no member: the id of the only window */
	COLUMN_BLOB,
	COLUMN_ODD,	/* handled by its put() and get() */
};

/* How the column of two merged rows is computed. */
enum column_merge {
	MERGE_KEEP,	/* keep the first, or the caller merges it */
	MERGE_LAST,	/* take the added row's */
	MERGE_SUM,	/* the table's total must fit in 63 bits */
	MERGE_MAX,
	MERGE_ERROR,	/* standard errors of independent sums: variances add */
	MERGE_HIST,	/* PROFILE_HIST_SLOTS sums */
};

struct reader;
struct table_writer;

struct column {
	const char *name, *note;
	enum column_kind kind;
	enum column_merge merge;
	bool adds_on;		/* its total over the table includes that of the column before */
	uint8_t bytes;		/* size of the member */
	uint16_t at;
	uint16_t known;		/* offset of a bool in the row: false stores NULL; 0: always stored */
	enum table_id of;
	bool is_nullable;	/* 0 (for text: NULL) is stored as NULL */
	bool plus_1;		/* the member is index + 1; 0 is stored as NULL */
	bool may_be_many;	/* of a state: '?' is allowed */
	bool is_text;		/* a COLUMN_ODD stored as text */
	uint64_t max;		/* 0: the limit of the kind or size */
	void (*put)(struct table_writer *w, const void *row);
	void (*get)(struct reader *r, int column, void *row);
};

/* Position of an iteration. All 0: the begin. */
struct table_at {
	guint i, k;
};

struct profile_table {
	const char *name, *note;
	const char *id_note;
	const struct column *columns;	/* without the id */
	unsigned column_cnt;
	int64_t first_id;		/* -1: rows have no id */
	int64_t min_rows, max_rows;	/* max_rows 0: PROFILE_ROWS_MAX */
	size_t row_bytes;
	/* where the rows are: the offset of a GArray in the profile, or of one in its info, or next() makes them */
	size_t array;
	bool is_of_info;
	size_t info_at;
	bool (*next)(const struct profile *p, struct table_at *at, void *ret_row);
	/* Adds the row and returns its id. NULL: it is appended to the array. It may call row_wrong_at(). */
	uint32_t (*add)(struct reader *r, const void *row);
	/* for tables with code of their own */
	const char *sql;
	int (*write)(sqlite3 *db, const struct profile *p);
	void (*read)(struct reader *r);
};

extern const struct profile_table profile_tables[TABLE_CNT];

/* The number in the row's column, and the limit of such numbers. */
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
/* Is the state allowed in the column? '?' is for recordings with unknown states. */
bool column_has_state(const struct column *c, const struct profile *p, char state);

/* The array of its rows. NULL: they are not in an array. */
static inline GArray *profile_table_rows(const struct profile_table *t, const struct profile *p)
{
	return t->array ? *(GArray *const *)((const char *)p + t->array) : NULL;
}

/* Merges `row` into `into`, a row of the same table. Sums saturate. */
void profile_merge_row(enum table_id id, void *into, const void *row);
/* Makes the row's texts strings of p. `row` is the info or a row of p. */
void profile_own_texts(struct profile *p, enum table_id id, void *row);

/* Exactly as SQLite stores it: without surrounding blank lines and semicolon. Free with g_free(). */
char *profile_table_sql(const struct profile_table *t);

/* For use in the sqlite3 shell. The reader ignores them, so they may change. */
extern const char profile_views[];

#define PROFILE_WINDOW_ID 1	/* id of the only window of a recording */

/* Rows of tables that are not arrays of the profile. */
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
