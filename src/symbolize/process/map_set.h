/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_MAP_SET_H
#define SYMBOLIZE_MAP_SET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/process/spaces.h"

/* Mappings of an address space over time; a fork shares the set until either side changes it. */
struct map_set {
	unsigned refs;
	GArray *maps;	/* struct space_map, by start; of the same start the later one comes last */
	uint32_t came_cnt;	/* so far; space_map.no comes from here */
	uint64_t longest;	/* bytes of a mapping, at most */
};

struct map_set *map_set_new(void);
struct map_set *map_set_ref(struct map_set *set);
void map_set_unref(struct map_set *set);	/* NULL is fine */

/* Does it lie where another file's mapping lay, or the same file's at another place? */
bool map_set_replaces(struct map_set *set, const struct space_map *map);

/*
 * Adds a mapping unless the set has it already.  Replaces *set by a copy when it is shared.
 * Bounded: when full, the older half goes.
 */
void map_set_add(struct map_set **set, const struct space_map *map);

/*
 * The mapping that covered addr at ts_ns: the newest that came until then, else one found in
 * /proc later, which may have been there before; else NULL.
 */
struct space_map *map_set_find(struct map_set *set, uint64_t ts_ns, uint64_t addr);

#endif
