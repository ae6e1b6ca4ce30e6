/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_PACK_HIST_H
#define STORE_PACK_HIST_H

#include "base/cursor.h"
#include "profile/profile.h"

/*
 * Histograms as bytes, in two columns: which slots there are, from the longest down, and how many are in each but the
 * last, which takes what is left of `count`.  top: the slot of the longest that is expected.  One that does not add up
 * is in the first column alone.
 */
void pack_hist_shape(GByteArray *into, const uint32_t *hist, uint64_t count, unsigned top);
void pack_hist_counts(GByteArray *into, const uint32_t *hist, uint64_t count);

/* True: its counts follow in the other column; slots that there are hold 1 meanwhile. */
bool unpack_hist_shape(struct cursor *c, uint32_t *hist, uint64_t count, unsigned top);
void unpack_hist_counts(struct cursor *c, uint32_t *hist, uint64_t count);

#endif
