/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_PACK_H
#define STORE_PACK_H

#include "profile/profile.h"
#include "store/dict.h"

/*
 * The rows of a window as bytes (docs/history.md, "rows").  What follows from other numbers takes next to nothing: a
 * thread's classes are the sum of its waits, a single wait is its own longest one.
 */

/*
 * 1: without what of single waits is told; 1 and 2: all numbers with all digits; 4: with tasks, and where there are none
 * 3 is written.  All are read.
 */
#define PACK_VERSION 1
#define PACK_ROWS_MAX (UINT32_C(1) << 20)	/* of each table of one window */

/*
 * Appends; between dict_writer_begin() and dict_writer_end() of the same profile. False with a sentence: it has too
 * many rows.
 */
bool pack_rows(struct dict_writer *w, const struct profile *p, GByteArray *into, GError **error);
/*
 * Into the empty `rows`, which share all else with the profile of the map: see profile_new_rows().  False: they are no
 * rows, and what is in there is of no use.  Indices are in range then; no sum was checked.
 */
bool unpack_rows(struct dict_map *m, const uint8_t *bytes, size_t len_bytes, struct profile *rows);

/*
 * Rows of sampled waits are estimates, and what is far below their error says nothing: it is rounded away, to a
 * quarter of the error and to no less than three bits (blob_round()).  Counts in a histogram keep four bits, but for
 * durations that were not sampled.  What is known exactly stays so: all waits of a thread and state add up to the same
 * times and the same number, wakings of a row to no more than the row and to all of it where they did, a histogram to
 * its row's count.  Rows without an error are not touched.
 */
void digits_round(struct profile *p);

#endif
