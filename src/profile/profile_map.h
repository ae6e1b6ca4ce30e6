/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_MAP_H
#define PROFILE_PROFILE_MAP_H

#include "profile/profile.h"

/* Maps ids of one profile to ids of another one, where missing entries are created. */
struct profile_map {
	bool is_same;		/* both profiles share the ids */
	uint32_t *frames, *nodes, *objects, *wakers;	/* id + 1; 0: not mapped yet */
	const struct profile *from;
	struct profile *to;
};

void profile_map_begin(struct profile_map *map, const struct profile *from, struct profile *to);
void profile_map_end(struct profile_map *map);
uint32_t profile_map_frame(struct profile_map *map, uint32_t frame);
uint32_t profile_map_node(struct profile_map *map, uint32_t node);
uint32_t profile_map_object(struct profile_map *map, uint32_t object);	/* index + 1, as in waits */
uint32_t profile_map_waker(struct profile_map *map, uint32_t waker);

/*
 * Removes frames, stack nodes, strings and build ids that are no longer used: after months, cut windows have added
 * many. Between begin and end the owner maps every id and string it keeps to the new one. The end frees the old ones.
 */
struct profile_compact;

/* p must have no rows, objects or wakers, and share nothing with another profile. */
struct profile_compact *profile_compact_begin(struct profile *p);
uint32_t profile_compact_frame(struct profile_compact *c, uint32_t frame);
uint32_t profile_compact_node(struct profile_compact *c, uint32_t node);
/* NULL for NULL. */
const char *profile_compact_string(struct profile_compact *c, const char *s);
void profile_compact_end(struct profile_compact *c);

#endif
