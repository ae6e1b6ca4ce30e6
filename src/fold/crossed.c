/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/crossed.h"

#include "base/hash.h"

struct crossed {
	GHashTable *rows;
	uint32_t turn;
};

struct crossed *crossed_new(GDestroyNotify free_row)
{
	struct crossed *c = g_new0(struct crossed, 1);

	c->rows = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, free_row);
	return c;
}

void crossed_free(struct crossed *c)
{
	g_hash_table_destroy(c->rows);
	g_free(c);
}

void crossed_add(struct crossed *c, void *row)
{
	struct crossed_row *r = row;

	r->turn = c->turn;
	g_hash_table_replace(c->rows, &r->id, r);
}

void *crossed_find(const struct crossed *c, uint64_t id)
{
	struct crossed_row *r = g_hash_table_lookup(c->rows, &id);

	if (r)
		r->turn = c->turn;
	return r;
}

bool crossed_has(const struct crossed *c, uint64_t id)
{
	return g_hash_table_contains(c->rows, &id);
}

guint crossed_cnt(const struct crossed *c)
{
	return g_hash_table_size(c->rows);
}

static gboolean is_old(gpointer key, gpointer value, gpointer data)
{
	const struct crossed_row *r = value;
	const struct crossed *c = data;

	return !r->is_kept && c->turn - r->turn > 1;
}

void crossed_forget(struct crossed *c)
{
	g_hash_table_foreach_remove(c->rows, is_old, c);
	c->turn++;
}

void crossed_for_each(const struct crossed *c, crossed_fn fn, void *data)
{
	EACH_VALUE(void, row, c->rows)
		fn(row, data);
}
