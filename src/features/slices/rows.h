/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_SLICES_ROWS_H
#define FEATURES_SLICES_ROWS_H

#include "profile/profile.h"

/*
 * When the time of a recording was spent.  The window is cut into slices of one length.  A wait's time counts in the
 * slices that it lies in; as a wait, with its duration, it counts in the slice in which it ends.  Over all slices
 * the parts of a wait row add up to the row: to the nanosecond, and where nothing was sampled to the wait.
 *
 * Views of a time range need none of this: profile_cut() makes a profile of the range, and every view shows that.
 */
#define SLICES_MAX 600
#define SLICE_DEFAULT_NS (UINT64_C(100) * 1000 * 1000)
#define SLICE_MIN_NS (UINT64_C(10) * 1000 * 1000)
#define SLICE_COUNT_Q8 256 /* counts of parts are in units of 1 / 256 wait, since a sampled wait stands for several */

/* Recordings before schema 4 have none; the other functions are only for those that have. */
bool profile_has_slices(const struct profile *p);
/* Length of each but the last, which ends with the window: that may be shorter, or up to twice as long. */
uint64_t profile_slice_ns(const struct profile *p);
uint32_t profile_slice_cnt(const struct profile *p);

/* How many durations lie in [2^slot, 2^(slot + 1)) ns: see PROFILE_HIST_SLOTS. */
struct slice_bar {
	uint8_t slot;
	uint64_t count_q8;
};

/* What of one wait row lies in one slice.  A row may have several parts in a slice; they add up. */
struct slice_part {
	uint32_t wait;		/* index of the row */
	/* index + 1 of the row of the waker that ended these; 0: not known, or not asked for */
	uint32_t wake;
	uint64_t blocked_ns, runnable_ns, preempted_ns;	/* within the slice */
	uint64_t count_q8;	/* waits that ended in it */
	uint64_t max_ns;	/* the longest of these; rounded up by up to 1/256 where there are several */
	unsigned bar_cnt, delay_cnt;
	const struct slice_bar *bars;	/* of their durations, add up to count_q8 */
	const struct slice_bar *delays;	/* with a waker: of their runnable time */
};

/*
 * Calls fn with each part there is.  Slices come in no order: a wait of several slices is told with the one in which
 * it ends.
 */
typedef void (*slice_part_fn)(uint32_t slice, const struct slice_part *part, void *data);
void profile_slices_visit(const struct profile *p, slice_part_fn fn, void *data);

/* All of one slice. */
struct slice_total {
	uint64_t from_ns, to_ns;	/* since the window's start */
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint64_t count;			/* of waits that ended in it */
	uint64_t hist[PROFILE_HIST_SLOTS];	/* of their durations; adds up to count */
};

/* profile_slice_cnt() of them, of those waits alone (one flag a row; NULL: of all).  Free with g_free(). */
struct slice_total *profile_slice_totals(const struct profile *p, const bool *waits);

/*
 * Reduces the profile to [from_ns, to_ns) since the window's start, widened to whole slices: info.range says what it
 * became. Threads that did not live then, and waits without any time or end in it, are gone; ids change.  A thread's
 * time on CPU in it is what its waits leave of it; where waits were filtered, lost or sampled, its account is an
 * estimate and info.range says so. Chains of wakers, blame and storms are known of the whole window only and are
 * dropped.  False with one sentence when the recording has no slices, or the range is empty or outside of the
 * window.
 */
bool profile_cut(struct profile *p, uint64_t from_ns, uint64_t to_ns, GError **error);

#endif
