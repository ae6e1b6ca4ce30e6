/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/layers.h"

#include "base/each.h"
#include "base/order.h"

#define SWEEPS 8
#define LINK_HEIGHT 0.4	/* of a link that passes a layer */

static struct layers_place *place_of(const struct layers *l, guint i)
{
	return &g_array_index(l->places, struct layers_place, i);
}

/* Whether a path of forward links leads from a to b. */
static bool has_path(const struct layers_link *links, const bool *is_forward, guint cnt, guint nodes, guint a, guint b)
{
	g_autofree bool *met = g_new0(bool, nodes);
	bool is_more = true;

	met[a] = true;
	while (is_more && !met[b]) {
		is_more = false;
		for (guint i = 0; i < cnt; i++) {
			if (!is_forward[i] || !met[links[i].from] || met[links[i].to])
				continue;
			met[links[i].to] = is_more = true;
		}
	}
	return met[b];
}

/* Puts each node as far to the right as its longest incoming path. */
static void set_layers(struct layers *l, const struct layers_link *links, const bool *is_forward, guint cnt)
{
	for (bool is_more = true; is_more;) {
		is_more = false;
		for (guint i = 0; i < cnt; i++) {
			struct layers_place *to = place_of(l, links[i].to);
			const guint layer = place_of(l, links[i].from)->layer + 1;

			if (!is_forward[i] || to->layer >= layer)
				continue;
			to->layer = layer;
			l->cnt = MAX(l->cnt, layer + 1);
			is_more = true;
		}
	}
}

static void add_path(struct layers *l, struct layers_link link, bool is_forward)
{
	GArray *path = g_array_new(FALSE, FALSE, sizeof(guint));
	const guint last = place_of(l, link.to)->layer;

	g_array_append_val(path, link.from);
	for (guint layer = place_of(l, link.from)->layer + 1; is_forward && layer < last; layer++) {
		const struct layers_place passes = { .layer = layer };

		g_array_append_val(path, l->places->len);
		g_array_append_val(l->places, passes);
	}
	g_array_append_val(path, link.to);
	g_ptr_array_add(l->paths, path);
}

/* --- the order within layers --- */

struct order {
	guint place;
	double wish;	/* mean position of its neighbours */
};

ORDER(compare, struct order, ORDER_LOW(wish) ORDER_LOW(place))

/* Mean position of its neighbours in that layer; its own position if it has none. */
static double wish_of(const struct layers *l, guint of, guint layer)
{
	double sum = 0;
	guint cnt = 0;

	EACH_POINTER(i, const GArray, path, l->paths) {
		for (guint k = 1; k < path->len; k++) {
			const guint a = g_array_index(path, guint, k - 1), b = g_array_index(path, guint, k);
			const guint other = a == of ? b : b == of ? a : G_MAXUINT;

			if (other == G_MAXUINT || place_of(l, other)->layer != layer)
				continue;
			sum += place_of(l, other)->y;
			cnt++;
		}
	}
	return cnt ? sum / cnt : place_of(l, of)->y;
}

/* Stacks each layer's nodes around the middle. */
static void stack_layers(struct layers *l, GArray *order)
{
	double y = 0;

	for (guint i = 0; i < order->len; i++) {
		struct layers_place *p = place_of(l, g_array_index(order, struct order, i).place);
		const double height = p->is_node ? 1 : LINK_HEIGHT;

		p->y = y + height / 2;
		y += height;
	}
	for (guint i = 0; i < order->len; i++)
		place_of(l, g_array_index(order, struct order, i).place)->y -= y / 2;
	l->height = MAX(l->height, y);
}

static void order_layer(struct layers *l, guint layer, guint by)
{
	g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(struct order));

	for (guint i = 0; i < l->places->len; i++) {
		struct order one = { .place = i };

		if (place_of(l, i)->layer != layer)
			continue;
		one.wish = wish_of(l, i, by);
		g_array_append_val(order, one);
	}
	g_array_sort(order, compare);
	stack_layers(l, order);
}

static void order_all(struct layers *l)
{
	for (guint layer = 0; layer < l->cnt; layer++)
		order_layer(l, layer, layer ? layer - 1 : 0);
	for (guint sweep = 0; sweep < SWEEPS; sweep++)
		for (guint k = 1; k < l->cnt; k++) {
			const guint layer = sweep % 2 ? k : l->cnt - 1 - k;

			order_layer(l, layer, sweep % 2 ? layer - 1 : layer + 1);
		}
	for (guint i = 0; i < l->places->len; i++)
		place_of(l, i)->y += l->height / 2;
}

struct layers *layers_new(guint nodes_cnt, const struct layers_link *links, guint links_cnt)
{
	struct layers *l = g_new0(struct layers, 1);
	g_autofree bool *is_forward = g_new0(bool, links_cnt + 1);

	l->places = g_array_new(FALSE, FALSE, sizeof(struct layers_place));
	l->paths = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	l->cnt = 1;
	for (guint i = 0; i < nodes_cnt; i++) {
		const struct layers_place node = { .is_node = true };

		g_array_append_val(l->places, node);
	}
	for (guint i = 0; i < links_cnt; i++)
		is_forward[i] = !has_path(links, is_forward, i, nodes_cnt, links[i].to, links[i].from);
	set_layers(l, links, is_forward, links_cnt);
	for (guint i = 0; i < links_cnt; i++)
		add_path(l, links[i], is_forward[i]);
	order_all(l);
	return l;
}

FREES(layers_free, struct layers, l, g_array_unref(l->places); g_ptr_array_unref(l->paths))
