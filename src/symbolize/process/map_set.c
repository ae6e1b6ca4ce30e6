/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/map_set.h"

#include <string.h>

#define MAPS_MAX 8192

struct map_set *map_set_new(void)
{
	struct map_set *set = g_new(struct map_set, 1);

	set->refs = 1;
	set->maps = g_array_new(FALSE, FALSE, sizeof(struct space_map));
	return set;
}

struct map_set *map_set_ref(struct map_set *set)
{
	set->refs++;
	return set;
}

void map_set_unref(struct map_set *set)
{
	if (!set || --set->refs)
		return;
	g_array_unref(set->maps);
	g_free(set);
}

/* The newest mapping that covers addr, whenever it came. */
static struct space_map *newest_at(struct map_set *set, uint64_t addr)
{
	for (guint i = set->maps->len; i-- > 0;) {
		struct space_map *m = &g_array_index(set->maps, struct space_map, i);

		if (addr >= m->start && addr < m->end)
			return m;
	}
	return NULL;
}

static bool is_known(struct map_set *set, const struct space_map *map)
{
	const struct space_map *m = newest_at(set, map->start);

	return m && m->module == map->module && map->end <= m->end &&
	       m->start - m->pgoff == map->start - map->pgoff && (map->from_proc || m->from_ns <= map->from_ns);
}

void map_set_add(struct map_set **set, const struct space_map *map)
{
	if (is_known(*set, map))
		return;
	if ((*set)->refs > 1) {
		struct map_set *copy = map_set_new();

		g_array_append_vals(copy->maps, (*set)->maps->data, (*set)->maps->len);
		map_set_unref(*set);
		*set = copy;
	}
	if ((*set)->maps->len >= MAPS_MAX)
		g_array_remove_range((*set)->maps, 0, MAPS_MAX / 2);
	g_array_append_vals((*set)->maps, map, 1);
}

struct space_map *map_set_find(struct map_set *set, uint64_t ts_ns, uint64_t addr)
{
	struct space_map *best = NULL, *later = NULL;

	for (guint i = set->maps->len; i-- > 0;) {
		struct space_map *m = &g_array_index(set->maps, struct space_map, i);

		if (addr < m->start || addr >= m->end)
			continue;
		if (m->from_ns <= ts_ns) {
			if (!best || m->from_ns > best->from_ns)
				best = m;
		} else if (m->from_proc && (!later || m->from_ns < later->from_ns)) {
			later = m;
		}
	}
	return best ? best : later;
}
