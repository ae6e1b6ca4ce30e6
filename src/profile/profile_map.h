/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_MAP_H
#define PROFILE_PROFILE_MAP_H

#include "profile/profile.h"

/* From ids of one profile to those of another one; what is asked for is made there. */
struct profile_map {
	bool is_same;		/* they are */
	uint32_t *frames, *nodes, *objects, *wakers;	/* id + 1; 0: not asked for yet */
	const struct profile *from;
	struct profile *to;
};

void profile_map_begin(struct profile_map *map, const struct profile *from, struct profile *to);
void profile_map_end(struct profile_map *map);
uint32_t profile_map_frame(struct profile_map *map, uint32_t frame);
uint32_t profile_map_node(struct profile_map *map, uint32_t node);
uint32_t profile_map_object(struct profile_map *map, uint32_t object);	/* index + 1, as waits have it */
uint32_t profile_map_waker(struct profile_map *map, uint32_t waker);

/*
 * Takes out of a profile whatever nobody keeps: frames, nodes of stacks, strings, build ids.  Windows that are cut for
 * months name ever new ones.  Between begin and end its owner asks for all it keeps, and gets the new ids and strings;
 * at the end the old ones are gone.
 */
struct profile_compact;

/* It has no rows, objects or wakers just then, and shares nothing with another one. */
struct profile_compact *profile_compact_begin(struct profile *p);
uint32_t profile_compact_frame(struct profile_compact *c, uint32_t frame);
uint32_t profile_compact_node(struct profile_compact *c, uint32_t node);
/* NULL for NULL. */
const char *profile_compact_string(struct profile_compact *c, const char *s);
void profile_compact_end(struct profile_compact *c);

#endif
