/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_SLICES_ROWS_H
#define FEATURES_SLICES_ROWS_H

#include "profile/profile.h"

/*
 * When the time of a recording was spent. The window is cut into slices of one length. A wait's time counts in the
 * slices that it lies in; its count and duration in the slice in which it ends. Over all slices the parts of a row
 * add up to it: to the nanosecond, and exactly in counts if nothing was sampled.
 *
 * Views of a time range need none of this: profile_cut() makes a profile of the range.
 */
#define SLICES_MAX 600
#define SLICE_DEFAULT_NS (UINT64_C(100) * 1000 * 1000)
#define SLICE_MIN_NS (UINT64_C(10) * 1000 * 1000)
#define SLICE_COUNT_Q8 256 /* counts are in units of 1/256 wait, because a sampled wait stands for several */

/* Recordings without slices have none; the other functions require slices. */
bool profile_has_slices(const struct profile *p);
/* The length of all slices but the last, which ends with the window and may be shorter, or up to twice as long. */
uint64_t profile_slice_ns(const struct profile *p);
uint32_t profile_slice_cnt(const struct profile *p);

/* The number of durations in [2^slot, 2^(slot + 1)) ns: see PROFILE_HIST_SLOTS. */
struct slice_bar {
	uint8_t slot;
	uint64_t count_q8;
};

/* The part of a wait row in a slice. A row may have several parts in a slice, which add up. */
struct slice_part {
	uint32_t wait;		/* index of the row */
	/* index + 1 of the wake that ended these; 0: unknown, or not recorded */
	uint32_t wake;
	uint64_t blocked_ns, runnable_ns, preempted_ns;	/* within the slice */
	uint64_t count_q8;	/* waits that ended in it */
	uint64_t max_ns;	/* the longest of these; rounded up by at most 1/256 if there are several */
	unsigned bar_cnt;
	const struct slice_bar *bars;	/* of their durations; add up to count_q8 */
};

/* Calls fn with each part. Slices come in no order: a wait across several slices is reported when it ends. */
typedef void (*slice_part_fn)(uint32_t slice, const struct slice_part *part, void *data);
void profile_slices_visit(const struct profile *p, slice_part_fn fn, void *data);

/* The total of a slice. */
struct slice_total {
	uint64_t from_ns, to_ns;	/* since the window's start */
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint64_t count;			/* of waits that ended in it */
	uint64_t hist[PROFILE_HIST_SLOTS];	/* of their durations; adds up to count */
};

/* Totals of each of profile_slice_cnt() slices, of flagged waits (a flag per row; NULL: all). Free with g_free(). */
struct slice_total *profile_slice_totals(const struct profile *p, const bool *waits);

/*
 * Reduces the profile to [from_ns, to_ns) since the window's start, widened to whole slices; info.range has the
 * result. Threads that did not live then are removed, as are waits without any time or end in it; ids change. A
 * thread's on-CPU time is what its waits leave of the range. If waits were filtered, lost or sampled, it is an
 * estimate and info.range says so. Chains of wakers, blame and storms are known only for the whole window and are
 * dropped. False with an error if the recording has no slices, or the range is empty or outside of the window.
 */
bool profile_cut(struct profile *p, uint64_t from_ns, uint64_t to_ns, GError **error);

#endif
