/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/merge.h"

uint32_t diff_frame_of_label(struct profile *p, const struct tree_label *label)
{
	const struct frame f = {
		.name = label->why == FRAME_PENDING ? NULL : label->text, .module = label->module,
		.kind = label->kind == TREE_KERNEL ? FRAME_KERNEL : FRAME_USER, .why = label->why,
	};

	return profile_frame(p, &f);
}

/* Maps stacks of a side's wakers to the merged profile: node -> node there + 1; 0: not mapped yet. */
struct mover {
	const struct diff_side_keys *keys;
	const struct tree *tree;
	struct profile *p;
	uint32_t *nodes;
};

/* Unnamed neighbours in one file become one frame, as in stacks of waits. */
static uint32_t moved_node(struct mover *m, uint32_t node, uint32_t parent_to)
{
	const struct stack_node *n = profile_get_node(m->keys->p, node);
	uint32_t label = m->keys->labels[n->frame];
	const struct tree_label *l = &g_array_index(m->tree->labels, struct tree_label, label);

	if (n->parent && l->why != FRAME_NAMED &&
	    m->keys->labels[profile_get_node(m->keys->p, n->parent)->frame] == label)
		return parent_to;
	return profile_node(m->p, parent_to, diff_frame_of_label(m->p, l));
}

static uint32_t move_stack(struct mover *m, uint32_t node)
{
	uint32_t path[PROFILE_DEPTH_MAX], cnt = 0, to = 0;

	for (; node && !m->nodes[node] && cnt < PROFILE_DEPTH_MAX; node = profile_get_node(m->keys->p, node)->parent)
		path[cnt++] = node;
	if (node && m->nodes[node])
		to = m->nodes[node] - 1;
	while (cnt) {
		to = moved_node(m, path[--cnt], to);
		m->nodes[path[cnt]] = to + 1;
	}
	return to;
}

/* Thread names in the form used for comparing the sides. */
static GHashTable *spellings(const struct diff_side_keys *keys)
{
	GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);

	for (uint32_t i = 0; i < keys->p->threads->len; i++) {
		const char *comm = profile_thread(keys->p, i)->comm;

		if (comm)
			g_hash_table_insert(names, (gpointer)comm, (gpointer)keys->comms[i]);
	}
	return names;
}

static uint32_t move_waker(struct mover *m, GHashTable *names, const struct waker *from)
{
	const char *spelled = from->irq || !from->comm ? NULL : g_hash_table_lookup(names, from->comm);
	struct waker w = {
		.comm = profile_string(m->p, spelled ? spelled : from->comm),
		.irq = from->irq ? profile_string(m->p, from->irq) : NULL,
	};

	w.user = move_stack(m, from->user);
	w.kernel = move_stack(m, from->kernel);
	return profile_waker(m->p, &w);
}

void diff_add_wakes(const struct diff *d, enum diff_side side, const uint32_t *rows, struct profile *p)
{
	const struct diff_side_keys *keys = &d->keys->side[side];
	const struct profile *from = keys->p;
	struct mover m = { keys, d->keys->tree, p, g_new0(uint32_t, from->nodes->len + 1) };
	g_autofree uint32_t *wakers = g_new0(uint32_t, from->wakers->len + 1);	/* + 1 */
	g_autoptr(GHashTable) names = spellings(keys);

	for (uint32_t i = 0; i < from->wakes->len; i++) {
		struct wake k = *profile_wake(from, i);

		if (!rows[k.wait])
			continue;
		if (!wakers[k.waker])
			wakers[k.waker] = move_waker(&m, names, profile_get_waker(from, k.waker)) + 1;
		k.wait = rows[k.wait] - 1;
		k.waker = wakers[k.waker] - 1;
		profile_add_wake(p, &k);
	}
	g_free(m.nodes);
}
