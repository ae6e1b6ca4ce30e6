/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * The history of a host: windows one behind the other in a folder of SQLite files (docs/history.md).  A day has a file
 * of windows, one of minutes and one of hours, which are exact sums of windows that follow one another.  One process
 * writes; any number read meanwhile, without write access to anything.
 */

#define STORE_DIR_DEFAULT "/var/lib/offcpu"
#define STORE_PREEMPTED_STACKS 4	/* as the agent has it */
/*
 * On a disk with less left nothing is tried.  SQLite maps the index of its log (-shm), parts of which can be holes where
 * blocks are smaller than pages or are written anew each time: a write to one for which there is no block is a SIGBUS.
 */
#define STORE_ROOM_MIN_BYTES (UINT64_C(256) << 10)

struct store_options {
	const char *dir;	/* NULL: STORE_DIR_DEFAULT */
	uint64_t max_bytes;	/* of all files together; 0: 512 MiB */
	/* in minutes and hours, too, each thread that ended is a row of its own (store/short_lived.h) */
	bool keep_ended;
	/*
	 * of a thread and window that are told apart: see merge_coarse(); 0: all, and all digits of what was sampled
	 */
	unsigned preempted_stacks;
	uint32_t window_hours, minute_days, hour_days;	/* how long windows, minutes, hours are kept; 0: 24, 35, 400 */
};

struct store;

/* The writer: one process at a time, which flock() holds.  Makes the folder (0750).  NULL with a sentence. */
struct store *store_open(const struct store_options *options, GError **error);
/*
 * One window, one transaction; then sums up what is complete and unlinks what is too old or too much.  The profile may
 * share everything with a session (session_cut()).  Windows follow one another where the start_ns of one is the end of
 * the last one; whatever start_unix_ns says, nothing is overwritten.  Chains of wakers and slices are not kept.  A row
 * of threads with tid 0 stands for several: from_ns to to_ns is the sum of what they were observed.  False with a
 * sentence: nothing of the window is kept, the next one may succeed.  reasons: of the window, where the caller has
 * them, and then the window is one by itself (merge_copy()).
 */
bool store_add(struct store *s, const struct profile *window, const struct reasons *reasons, GError **error);
/* A pause that is to be seen as one: the agent was not there, the host was suspended, a window was lost. */
bool store_add_gap(struct store *s, uint64_t from_unix_ns, uint64_t to_unix_ns, const char *why, GError **error);
/*
 * A file that was damaged, and under which name it was put aside: a sentence, once for each; NULL: none.  Free with
 * g_free().
 */
char *store_take_warning(struct store *s);
void store_close(struct store *s);	/* NULL is fine */

/*
 * What there is.  False with a sentence, also where there is nothing yet.  dir NULL: STORE_DIR_DEFAULT, as with all of
 * these.
 */
struct store_extent {
	uint64_t from_unix_ns, to_unix_ns;
	uint64_t windows;	/* that are kept by themselves */
	uint64_t bytes;
};
bool store_extent(const char *dir, struct store_extent *ret, GError **error);

/*
 * All windows that overlap [from, to), as one profile that every view takes.  Minutes and hours that lie within are
 * read in their place, and also at the edges where windows are gone: info.start_unix_ns is the start of the first one
 * that was found, duration_ns the time that was observed, without gaps, which are losses called "gap".  With more rows
 * of waits and samples than STORE_ROWS_TOLD, threads that are not there at its end are told by name: times stay exact
 * sums.  Free with profile_free().  NULL with a sentence.
 */
#define STORE_ROWS_TOLD 200000
struct profile *store_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, GError **error);

/*
 * Of services "(no service)" and "(kernel)" are two.  Idle time (docs/reasons.md) is a class of its own, and in no
 * other group.
 */
enum store_by {
	STORE_BY_CLASS, STORE_BY_PROCESS, STORE_BY_SERVICE, STORE_BY_REASON,
	/* of single waits: names are the lower bounds of histograms' slots, in nanoseconds; only of a part */
	STORE_BY_DURATION,
	STORE_BY_CNT
};

#define STORE_SERIES_OTHERS "(others)"	/* "other" is a reason */
/* Time of threads by group in the steps of a time line. */
struct store_series {
	char *name;
	uint64_t *ns;		/* one a step */
};
struct store_line {
	uint64_t from_unix_ns, step_ns;
	uint32_t steps;
	GArray *series;		/* struct store_series, largest first; then STORE_SERIES_OTHERS where there are more */
	uint8_t *is_gap;	/* one a step: not half of it was observed */
};
/*
 * Read from windows, or from minutes or hours where a step is as long as that: at most 100,000 steps.  What a window
 * holds is spread evenly over its time.  NULL with a sentence.
 */
struct store_line *store_line_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				   enum store_by by, unsigned series_max, GError **error);
/*
 * A part of it.  What is chosen by process, service and reason windows tell by themselves.  For all else, and of a
 * window that does not tell it, rows are unpacked, at most STORE_PART_ROWS_MAX windows, minutes or hours: coarser ones
 * than the step where those are too many.  STORE_ERROR_TOO_MUCH: so are hours.
 */
#define STORE_PART_ROWS_MAX 800
typedef struct selection *(*store_select_fn)(void *ctx, const struct profile *p, GError **error);
typedef bool (*store_wants_fn)(void *ctx, const char *name);
struct store_part {
	store_wants_fn wants_process, wants_service;	/* NULL: all */
	const bool *reasons;		/* of each whether it is wanted; NULL: all */
	bool needs_rows;		/* more is chosen than that */
	store_select_fn select;		/* all that, of rows; NULL with a sentence ends it */
	void *ctx;
};
struct store_line *store_line_read_part(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
					enum store_by by, unsigned series_max, const struct store_part *part,
					GError **error);
void store_line_free(struct store_line *l);	/* NULL is fine */

#endif
