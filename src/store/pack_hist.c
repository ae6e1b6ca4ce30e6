/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "store/blob.h"
#include "store/pack_part.h"

#define IRREGULAR 1

static bool adds_up(const uint32_t *hist, uint64_t count)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		all += hist[i];
	return all == count && all;
}

static void pack_pairs(GByteArray *into, const uint32_t *hist)
{
	unsigned last = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		if (!hist[i])
			continue;
		blob_put(into, i - last + 1);
		blob_put(into, hist[i]);
		last = i;
	}
	blob_put(into, 0);
}

/*
 * 0: all waits are in the expected slot of the longest.  Else twice the number of slots, the first slot, and the
 * distance down to each next one.
 */
void pack_hist_shape(GByteArray *into, const uint32_t *hist, uint64_t count, unsigned top)
{
	unsigned slots = 0, last = top;
	bool is_first = true;

	if (!adds_up(hist, count)) {
		blob_put(into, IRREGULAR);
		pack_pairs(into, hist);
		return;
	}
	if (hist[top] == count) {
		blob_put(into, 0);
		return;
	}
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		slots += hist[i] != 0;
	blob_put(into, (uint64_t)slots << 1);
	for (unsigned i = PROFILE_HIST_SLOTS; i--;) {
		if (!hist[i])
			continue;
		if (is_first)
			blob_put_diff(into, i, top);
		else
			blob_put(into, last - i - 1);
		is_first = false;
		last = i;
	}
}

void pack_hist_counts(GByteArray *into, const uint32_t *hist, uint64_t count)
{
	if (!adds_up(hist, count))
		return;
	for (unsigned i = PROFILE_HIST_SLOTS; i--;) {
		count -= hist[i];
		if (!count)
			return;
		if (hist[i])
			blob_put_short(into, hist[i], PACK_HIST_BITS);
	}
}

/* Pairs of the distance to the next slot and its count; 0 ends them. */
static void unpack_hist_pairs(struct cursor *c, uint32_t *hist)
{
	uint64_t slot = 0;

	for (;;) {
		uint64_t step = cursor_uleb(c);

		if (!step || c->bad)
			return;
		slot += step - 1;
		if (step > PROFILE_HIST_SLOTS || slot >= PROFILE_HIST_SLOTS) {
			c->bad = true;
			return;
		}
		hist[slot] = (uint32_t)blob_get(c, UINT32_MAX);
	}
}

bool unpack_hist_shape(struct cursor *c, uint32_t *hist, uint64_t count, unsigned top)
{
	uint64_t head = cursor_uleb(c), slot;

	if (head == IRREGULAR) {
		unpack_hist_pairs(c, hist);
		return false;
	}
	if (!head) {
		hist[top] = (uint32_t)MIN(count, UINT32_MAX);
		c->bad = c->bad || !count || count > UINT32_MAX;
		return false;
	}
	slot = blob_get_diff(c, top);
	c->bad = c->bad || (head & 1) || head > 2 * PROFILE_HIST_SLOTS || slot >= PROFILE_HIST_SLOTS;
	for (uint64_t left = head >> 1; left && !c->bad; left--) {
		hist[slot] = 1;
		uint64_t down = left > 1 ? cursor_uleb(c) : 0;

		if (left > 1 && down >= slot)
			c->bad = true;
		else
			slot -= left > 1 ? down + 1 : 0;
	}
	return !c->bad;
}

/* The shortest slot gets the remainder, which must not be 0. */
void unpack_hist_counts(struct cursor *c, uint32_t *hist, uint64_t count)
{
	unsigned last = 0;

	while (last < PROFILE_HIST_SLOTS && !hist[last])
		last++;
	for (unsigned i = PROFILE_HIST_SLOTS; --i > last && !c->bad;) {
		if (!hist[i])
			continue;
		uint64_t n = blob_get_short(c, PACK_HIST_BITS);

		if (!n || n >= count || n > UINT32_MAX) {
			c->bad = true;
			return;
		}
		hist[i] = (uint32_t)n;
		count -= n;
	}
	c->bad = c->bad || !count || count > UINT32_MAX || last == PROFILE_HIST_SLOTS;
	if (!c->bad)
		hist[last] = (uint32_t)count;
}
