/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * The history of one host: a directory of SQLite files, one a UTC day and resolution.  A writer appends windows in the order of time;
 * readers, in the same or in other processes, read any range meanwhile.  Windows are summed to minutes and hours, exactly.
 * All times are nanoseconds of CLOCK_REALTIME.  What is read back is untrusted: a damaged file is an error, never a crash.
 */

#define STORE_DIRECTORY "/var/lib/offcpu"

#define STORE_ERROR store_error_quark()
GQuark store_error_quark(void);
enum store_error {
	STORE_ERROR_FAILED,
	STORE_ERROR_FULL,	/* no room on the disk: the window is lost, the store is as it was */
	STORE_ERROR_DAMAGED,
	STORE_ERROR_EMPTY,	/* nothing was recorded in the range */
};

enum store_tier {
	STORE_WINDOWS = 0,	/* as they were appended */
	STORE_MINUTES,
	STORE_HOURS,
	STORE_TIER_COUNT
};

/* 0 in each: no limit.  The file that is written to is never removed. */
struct store_limits {
	uint64_t max_bytes;			/* of all files */
	uint64_t keep_ns[STORE_TIER_COUNT];
};

/* The service a thread belongs to, or NULL; what is returned need live until the next call only. */
typedef const char *(*store_service_fn)(const struct thread *t, void *data);

struct store;

/* For writing the directory is made if need be (mode 0750) and locked against other writers. */
struct store *store_open(const char *directory, bool for_write, GError **error);
void store_close(struct store *s);	/* NULL is fine */
void store_set_limits(struct store *s, const struct store_limits *limits);

/*
 * Appends a window in one transaction: window->info.start_unix_ns and duration_ns say when it was.  Threads that began and ended in it
 * are folded into one row for each process, name and service, with thread id 0.  On failure nothing was written.
 */
bool store_append(struct store *s, const struct profile *window, store_service_fn service, void *data, GError **error);

/* NULL or "" in each: all.  Globs. */
struct store_filter {
	const char *process, *comm, *service;
	uint32_t pid;	/* 0: all */
};

/*
 * Everything that was recorded in [from_ns, to_ns), as one profile; the caller's.  A window counts where its middle lies; where the range
 * is so short that it holds no middle, the windows that it touches.  Hours and minutes stand for the windows they were summed of.  Gaps are
 * told as the loss "history_gap".  Times of threads and info.start_ns are those of CLOCK_REALTIME.  NULL: nothing there, or an error.
 */
struct profile *store_read(struct store *s, uint64_t from_ns, uint64_t to_ns, const struct store_filter *filter, GError **error);

/* A stretch of time without gaps. */
struct store_range {
	uint64_t from_ns, to_ns;
	uint32_t windows_cnt;
};
/* In the order of time; free with g_array_unref(). */
GArray *store_ranges(struct store *s, GError **error);

enum store_by { STORE_BY_REASON = 0, STORE_BY_PROCESS, STORE_BY_SERVICE, STORE_BY_COUNT };

/* What of a step of the time line belongs to a reason ("lock.mutex"), process or service.  Rounded to 1 us a window; idle_ns to 1 ms. */
struct store_point {
	uint64_t at_ns;		/* start of the step */
	const char *name;	/* valid until store_close() */
	uint64_t off_cpu_ns;	/* but for what is idle */
	uint64_t idle_ns;
	uint64_t on_cpu_ns;	/* of processes and services; of reasons 0 */
};
/*
 * Reads no stacks.  step_ns 0: one a window.  Ordered by step, then by off_cpu_ns, descending; a step where nothing was recorded has no
 * points.  Free with g_array_unref().
 */
GArray *store_timeline(struct store *s, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns, enum store_by by, GError **error);

/* The longest wait under a stack in a window. */
struct store_exemplar {
	uint64_t from_ns, to_ns;	/* of the window that it ended in, or was cut in */
	uint64_t wait_ns;		/* as far as it lies in that window */
	uint32_t user, kernel;		/* stack nodes of the profile that came with it */
	uint32_t pid, tid;
	const char *comm;
	const char *waker;		/* name of who ended most waits of that row, or NULL; strings of the profile */
	uint32_t waker_pid, waker_tid;
	char state;
};
/*
 * One for each stack and window of the finest resolution there is; *ret_profile is as store_read() gives it and owns the stacks.
 * Longest first, at most max.
 */
GArray *store_exemplars(struct store *s, uint64_t from_ns, uint64_t to_ns, const struct store_filter *filter, guint max,
			struct profile **ret_profile, GError **error);

#endif
