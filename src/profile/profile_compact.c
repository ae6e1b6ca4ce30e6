/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <assert.h>

#include "profile/profile_map.h"
#include "profile/profile_schema.h"

struct profile_compact {
	struct profile *from, *to;
	struct profile_map map;
};

struct profile_compact *profile_compact_begin(struct profile *p)
{
	struct profile_compact *c = g_new0(struct profile_compact, 1);

	assert(!p->threads->len && !p->waits->len && !p->losses->len && !p->objects->len && !p->wakers->len);
	c->from = p;
	c->to = profile_new();
	profile_map_begin(&c->map, c->from, c->to);
	return c;
}

const char *profile_compact_string(struct profile_compact *c, const char *s)
{
	return profile_string(c->to, s);
}

uint32_t profile_compact_frame(struct profile_compact *c, uint32_t frame)
{
	assert(frame < c->from->frames->len);
	return profile_map_frame(&c->map, frame);
}

uint32_t profile_compact_node(struct profile_compact *c, uint32_t node)
{
	assert(node < c->from->nodes->len);
	return profile_map_node(&c->map, node);
}

/* Keeps the build ids of modules that frames refer to. */
static void keep_build_ids(struct profile_compact *c)
{
	g_autoptr(GHashTable) named = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < c->to->frames->len; i++) {
		const char *module = profile_get_frame(c->to, i)->module;

		if (module)
			g_hash_table_add(named, (gpointer)module);
	}
	EACH_ROW(i, const struct module_id, id, c->from->build_ids)
		if (g_hash_table_contains(named, id->module))
			profile_set_build_id(c->to, id->module, id->hex);
}

static void keep_info(struct profile_compact *c)
{
	struct profile_info *info = &c->from->info;

	profile_own_texts(c->to, TABLE_META, info);
	info->history.gap_why = profile_string(c->to, info->history.gap_why);
}

#define SWAP(field)                                                                                                    \
	do {                                                                                                           \
		__typeof__(c->from->field) was = c->from->field;                                                       \
                                                                                                                       \
		c->from->field = c->to->field;                                                                         \
		c->to->field = was;                                                                                    \
	} while (0)

FREES(profile_compact_end, struct profile_compact, c, keep_build_ids(c); keep_info(c); SWAP(frames);
      SWAP(index[INDEX_FRAME]); SWAP(nodes); SWAP(index[INDEX_STACK]); SWAP(build_ids); SWAP(strings);
      SWAP(string_list); SWAP(index[INDEX_STRING]); profile_free(c->to); profile_map_end(&c->map))
