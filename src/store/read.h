/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_READ_H
#define STORE_READ_H

#include "store/file.h"

/* Which rows of a history make up a range. */
struct store_choice {
	char *dir;
	GArray *rows;		/* struct store_row, by seq: no window is in two of them */
	GArray *gaps;		/* struct store_gap */
	GPtrArray *files;	/* struct store_file, those that rows are in */
};

/*
 * Rows whose sum is the windows that overlap [from, to): the coarsest that lie within and are no longer than step_ns,
 * for they hold the same and are read quicker; finer ones at the edges; and where those are gone whatever is left,
 * beyond the edges.
 */
struct store_choice *store_choose(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				  bool want_lines, GError **error);
void store_choice_free(struct store_choice *c);	/* NULL is fine */
struct store_file *store_choice_file(const struct store_choice *c, const struct store_row *row);

#endif
