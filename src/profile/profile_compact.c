/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_compact.h"

#include <assert.h>

#include "profile/profile_schema.h"

struct profile_compact {
	struct profile *from, *to;
	uint32_t *frames;	/* of `from`: id in `to` + 1; 0: not asked for yet */
	uint32_t *nodes;	/* the same of nodes; the root is the root */
};

struct profile_compact *profile_compact_begin(struct profile *p)
{
	struct profile_compact *c = g_new0(struct profile_compact, 1);

	assert(!p->threads->len && !p->waits->len && !p->losses->len && !p->objects->len && !p->wakers->len);
	c->from = p;
	c->to = profile_new();
	c->frames = g_new0(uint32_t, p->frames->len);
	c->nodes = g_new0(uint32_t, p->nodes->len);
	return c;
}

const char *profile_compact_string(struct profile_compact *c, const char *s)
{
	return profile_string(c->to, s);
}

uint32_t profile_compact_frame(struct profile_compact *c, uint32_t frame)
{
	assert(frame < c->from->frames->len);
	if (!c->frames[frame])
		c->frames[frame] = profile_frame(c->to, profile_get_frame(c->from, frame)) + 1;
	return c->frames[frame] - 1;
}

uint32_t profile_compact_node(struct profile_compact *c, uint32_t node)
{
	uint32_t path[PROFILE_DEPTH_MAX], at, own;
	unsigned cnt = 0;

	assert(node < c->from->nodes->len);
	for (at = node; at && !c->nodes[at]; at = profile_get_node(c->from, at)->parent)
		path[cnt++] = at;
	own = at ? c->nodes[at] - 1 : 0;
	while (cnt) {
		const struct stack_node *n = profile_get_node(c->from, path[--cnt]);

		own = profile_node(c->to, own, profile_compact_frame(c, n->frame));
		g_array_index(c->to->nodes, struct stack_node, own).end = n->end;
		c->nodes[path[cnt]] = own + 1;
	}
	return own;
}

/* Of modules that frames still name. */
static void keep_build_ids(struct profile_compact *c)
{
	g_autoptr(GHashTable) named = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < c->to->frames->len; i++) {
		const char *module = profile_get_frame(c->to, i)->module;

		if (module)
			g_hash_table_add(named, (gpointer)module);
	}
	for (guint i = 0; i < c->from->build_ids->len; i++) {
		const struct module_id *id = &g_array_index(c->from->build_ids, struct module_id, i);

		if (g_hash_table_contains(named, id->module))
			profile_set_build_id(c->to, id->module, id->hex);
	}
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

void profile_compact_end(struct profile_compact *c)
{
	keep_build_ids(c);
	keep_info(c);
	SWAP(frames);
	SWAP(index[INDEX_FRAME]);
	SWAP(nodes);
	SWAP(index[INDEX_STACK]);
	SWAP(build_ids);
	SWAP(strings);
	SWAP(string_list);
	SWAP(index[INDEX_STRING]);
	profile_free(c->to);
	g_free(c->frames);
	g_free(c->nodes);
	g_free(c);
}
