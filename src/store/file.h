/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "store/line.h"
#include "store/merge.h"

/* The files of a history: which there are, and how they are called (docs/history.md). */

enum store_tier { TIER_WINDOW, TIER_MINUTE, TIER_HOUR, TIER_CNT };
uint64_t tier_step_ns(enum store_tier tier);

struct store_name {
	int64_t day;		/* since 1970, UTC: of the starts of its windows */
	enum store_tier tier;
	uint32_t part;		/* a day that is too large for one file has several */
	bool is_ended;		/* of store_list(): there is a later part, so nobody writes to this one any more */
};

#define STORE_NS_A_DAY (UINT64_C(86400) * 1000 * 1000 * 1000)
static inline int64_t store_day_of(uint64_t unix_ns)
{
	return (int64_t)(unix_ns / STORE_NS_A_DAY);
}

/* "DIR/2026-11-25.10s.db"; free with g_free(). */
char *store_path(const char *dir, const struct store_name *name);
int store_name_compare(gconstpointer a, gconstpointer b);	/* tier, day, part */
/*
 * struct store_name, by tier, day and part; what has another name is none of ours.  NULL with a sentence: there is no
 * such folder.
 */
GArray *store_list(const char *dir, GError **error);
/* Of the file and what SQLite has beside it; 0: there is none. */
uint64_t store_file_bytes(const char *path);
/* Removes it and what SQLite has beside it. */
void store_file_unlink(const char *path);

/* One file of a history: an SQLite database (docs/history.md). */

#define STORE_FILE_VERSION 1
#define STORE_FILE_APPLICATION_ID 0x6f666368	/* "ofch" */

/* A window, or the sum of some that follow one another. */
struct store_row {
	struct store_name in;
	uint64_t seq, last_seq;	/* windows are numbered as they came: those that it is the sum of */
	uint64_t start_unix_ns, duration_ns;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	void *line;		/* only where asked for; NULL: none */
	uint32_t line_bytes;
};
static inline uint64_t store_row_end_ns(const struct store_row *r)
{
	return r->start_unix_ns + r->duration_ns;
}
GArray *store_rows_new(void);	/* struct store_row, lines are freed with it */

struct store_gap {
	uint64_t from_unix_ns, to_unix_ns;
	char *why;
};
GArray *store_gaps_new(void);	/* struct store_gap */

struct store_file;

/*
 * To read, without write access to anything.  *ret_is_missing: there is none (yet, or any more), which is no sentence.
 */
struct store_file *store_file_open(const char *dir, const struct store_name *name, bool *ret_is_missing,
				   GError **error);
/* To write, made where there is none: only for who holds the lock of the folder. */
struct store_file *store_file_create(const char *dir, const struct store_name *name, GError **error);
/* A file that was written to becomes one that needs nothing beside it. */
void store_file_close(struct store_file *f);	/* NULL is fine */
const struct store_name *store_file_name(const struct store_file *f);
/* How much a writer's dictionary is: rows of all its tables. */
uint64_t store_file_dict_rows(const struct store_file *f);
/* Its dictionary is in memory, megabytes of a busy host: not until something is written again. */
void store_file_rest(struct store_file *f);

/* Appends the rows that overlap [from, to), or with seq above `above_seq` where from and to are 0; by seq. */
bool store_file_rows(struct store_file *f, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t above_seq,
		     bool want_lines, GArray *rows, GError **error);
bool store_file_gaps(struct store_file *f, uint64_t from_unix_ns, uint64_t to_unix_ns, GArray *gaps, GError **error);
/* The lowest seq and the highest last_seq; 0: none. */
bool store_file_first_seq(struct store_file *f, uint64_t *ret_seq, GError **error);
bool store_file_last_seq(struct store_file *f, uint64_t *ret_seq, GError **error);
/* Names that lines refer to: char *, by number - 1. */
const GPtrArray *store_file_names(struct store_file *f, GError **error);
/*
 * A row's window, which shares all but its rows with *with and adds to it: to be freed by profile_free_rows() before
 * that is.  The same `with` must not be freed while other windows of the file are read.
 */
struct profile *store_file_read(struct store_file *f, uint64_t seq, struct profile *with, GError **error);
/*
 * Cells of a row, unpacked: free with g_free().  NULL without a sentence: it has none, as there
 * are too many.
 */
uint8_t *store_file_cells(struct store_file *f, uint64_t seq, size_t *ret_bytes, GError **error);
/* The same of its requests; NULL without a sentence: it has none. */
uint8_t *store_file_requests(struct store_file *f, uint64_t seq, size_t *ret_bytes, GError **error);
/* Before `with` is freed and the file is read for another profile. */
void store_file_leave(struct store_file *f);
/* Adds a row's window to the sum. */
bool store_file_load(struct store_file *f, uint64_t seq, struct merger *into, GError **error);

/*
 * One transaction.  After a failure the file is of no use: close it, and open it again.  cells NULL: none are known.
 * requests NULL: it has none.
 */
bool store_file_add(struct store_file *f, const struct store_row *row, const struct profile *window,
		    const struct line_sums *line, const struct cells *cells, struct request_cells *requests,
		    GError **error);
bool store_file_add_gap(struct store_file *f, const struct store_gap *gap, GError **error);

/* What stands beside a row of the history, and sums of it. */
struct small_rows {
	struct line_sums *line;
	struct cells *cells;	/* NULL: a row has none */
	struct request_cells *requests;	/* NULL: no row has any */
};

/*
 * Adds what stands beside a row of f; names: of that file.  Cells become NULL where the row has none that can be read;
 * what of its requests cannot be read is left out.  False: its line is damaged.
 */
bool small_rows_add(struct small_rows *sums, struct store_file *f, const struct store_row *row, const GPtrArray *names);
void small_rows_free(struct small_rows *sums);	/* what they point to */

/* Which rows of a history make up a range. */
struct store_choice {
	char *dir;
	GArray *rows;		/* struct store_row, by seq: no window is in two of them */
	GArray *gaps;		/* struct store_gap */
	GPtrArray *files;	/* struct store_file, those that rows are in */
};

/*
 * Rows whose sum is the windows that overlap [from, to): the coarsest that lie within and are no longer than step_ns,
 * for they hold the same and are read quicker; finer ones at the edges; and where those are gone whatever is left,
 * beyond the edges.
 */
struct store_choice *store_choose(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				  bool want_lines, GError **error);
void store_choice_free(struct store_choice *c);	/* NULL is fine */
struct store_file *store_choice_file(const struct store_choice *c, const struct store_row *row);

#endif
