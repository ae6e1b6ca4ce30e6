/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tui/view.h"

struct view_base {
	GHashTable *rows;	/* struct activity_key -> struct activity_row, which holds it */
	uint64_t length_ns;
};

struct view_base *view_base_new(const struct activity *a, uint64_t length_ns)
{
	struct view_base *b = g_new0(struct view_base, 1);

	b->rows = g_hash_table_new_full(activity_key_hash, activity_key_equal, NULL, g_free);
	b->length_ns = length_ns;
	for (guint i = 0; i < a->rows->len; i++) {
		struct activity_row *row = g_memdup2(&g_array_index(a->rows, struct activity_row, i), sizeof(*row));

		row->name = NULL;	/* the activity's, which may go first */
		g_hash_table_insert(b->rows, &row->key, row);
	}
	return b;
}

void view_base_free(struct view_base *b)
{
	if (!b)
		return;
	g_hash_table_destroy(b->rows);
	g_free(b);
}

const struct activity_row *view_base_row(const struct view_base *b, const struct activity_key *key)
{
	return g_hash_table_lookup(b->rows, key);
}

uint64_t view_base_length_ns(const struct view_base *b)
{
	return b->length_ns;
}
