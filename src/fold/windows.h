/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_WINDOWS_H
#define FOLD_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"

/*
 * Accounts of single windows, where windows are cut.  The kernel never empties a thread's account: at each cut it
 * tells what that holds so far, and apart from it what goes on (bpf/cut.bpf.h).  A window's account is the difference
 * to the one of the cut before, and what went on.  What goes on is split at the cut: the kernel adds to the account
 * only what lies behind it.
 */
struct fold_windows;

struct fold_windows *fold_windows_new(void);
void fold_windows_free(struct fold_windows *w);	/* NULL is fine */

typedef void (*fold_windows_fn)(const struct offcpu_rec_thread *rec, void *data);

/*
 * Takes any record of a thread's account and calls back with the one of its window, as if that alone had been
 * recorded.  A record of what ended behind the edge is kept for the next window.
 */
void fold_windows_take(struct fold_windows *w, const struct offcpu_rec_thread *rec, fold_windows_fn take, void *data);

/* A thread that has slept on since the last cut: the record of this window.  False: that cut's is not known. */
bool fold_windows_take_still(struct fold_windows *w, const struct offcpu_rec_still *rec, fold_windows_fn take,
			     void *data);

/* From now on records are of this window if they end at edge_ns or before. */
void fold_windows_cut(struct fold_windows *w, uint64_t edge_ns);
/* The next window, of which some records have come already: calls back with them. */
void fold_windows_next(struct fold_windows *w, fold_windows_fn take, void *data);

#endif
