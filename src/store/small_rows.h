/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_SMALL_ROWS_H
#define STORE_SMALL_ROWS_H

#include "store/file.h"

/* What stands beside a row of the history, and sums of it. */
struct small_rows {
	struct line_sums *line;
	struct cells *cells;	/* NULL: a row has none */
	struct request_cells *requests;	/* NULL: no row has any */
};

/*
 * Adds what stands beside a row of f; names: of that file.  Cells become NULL where the row has none that can be read;
 * what of its requests cannot be read is left out.  False: its line is damaged.
 */
bool small_rows_add(struct small_rows *sums, struct store_file *f, const struct store_row *row, const GPtrArray *names);
void small_rows_free(struct small_rows *sums);	/* what they point to */

#endif
