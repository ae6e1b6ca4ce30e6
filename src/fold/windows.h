/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_WINDOWS_H
#define FOLD_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"

/*
 * Computes the accounts of single windows. The kernel never resets a thread's account: at each cut it reports the
 * account so far, and separately the open interval (bpf/cut.bpf.h). A window's account is the difference from the
 * previous cut's plus the open interval. That is split at the cut: the kernel later adds only the part after it.
 */
struct fold_windows;

struct fold_windows *fold_windows_new(void);
void fold_windows_free(struct fold_windows *w);	/* NULL is fine */

typedef void (*fold_windows_fn)(const struct offcpu_rec_thread *rec, void *data);

/*
 * Takes a thread's account and calls back with that of its window, as if only the window had been recorded. A record
 * that ends after the edge is kept for the next window.
 */
void fold_windows_take(struct fold_windows *w, const struct offcpu_rec_thread *rec, fold_windows_fn take, void *data);

/* A thread that has slept since the last cut: its record of this window. False: that of the last cut is unknown. */
bool fold_windows_take_still(struct fold_windows *w, const struct offcpu_rec_still *rec, fold_windows_fn take,
			     void *data);

/* From now on records that end at or before edge_ns belong to this window. */
void fold_windows_cut(struct fold_windows *w, uint64_t edge_ns);
/* Begins the next window and calls back with its records that have already arrived. */
void fold_windows_next(struct fold_windows *w, fold_windows_fn take, void *data);

#endif
