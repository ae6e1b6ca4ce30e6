/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/strset.h"

#include <glib.h>
#include <string.h>

#include "base/each.h"
#include "profile/id_index.h"

struct strset {
	GStringChunk *chunk;
	GPtrArray *strings;
	struct id_index *index;
};

struct strset *strset_new(void)
{
	struct strset *set = g_new0(struct strset, 1);

	set->chunk = g_string_chunk_new(4096);
	set->strings = g_ptr_array_new();
	set->index = id_index_new();
	return set;
}

FREES(strset_free, struct strset, set, g_string_chunk_free(set->chunk); g_ptr_array_unref(set->strings);
      id_index_free(set->index))

static bool same(const void *ctx, const void *key, uint32_t id)
{
	return strcmp(strset_get(ctx, id), key) == 0;
}

uint32_t strset_id(struct strset *set, const char *s)
{
	size_t len = strlen(s);
	uint64_t hash = id_index_hash(set->index, s, len);
	int64_t found = id_index_find(set->index, hash, same, set, s);

	if (found >= 0)
		return (uint32_t)found;
	id_index_add(set->index, hash, set->strings->len);
	g_ptr_array_add(set->strings, g_string_chunk_insert_len(set->chunk, s, (gssize)len));
	return set->strings->len - 1;
}

const char *strset_add(struct strset *set, const char *s)
{
	return strset_get(set, strset_id(set, s));
}

const char *strset_get(const struct strset *set, uint32_t id)
{
	return g_ptr_array_index(set->strings, id);
}
