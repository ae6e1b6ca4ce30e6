/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_MAP_READ_H
#define ATTACH_MAP_READ_H

#include <stdbool.h>

struct bpf_map;

typedef void (*map_read_fn)(const void *key, const void *value, void *data);

/*
 * Hands over what a hash map holds, and empties it.  What a program adds to an entry just then is lost, so a map whose
 * sums have to add up is one that no program uses any more.  False: some of it could not be read, as without memory,
 * and is there still.
 */
bool map_read_out(const struct bpf_map *map, map_read_fn take, void *data);

#endif
