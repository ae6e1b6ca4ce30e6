/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_PACK_H
#define STORE_PACK_H

#include "profile/profile.h"
#include "store/dict.h"

/*
 * The rows of a window as bytes (docs/history.md, "rows").  Numbers that follow from others take almost no space: a
 * thread's classes are the sums of its waits, a single wait is its own maximum.
 */

#define PACK_VERSION 1
#define PACK_ROWS_MAX (UINT32_C(1) << 20)	/* per table and window */

/*
 * Appends the rows.  Call it between dict_writer_begin() and dict_writer_end() of the same profile.  False on error:
 * too many rows.
 */
bool pack_rows(struct dict_writer *w, const struct profile *p, GByteArray *into, GError **error);
/*
 * Decodes into the empty `rows`, which share all else with the map's profile: see profile_new_rows().  False: invalid
 * bytes; discard `rows`.  Indices are then in range, but sums are unchecked.
 */
bool unpack_rows(struct dict_map *m, const uint8_t *bytes, size_t len_bytes, struct profile *rows);

/*
 * Rounds rows of sampled waits, which are estimates: to a quarter of their error, keeping at least three bits
 * (blob_round()).  Counts in histograms keep four bits, unless their duration was not sampled.  Exact sums stay exact:
 * the waits of a thread and state add up to the same time and number, wakings to at most their row (to all of it if
 * they did before), and a histogram to its row's count.  Rows without an error are unchanged.
 */
void digits_round(struct profile *p);

#endif
