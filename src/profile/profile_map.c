/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_map.h"

void profile_map_begin(struct profile_map *map, const struct profile *from, struct profile *to)
{
	*map = (struct profile_map){ .from = from, .to = to, .is_same = from->nodes == to->nodes };
	if (map->is_same)
		return;
	map->frames = g_new0(uint32_t, from->frames->len + 1);
	map->nodes = g_new0(uint32_t, from->nodes->len);
	map->objects = g_new0(uint32_t, from->objects->len + 1);
	map->wakers = g_new0(uint32_t, from->wakers->len + 1);
}

void profile_map_end(struct profile_map *map)
{
	g_free(map->frames);
	g_free(map->nodes);
	g_free(map->objects);
	g_free(map->wakers);
}

uint32_t profile_map_frame(struct profile_map *map, uint32_t frame)
{
	if (map->is_same)
		return frame;
	if (!map->frames[frame])
		map->frames[frame] = profile_frame(map->to, profile_get_frame(map->from, frame)) + 1;
	return map->frames[frame] - 1;
}

/* A path may have PROFILE_DEPTH_MAX nodes, so this is no recursion: up from the leaf to a mapped node, then down. */
uint32_t profile_map_node(struct profile_map *map, uint32_t node)
{
	uint32_t path[PROFILE_DEPTH_MAX + 1];
	unsigned cnt = 0;

	if (map->is_same || !node)
		return node;
	for (uint32_t at = node; at && !map->nodes[at] && cnt <= PROFILE_DEPTH_MAX;
	     at = profile_get_node(map->from, at)->parent)
		path[cnt++] = at;
	while (cnt--) {
		const struct stack_node *n = profile_get_node(map->from, path[cnt]);
		uint32_t parent = n->parent ? map->nodes[n->parent] - 1 : 0;
		uint32_t own = profile_node(map->to, parent, profile_map_frame(map, n->frame));

		if (n->end != STACK_NONE)
			profile_stack_end(map->to, own, (enum stack_end)n->end);
		map->nodes[path[cnt]] = own + 1;
	}
	return map->nodes[node] - 1;
}

uint32_t profile_map_object(struct profile_map *map, uint32_t object)
{
	if (map->is_same || !object)
		return object;
	if (!map->objects[object])
		map->objects[object] = profile_object(map->to, profile_get_object(map->from, object - 1)) + 1;
	return map->objects[object];
}

uint32_t profile_map_waker(struct profile_map *map, uint32_t waker)
{
	if (map->is_same)
		return waker;
	if (!map->wakers[waker]) {
		struct waker w = *profile_get_waker(map->from, waker);

		w.user = profile_map_node(map, w.user);
		w.kernel = profile_map_node(map, w.kernel);
		map->wakers[waker] = profile_waker(map->to, &w) + 1;
	}
	return map->wakers[waker] - 1;
}
