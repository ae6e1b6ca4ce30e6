/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "store/line.h"
#include "store/merge.h"

/* The files of a history: names and listing (docs/history.md). */

enum store_tier { TIER_WINDOW, TIER_MINUTE, TIER_HOUR, TIER_CNT };
uint64_t tier_step_ns(enum store_tier tier);

struct store_name {
	int64_t day;		/* day of the first window, since 1970, UTC */
	enum store_tier tier;
	uint32_t part;		/* a day too large for one file is split into several */
	bool is_ended;		/* set by store_list(): a later part exists, so nobody writes to this one any more */
};

#define STORE_NS_A_DAY (UINT64_C(86400) * 1000 * 1000 * 1000)
static inline int64_t store_day_of(uint64_t unix_ns)
{
	return (int64_t)(unix_ns / STORE_NS_A_DAY);
}

/* "DIR/2026-11-25.10s.db"; free with g_free(). */
char *store_path(const char *dir, const struct store_name *name);
int store_name_compare(gconstpointer a, gconstpointer b);	/* by tier, day and part */
/*
 * All struct store_name, sorted by store_name_compare().  Skips files with other names.  NULL on error: no such
 * folder.
 */
GArray *store_list(const char *dir, GError **error);
/* Size of the file with SQLite's -wal, -shm and -journal; 0: no such file. */
uint64_t store_file_bytes(const char *path);
/* Removes the file with SQLite's -wal, -shm and -journal. */
void store_file_unlink(const char *path);

/* One file of a history: an SQLite database (docs/history.md). */

#define STORE_FILE_VERSION 1
#define STORE_FILE_APPLICATION_ID 0x6f666368	/* "ofch" */

/* A window, or the sum of several consecutive windows. */
struct store_row {
	struct store_name in;
	uint64_t seq, last_seq;	/* windows are numbered in order of arrival: the first and last one in this sum */
	uint64_t start_unix_ns, duration_ns;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	void *line;		/* set only if asked for; NULL: none */
	uint32_t line_bytes;
};
static inline uint64_t store_row_end_ns(const struct store_row *r)
{
	return r->start_unix_ns + r->duration_ns;
}
GArray *store_rows_new(void);	/* struct store_row; frees their lines too */

struct store_gap {
	uint64_t from_unix_ns, to_unix_ns;
	char *why;
};
GArray *store_gaps_new(void);	/* struct store_gap */

struct store_file;

/*
 * Opens for reading, without write access to anything.  *ret_is_missing: there is no such file, which is not an error.
 */
struct store_file *store_file_open(const char *dir, const struct store_name *name, bool *ret_is_missing,
				   GError **error);
/* Opens for writing and creates the file if needed.  The caller must hold the folder's lock. */
struct store_file *store_file_create(const char *dir, const struct store_name *name, GError **error);
/* A written file is closed such that it needs no -wal beside it. */
void store_file_close(struct store_file *f);	/* NULL is fine */
const struct store_name *store_file_name(const struct store_file *f);
/* Size of a writer's dictionary: rows of all its tables. */
uint64_t store_file_dict_rows(const struct store_file *f);
/* Frees the dictionary, megabytes on a busy host, until the next write. */
void store_file_rest(struct store_file *f);

/* Appends the rows that overlap [from, to), sorted by seq.  If from and to are 0: those with seq above `above_seq`. */
bool store_file_rows(struct store_file *f, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t above_seq,
		     bool want_lines, GArray *rows, GError **error);
bool store_file_gaps(struct store_file *f, uint64_t from_unix_ns, uint64_t to_unix_ns, GArray *gaps, GError **error);
/* The lowest seq and the highest last_seq; 0: none. */
bool store_file_first_seq(struct store_file *f, uint64_t *ret_seq, GError **error);
bool store_file_last_seq(struct store_file *f, uint64_t *ret_seq, GError **error);
/* Names that lines refer to: char *, at number - 1. */
const GPtrArray *store_file_names(struct store_file *f, GError **error);
/*
 * Reads a row's window.  It shares all but its rows with *with and adds to it: free it with profile_free_rows() before
 * `with`.  `with` must outlive all reads of the file.
 */
struct profile *store_file_read(struct store_file *f, uint64_t seq, struct profile *with, GError **error);
/* A row's uncompressed cells: free with g_free().  NULL without error: too many to be stored. */
uint8_t *store_file_cells(struct store_file *f, uint64_t seq, size_t *ret_bytes, GError **error);
/* The same for its requests; NULL without error: it has none. */
uint8_t *store_file_requests(struct store_file *f, uint64_t seq, size_t *ret_bytes, GError **error);
/* Call it before `with` is freed and before reading for another profile. */
void store_file_leave(struct store_file *f);
/* Adds a row's window to the sum. */
bool store_file_load(struct store_file *f, uint64_t seq, struct merger *into, GError **error);

/* One transaction.  If it fails, close the file and open it again.  cells NULL: unknown.  requests NULL: none. */
bool store_file_add(struct store_file *f, const struct store_row *row, const struct profile *window,
		    const struct line_sums *line, const struct cells *cells, struct request_cells *requests,
		    GError **error);
bool store_file_add_gap(struct store_file *f, const struct store_gap *gap, GError **error);

/* The cells and requests of a row, or their sums. */
struct small_rows {
	struct line_sums *line;
	struct cells *cells;	/* NULL: at least one row has none */
	struct request_cells *requests;	/* NULL: no row has any */
};

/*
 * Adds a row of f; `names` belong to f.  Cells become NULL if this row's cannot be read.  Unreadable requests are left
 * out.  False: its line is damaged.
 */
bool small_rows_add(struct small_rows *sums, struct store_file *f, const struct store_row *row, const GPtrArray *names);
void small_rows_free(struct small_rows *sums);	/* frees the members */

/* The rows of a history that make up a range. */
struct store_choice {
	char *dir;
	GArray *rows;		/* struct store_row, by seq; no window is in two of them */
	GArray *gaps;		/* struct store_gap */
	GPtrArray *files;	/* struct store_file that the rows are in */
};

/*
 * Rows whose sum is the windows that overlap [from, to).  Prefers the coarsest rows that lie within and are not longer
 * than step_ns, since these are read faster; finer ones at the edges.  Where those are gone, takes what is left, even
 * if it reaches beyond the edges.
 */
struct store_choice *store_choose(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				  bool want_lines, GError **error);
void store_choice_free(struct store_choice *c);	/* NULL is fine */
struct store_file *store_choice_file(const struct store_choice *c, const struct store_row *row);

#endif
