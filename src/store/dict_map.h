/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_DICT_MAP_H
#define STORE_DICT_MAP_H

#include "store/dict.h"

/* From numbers of a dictionary that was read to ids of a profile; what is asked for is made there. */
struct dict_map;

/* Borrows both; the dictionary must not grow meanwhile. */
struct dict_map *dict_map_new(const struct dict *d, struct profile *to);
void dict_map_free(struct dict_map *m);	/* NULL is fine */
const struct dict *dict_map_dict(const struct dict_map *m);
uint32_t dict_map_node(struct dict_map *m, uint32_t node);
uint32_t dict_map_object(struct dict_map *m, uint32_t object);	/* both with 1 added */
uint32_t dict_map_waker(struct dict_map *m, uint32_t waker);
/* With 1 added; the profile's own, NULL for 0. */
const char *dict_map_string(struct dict_map *m, uint32_t string);
/* Identity and names, all else 0. */
struct thread dict_map_thread(struct dict_map *m, uint32_t thread);
/* The build ids of modules. */
void dict_map_modules(struct dict_map *m);

#endif
