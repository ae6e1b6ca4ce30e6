/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/spaces.h"

/* Twice Linux's default of vm.max_map_count. */
#define MAPS_MAX 131072

struct map_set *map_set_new(void)
{
	struct map_set *set = g_new0(struct map_set, 1);

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

static struct space_map *at_index(struct map_set *set, guint i)
{
	return &g_array_index(set->maps, struct space_map, i);
}

/* The number of mappings that start at or below addr. */
static guint count_up_to(struct map_set *set, uint64_t addr)
{
	guint low = 0, high = set->maps->len;

	while (low < high) {
		guint mid = low + (high - low) / 2;

		if (at_index(set, mid)->start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The last mapping before index *i that contains addr, with its index in *i. NULL: none. */
static struct space_map *next_cover(struct map_set *set, uint64_t addr, guint *i)
{
	while ((*i)-- > 0) {
		struct space_map *m = at_index(set, *i);

		if (addr < m->end)
			return m;
		if (addr - m->start >= set->longest)
			break;
	}
	return NULL;
}

/* The newest mapping that contains addr, at any time. */
static struct space_map *newest_at(struct map_set *set, uint64_t addr)
{
	struct space_map *newest = NULL, *m;

	for (guint i = count_up_to(set, addr); (m = next_cover(set, addr, &i));)
		if (!newest || m->no > newest->no)
			newest = m;
	return newest;
}

/* Do both map the same part of the same file? */
static bool is_same_code(const struct space_map *a, const struct space_map *b)
{
	return a->module == b->module &&
	       (a->module->kind != MODULE_FILE || a->start - a->pgoff == b->start - b->pgoff);
}

/*
 * The kernel maps the vDSO once, when a program begins, into a gap: on arm64 that between code and data of ld.so,
 * which was first mapped as code.
 */
bool map_set_replaces(struct map_set *set, const struct space_map *map)
{
	const struct space_map *first = newest_at(set, map->start), *last = newest_at(set, map->end - 1);

	return map->module->kind != MODULE_VDSO &&
	       ((first && !is_same_code(first, map)) || (last && !is_same_code(last, map)));
}

static bool is_known(struct map_set *set, const struct space_map *map)
{
	const struct space_map *m = newest_at(set, map->start);

	return m && m->module == map->module && map->end <= m->end &&
	       m->start - m->pgoff == map->start - map->pgoff && (map->from_proc || m->from_ns <= map->from_ns);
}

static void forget_older_half(struct map_set *set)
{
	uint32_t from = set->came_cnt - MAPS_MAX / 2;
	guint kept = 0;

	for (guint i = 0; i < set->maps->len; i++)
		if (at_index(set, i)->no >= from)
			*at_index(set, kept++) = *at_index(set, i);
	g_array_set_size(set->maps, kept);
}

static void insert(struct map_set *set, const struct space_map *map)
{
	struct space_map added = *map;

	if (set->maps->len >= MAPS_MAX)
		forget_older_half(set);
	added.no = set->came_cnt++;
	set->longest = MAX(set->longest, map->end - map->start);
	g_array_insert_vals(set->maps, count_up_to(set, map->start), &added, 1);
}

void map_set_add(struct map_set **set, const struct space_map *map)
{
	if (is_known(*set, map))
		return;
	if ((*set)->refs > 1) {
		struct map_set *copy = map_set_new();

		g_array_append_vals(copy->maps, (*set)->maps->data, (*set)->maps->len);
		copy->came_cnt = (*set)->came_cnt;
		copy->longest = (*set)->longest;
		map_set_unref(*set);
		*set = copy;
	}
	insert(*set, map);
}

struct space_map *map_set_find(struct map_set *set, uint64_t ts_ns, uint64_t addr)
{
	struct space_map *best = NULL, *later = NULL, *m;

	for (guint i = count_up_to(set, addr); (m = next_cover(set, addr, &i));) {
		if (m->from_ns <= ts_ns) {
			if (!best || m->from_ns > best->from_ns || (m->from_ns == best->from_ns && m->no > best->no))
				best = m;
		} else if (m->from_proc && (!later || m->from_ns < later->from_ns ||
					    (m->from_ns == later->from_ns && m->no > later->no))) {
			later = m;
		}
	}
	return best ? best : later;
}
