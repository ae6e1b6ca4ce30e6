/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_MAP_FILL_H
#define ATTACH_MAP_FILL_H

#include <glib.h>
#include <stdbool.h>

struct bpf_map;

/* Puts the keys that are selected into a hash with values of a byte; keys: NULL is fine.  False with a sentence. */
bool map_fill(const struct bpf_map *map, const GArray *keys, GError **error);

#endif
