/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ROWS_H
#define ANALYSE_ROWS_H

#include <glib.h>

/* Collects the keys of a hash table, each of row_bytes, as sorted rows. */
static inline GArray *rows_in_order(GHashTable *keys, guint row_bytes, GCompareFunc compare)
{
	GArray *rows = g_array_sized_new(FALSE, FALSE, row_bytes, g_hash_table_size(keys));
	GHashTableIter iter;
	gpointer row;

	g_hash_table_iter_init(&iter, keys);
	while (g_hash_table_iter_next(&iter, &row, NULL))
		g_array_append_vals(rows, row, 1);
	g_array_sort(rows, compare);
	return rows;
}

#endif
