/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * The history of a host: consecutive windows in a folder of SQLite files (docs/history.md).  A day has a file of
 * windows, one of minutes and one of hours.  Minutes and hours are exact sums of consecutive windows.  One process
 * writes; any number read at the same time, without write access to anything.
 */

#define STORE_DIR_DEFAULT "/var/lib/offcpu"
#define STORE_PREEMPTED_STACKS 4	/* the agent's setting */
/*
 * With less free space on the disk, nothing is written.  SQLite maps its log's index (-shm), which may have holes on
 * file systems with small blocks or copy-on-write.  Writing to a hole on a full disk raises SIGBUS.
 */
#define STORE_ROOM_MIN_BYTES (UINT64_C(256) << 10)

struct store_options {
	const char *dir;	/* NULL: STORE_DIR_DEFAULT */
	uint64_t max_bytes;	/* of all files together; 0: 512 MiB */
	/* minutes and hours keep a row for each ended thread, too (store/short_lived.h) */
	bool keep_ended;
	/*
	 * preempted stacks to keep per thread and window, see merge_coarse(); 0: keep all, and do not round sampled
	 * numbers
	 */
	unsigned preempted_stacks;
	uint32_t window_hours, minute_days, hour_days;	/* how long to keep windows, minutes, hours; 0: 24, 35, 400 */
};

struct store;

/* Opens for writing; flock() admits one process.  Creates the folder (0750).  NULL on error. */
struct store *store_open(const struct store_options *options, GError **error);
/*
 * Adds one window in one transaction; then sums up complete minutes and hours, and deletes what is too old or too
 * much.  The profile may share everything with a session (session_cut()).  A window follows another if its start_ns is
 * the other's end.  Nothing is ever overwritten, whatever start_unix_ns says.  Chains of wakers and slices are not
 * kept.  A thread row with tid 0 stands for several threads: from_ns to to_ns is the sum of their observed times.
 * `reasons` are the window's, if known; the window must then be self-contained (merge_copy()).  False on error:
 * nothing of the window was kept, the next one may succeed.
 */
bool store_add(struct store *s, const struct profile *window, const struct reasons *reasons, GError **error);
/* Records a pause: the agent was not running, the host was suspended, a window was lost. */
bool store_add_gap(struct store *s, uint64_t from_unix_ns, uint64_t to_unix_ns, const char *why, GError **error);
/* The next warning about a damaged file and its new name, each once; NULL: none.  Free with g_free(). */
char *store_take_warning(struct store *s);
void store_close(struct store *s);	/* NULL is fine */

/* What there is.  False on error, also if the history is empty.  dir NULL: STORE_DIR_DEFAULT, here and below. */
struct store_extent {
	uint64_t from_unix_ns, to_unix_ns;
	uint64_t windows;	/* stored individually */
	uint64_t bytes;
};
bool store_extent(const char *dir, struct store_extent *ret, GError **error);

/*
 * All windows that overlap [from, to), merged into one profile for any view.  Minutes and hours replace windows within
 * the range, and at its edges where windows have expired.  info.start_unix_ns is the start of the first window found,
 * duration_ns the observed time.  Gaps are losses called "gap".  With more than STORE_ROWS_TOLD waits and samples,
 * threads that have ended by then are merged by name; times stay exact sums.  Free with profile_free().  NULL on
 * error.
 */
#define STORE_ROWS_TOLD 200000
struct profile *store_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, GError **error);

/*
 * Services include "(no service)" and "(kernel)".  Idle time (docs/reasons.md) is a class of its own and in no other
 * group.
 */
enum store_by {
	STORE_BY_CLASS, STORE_BY_PROCESS, STORE_BY_SERVICE, STORE_BY_REASON,
	/*
	 * durations of single waits: names are lower bounds of histogram slots in nanoseconds; only with a selection
	 */
	STORE_BY_DURATION,
	STORE_BY_CNT
};

#define STORE_SERIES_OTHERS "(others)"	/* not "other", which is a reason */
/* A group's time in each step of a time line. */
struct store_series {
	char *name;
	uint64_t *ns;		/* per step */
};
struct store_line {
	uint64_t from_unix_ns, step_ns;
	uint32_t steps;
	GArray *series;		/* struct store_series, largest first; STORE_SERIES_OTHERS last, if there are more */
	uint8_t *is_gap;	/* per step: less than half was observed */
};
/*
 * Reads windows, or minutes or hours if a step is as long as these; at most 100,000 steps.  A window's time is spread
 * evenly over it.  NULL on error.
 */
struct store_line *store_line_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				   enum store_by by, unsigned series_max, GError **error);
/*
 * A selection.  By process, service and reason the small rows stored with windows answer.  Otherwise, or for a window
 * without these, rows are unpacked: at most STORE_PART_ROWS_MAX windows, minutes or hours.  If there are more, coarser
 * rows than the step are used.  STORE_ERROR_TOO_MUCH: too many hours.
 */
#define STORE_PART_ROWS_MAX 800
typedef struct selection *(*store_select_fn)(void *ctx, const struct profile *p, GError **error);
typedef bool (*store_wants_fn)(void *ctx, const char *name);
struct store_part {
	store_wants_fn wants_process, wants_service;	/* NULL: all */
	const bool *reasons;		/* for each reason whether to include it; NULL: all */
	bool needs_rows;		/* the selection has more criteria */
	store_select_fn select;		/* applies the selection to rows; returning NULL with *error set aborts */
	void *ctx;
};
struct store_line *store_line_read_part(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
					enum store_by by, unsigned series_max, const struct store_part *part,
					GError **error);
void store_line_free(struct store_line *l);	/* NULL is fine */

#endif
