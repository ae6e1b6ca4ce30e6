/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_SLICES_H
#define FOLD_SLICES_H

#include "abi/offcpu_abi.h"
#include "profile/profile.h"

/*
 * When the kernel's sums of waits were spent: they come apart by slices of the window, waits that cross a slice's edge
 * each for itself.  Rows are the entries of `struct sums`, and then the waits that were open as the window ended.
 */
struct fold_slices;

/* slice_ns: as the programs were told; start_ns: of the window. */
struct fold_slices *fold_slices_new(uint64_t slice_ns, uint64_t start_ns);
void fold_slices_free(struct fold_slices *f);	/* NULL is fine */

/*
 * What is added from here on ended before now_ns, and not long before: the kernel's numbers of slices are short.
 * Slices become longer where there would be too many of them, or too much in them for so many rows.
 */
void fold_slices_now(struct fold_slices *f, uint64_t now_ns, size_t row_cnt);
/* How many slices of the kernel's are one by now, as a power of two. */
unsigned fold_slices_shift(const struct fold_slices *f);
/* How long one is by now. */
uint64_t fold_slices_length_ns(const struct fold_slices *f);

/* When its waits began at the latest, but for less than a slice. */
uint64_t fold_slices_when(const struct fold_slices *f, const struct offcpu_wait_slot *slot);
void fold_slices_add(struct fold_slices *f, size_t row, const struct offcpu_wait_slot *slot);
/* One wait up to end_ns. */
struct fold_open_wait {
	uint64_t end_ns, blocked_ns, runnable_ns, preempted_ns;
};

/* Where the sums went in the profile, one after the other; wake: index + 1, 0: none. */
void fold_slices_tell(struct fold_slices *f, uint32_t wait, uint32_t wake);
/*
 * Then what is no sum: an open wait; and a row of waits of which it is not known when in the thread's life they
 * were.
 */
void fold_slices_add_open(struct fold_slices *f, const struct fold_open_wait *open, uint32_t wait, uint32_t wake);
void fold_slices_add_even(struct fold_slices *f, uint32_t wait);
/* Gives the profile its slices, once its waits and window are final. */
void fold_slices_finish(struct fold_slices *f, struct profile *p);

#endif
