/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/id_index.h"

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/each.h"

#define SLOTS_FIRST 256	/* a power of two, like all later sizes */

/* The upper half of the hash separates nearly all keys, and ids are too few to need more. */
struct slot {
	uint32_t hash;
	uint32_t number;	/* id + 1; 0: free slot */
};

struct id_index {
	const uint64_t *secret;
	struct slot *slots;
	size_t slot_cnt, used_cnt;
};

/*
 * Returns zeroed memory. Lookups in a long index are random and would mostly miss the TLB, so huge pages are
 * requested.
 */
#define HUGE_PAGE_BYTES (2u << 20)

static bool is_mapped(size_t slot_cnt)
{
	return slot_cnt * sizeof(struct slot) >= HUGE_PAGE_BYTES;
}

static struct slot *slots_new(size_t slot_cnt)
{
	const size_t bytes = slot_cnt * sizeof(struct slot);
	void *slots;

	if (!is_mapped(slot_cnt))
		return g_new0(struct slot, slot_cnt);
	slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		g_error("no memory for an index of %zu bytes", bytes);
	madvise(slots, bytes, MADV_HUGEPAGE);
	return slots;
}

static void slots_free(struct slot *slots, size_t slot_cnt)
{
	if (is_mapped(slot_cnt))
		munmap(slots, slot_cnt * sizeof(*slots));
	else
		g_free(slots);
}

/* One secret for all tables: a profile has a dozen tables, and top makes a profile a second. */
static const uint64_t *secret_of_process(void)
{
	static uint64_t secret[2];
	static gsize is_set;

	if (!g_once_init_enter(&is_set))
		return secret;
	/* without entropy the tables work, but their hashes are predictable */
	if (getentropy(secret, sizeof(secret)) != 0)
		secret[0] = (uint64_t)g_get_monotonic_time();
	g_once_init_leave(&is_set, 1);
	return secret;
}

struct id_index *id_index_new(void)
{
	struct id_index *ix = g_new0(struct id_index, 1);

	ix->secret = secret_of_process();
	ix->slot_cnt = SLOTS_FIRST;
	ix->slots = slots_new(ix->slot_cnt);
	return ix;
}

FREES(id_index_free, struct id_index, ix, slots_free(ix->slots, ix->slot_cnt))

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

uint64_t id_index_hash(const struct id_index *ix, const void *key, size_t len_bytes)
{
	uint64_t v[4] = {
		ix->secret[0] ^ 0x736f6d6570736575, ix->secret[1] ^ 0x646f72616e646f6d,
		ix->secret[0] ^ 0x6c7967656e657261, ix->secret[1] ^ 0x7465646279746573,
	};
	const uint8_t *bytes = key;
	uint64_t word;
	size_t at = 0;

	/* As in SipHash, the last word carries the length in its top byte. */
	for (; at + sizeof(word) <= len_bytes; at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	word = (uint64_t)len_bytes << 56;
	for (unsigned i = 0; at + i < len_bytes; i++)
		word |= (uint64_t)bytes[at + i] << (8 * i);
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

int64_t id_index_find(const struct id_index *ix, uint64_t hash, id_index_same same, const void *ctx,
		      const void *key)
{
	size_t mask = ix->slot_cnt - 1;

	for (size_t at = (uint32_t)hash & mask; ix->slots[at].number; at = (at + 1) & mask) {
		const struct slot *slot = &ix->slots[at];

		if (slot->hash == (uint32_t)hash && same(ctx, key, slot->number - 1))
			return slot->number - 1;
	}
	return -1;
}

static void place_slot(struct slot *slots, size_t slot_cnt, const struct slot *slot)
{
	size_t mask = slot_cnt - 1, at = slot->hash & mask;

	while (slots[at].number)
		at = (at + 1) & mask;
	slots[at] = *slot;
}

static void grow_to(struct id_index *ix, size_t slot_cnt)
{
	struct slot *slots = slots_new(slot_cnt);

	for (size_t at = 0; at < ix->slot_cnt; at++)
		if (ix->slots[at].number)
			place_slot(slots, slot_cnt, &ix->slots[at]);
	slots_free(ix->slots, ix->slot_cnt);
	ix->slots = slots;
	ix->slot_cnt = slot_cnt;
}

/* At most two thirds full, which keeps probes short. */
static bool has_room(size_t slot_cnt, size_t used_cnt)
{
	return used_cnt * 3 <= slot_cnt * 2;
}

void id_index_expect(struct id_index *ix, size_t cnt)
{
	size_t slot_cnt = ix->slot_cnt;

	while (!has_room(slot_cnt, ix->used_cnt + cnt))
		slot_cnt *= 2;
	if (slot_cnt > ix->slot_cnt)
		grow_to(ix, slot_cnt);
}

void id_index_add(struct id_index *ix, uint64_t hash, uint32_t id)
{
	const struct slot slot = { .hash = (uint32_t)hash, .number = id + 1 };

	if (!has_room(ix->slot_cnt, ix->used_cnt + 1))
		grow_to(ix, ix->slot_cnt * 2);
	place_slot(ix->slots, ix->slot_cnt, &slot);
	ix->used_cnt++;
}
