/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_ID_INDEX_H
#define PROFILE_ID_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Maps a key to the id of the array element that holds it. Open addressing over (hash, id) pairs: keys stay in the
 * caller's array, so a lookup allocates nothing. GHashTable would need an allocation per key, or pointers that
 * survive the array's growth.
 */
struct id_index;

struct id_index *id_index_new(void);
void id_index_free(struct id_index *ix);	/* NULL is fine */

/* SipHash-1-3, keyed by a secret of the process, because keys may come from a hostile file. */
uint64_t id_index_hash(const struct id_index *ix, const void *key, size_t len_bytes);

/*
 * Finds the id under `hash` for which same(ctx, key, id) holds, or -1. After a miss, add the new element's id with
 * id_index_add() under the same hash.
 */
typedef bool (*id_index_same)(const void *ctx, const void *key, uint32_t id);
int64_t id_index_find(const struct id_index *ix, uint64_t hash, id_index_same same, const void *ctx,
		      const void *key);
/* Makes room for `cnt` more ids. */
void id_index_expect(struct id_index *ix, size_t cnt);
void id_index_add(struct id_index *ix, uint64_t hash, uint32_t id);

#endif
