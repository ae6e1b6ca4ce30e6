/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_PACK_H
#define STORE_PACK_H

#include "store/dict_map.h"
#include "store/dict_write.h"

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

#endif
