/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/sums.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "abi/sample.h"
#include "base/each.h"
#include "profile/id_index.h"

struct hist {
	uint64_t slot_q8[OFFCPU_HIST_SLOTS];
	uint64_t wake_q8[OFFCPU_WAKE_SLOTS];
};

struct entry {
	struct offcpu_wait_key key;
	uint64_t count_q8, blocked_ns, runnable_ns, preempted_ns, max_ns, max_start_ns;
	double variance_ns2;
	uint32_t hist;	/* index + 1; 0: a single bar: max_ns's slot, and wake_slot with wakers */
	uint32_t wake_slot;
};

struct sums {
	GArray *entries, *hists;
	struct id_index *index;
};

struct sums *sums_new(void)
{
	struct sums *s = g_new0(struct sums, 1);

	s->entries = g_array_new(FALSE, FALSE, sizeof(struct entry));
	s->hists = g_array_new(FALSE, FALSE, sizeof(struct hist));
	s->index = id_index_new();
	return s;
}

FREES(sums_free, struct sums, s, g_array_unref(s->entries); g_array_unref(s->hists); id_index_free(s->index))

static struct entry *entry_at(const struct sums *s, size_t i)
{
	return &g_array_index(s->entries, struct entry, i);
}

static bool same_key(const void *ctx, const void *key, uint32_t id)
{
	return memcmp(&entry_at(ctx, id)->key, key, sizeof(struct offcpu_wait_key)) == 0;
}

/* Stack ids are hashes already, and are not controlled by others. */
static uint64_t key_hash(const struct offcpu_wait_key *k)
{
	uint64_t h = (k->ustack ^ (k->kstack << 1)) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ k->waker) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ k->object) * UINT64_C(0x9e3779b97f4a7c15);
	h ^= ((uint64_t)k->tno << 24 | (uint64_t)k->flags << 8 | k->state) * UINT64_C(0xc2b2ae3d27d4eb4f);
	return h ^ h >> 32;
}

static void add_hist(struct sums *s, struct entry *e, const struct offcpu_wait_slot *slot)
{
	struct hist *mine = &g_array_index(s->hists, struct hist, e->hist - 1);

	for (uint32_t i = 0; i < OFFCPU_HIST_SLOTS; i++)
		mine->slot_q8[i] += slot->hist_q8[offcpu_hist_place(i)];
	for (uint32_t i = 0; slot->waker && i < OFFCPU_WAKE_SLOTS; i++)
		mine->wake_q8[i] += slot->wake_hist_q8[i];
}

/* The histograms of an entry without its own. */
static void fill_hist(const struct entry *e, struct hist *ret_hist)
{
	ret_hist->slot_q8[profile_hist_slot(e->max_ns)] = e->count_q8;
	if (e->key.waker)
		ret_hist->wake_q8[e->wake_slot] = e->count_q8;
}

/* Is each histogram a single bar? Then *ret_wake_slot is that of the delays. */
static bool in_one_bar(const struct offcpu_wait_slot *slot, uint32_t *ret_wake_slot)
{
	*ret_wake_slot = 0;
	if (slot->hist_q8[offcpu_hist_place(profile_hist_slot(slot->max_ns))] != slot->count_q8)
		return false;
	for (uint32_t i = 0; slot->waker && i < OFFCPU_WAKE_SLOTS; i++) {
		if (slot->wake_hist_q8[i] == slot->count_q8) {
			*ret_wake_slot = i;
			return true;
		}
	}
	return !slot->waker;
}

static double variance_of(const struct offcpu_wait_slot *slot)
{
	return ldexp((double)slot->variance, SAMPLE_VARIANCE_SHIFT);
}

static void give_hist(struct sums *s, struct entry *e)
{
	g_array_set_size(s->hists, s->hists->len + 1);
	e->hist = s->hists->len;
	memset(&g_array_index(s->hists, struct hist, e->hist - 1), 0, sizeof(struct hist));
}

static void add_entry(struct sums *s, uint64_t hash, const struct offcpu_wait_key *key,
		      const struct offcpu_wait_slot *slot)
{
	struct entry e = {
		.key = *key, .count_q8 = slot->count_q8, .blocked_ns = slot->blocked_ns,
		.runnable_ns = slot->runnable_ns, .preempted_ns = slot->preempted_ns, .max_ns = slot->max_ns,
		.max_start_ns = slot->start_ns, .variance_ns2 = variance_of(slot),
	};

	if (!in_one_bar(slot, &e.wake_slot)) {
		give_hist(s, &e);
		add_hist(s, &e, slot);
	}
	id_index_add(s->index, hash, s->entries->len);
	g_array_append_val(s->entries, e);
}

size_t sums_add(struct sums *s, uint64_t ustack, const struct offcpu_wait_slot *slot)
{
	const struct offcpu_wait_key key = {
		.ustack = ustack, .kstack = slot->kstack, .waker = slot->waker, .object = slot->object,
		.tno = slot->tno, .flags = slot->flags & (uint8_t)~OFFCPU_KEY_CROSSING, .state = slot->state,
	};
	uint64_t hash = key_hash(&key);
	int64_t found = id_index_find(s->index, hash, same_key, s, &key);

	if (found < 0) {
		add_entry(s, hash, &key, slot);
		return s->entries->len - 1;
	}
	struct entry *e = entry_at(s, (size_t)found);

	if (!e->hist) {
		give_hist(s, e);
		fill_hist(e, &g_array_index(s->hists, struct hist, e->hist - 1));
	}
	add_hist(s, e, slot);
	e->count_q8 += slot->count_q8;
	e->variance_ns2 += variance_of(slot);
	e->blocked_ns += slot->blocked_ns;
	e->runnable_ns += slot->runnable_ns;
	e->preempted_ns += slot->preempted_ns;
	if (slot->max_ns > e->max_ns) {
		e->max_ns = slot->max_ns;
		e->max_start_ns = slot->start_ns;
	}
	return (size_t)found;
}

void sums_expect(struct sums *s, size_t cnt)
{
	if (cnt <= s->entries->len)
		return;
	cnt -= s->entries->len;
	array_expect(s->entries, (guint)MIN(cnt, G_MAXUINT));
	id_index_expect(s->index, cnt);
}

size_t sums_cnt(const struct sums *s)
{
	return s->entries->len;
}

static uint64_t whole_waits(uint64_t q8)
{
	return (q8 + SAMPLE_ONE_Q8 / 2) / SAMPLE_ONE_Q8;
}

/* A histogram of this shape with `count` waits. The cumulative sums are rounded, so the slots add up to the count. */
static void spread_hist(const uint64_t *slots_q8, unsigned slot_cnt, uint64_t count, uint32_t *ret_hist)
{
	uint64_t total_q8 = 0, sum_q8 = 0, given = 0;

	for (unsigned i = 0; i < slot_cnt; i++)
		total_q8 += slots_q8[i];
	for (unsigned i = 0; i < slot_cnt && total_q8; i++) {
		sum_q8 += slots_q8[i];
		uint64_t until = (uint64_t)((unsigned __int128)count * sum_q8 / total_q8);

		ret_hist[i] = (uint32_t)MIN(until - given, UINT32_MAX);
		given = until;
	}
}

/*
 * The slots in whole waits. The cumulative sums are rounded, so the slots add up to the count, which is returned. If
 * it would be 0, it is one wait in the highest slot.
 */
static uint64_t whole_hist(const uint64_t *slots_q8, unsigned slot_cnt, uint32_t *ret_hist)
{
	uint64_t sum_q8 = 0, count = 0;
	unsigned last = 0;

	for (unsigned i = 0; i < slot_cnt; i++) {
		sum_q8 += slots_q8[i];
		uint64_t in_slot = MIN(whole_waits(sum_q8) - whole_waits(sum_q8 - slots_q8[i]), UINT32_MAX);

		ret_hist[i] = (uint32_t)in_slot;
		count += in_slot;
		last = slots_q8[i] ? i : last;
	}
	if (!count)
		ret_hist[last] = 1;
	return MAX(count, 1);
}

const struct offcpu_wait_key *sums_key(const struct sums *s, size_t i)
{
	return &entry_at(s, i)->key;
}

void sums_get(const struct sums *s, size_t i, struct sums_total *ret_total)
{
	const struct entry *e = entry_at(s, i);

	*ret_total = (struct sums_total){
		.blocked_ns = e->blocked_ns, .runnable_ns = e->runnable_ns,
		.preempted_ns = e->preempted_ns, .max_ns = e->max_ns, .max_start_ns = e->max_start_ns,
		.off_cpu_se_ns = (uint64_t)llround(sqrt(e->variance_ns2)),
	};
	if (!e->count_q8)
		return;
	if (!e->hist) {
		ret_total->count = CLAMP(whole_waits(e->count_q8), 1, UINT32_MAX);
		ret_total->hist[profile_hist_slot(e->max_ns)] = (uint32_t)ret_total->count;
		if (e->key.waker)
			ret_total->wake_hist[e->wake_slot] = (uint32_t)ret_total->count;
		return;
	}
	const struct hist *hist = &g_array_index(s->hists, struct hist, e->hist - 1);

	ret_total->count = whole_hist(hist->slot_q8, OFFCPU_HIST_SLOTS, ret_total->hist);
	if (e->key.waker)
		whole_hist(hist->wake_q8, OFFCPU_WAKE_SLOTS, ret_total->wake_hist);
	/* the bar of a piece of a GIL wait may be in another sum (bpf/walk/gil.bpf.h) */
	if (ret_total->count > MAX(whole_waits(e->count_q8), 1))
		sums_recount(s, i, MAX(whole_waits(e->count_q8), 1), ret_total);
}

void sums_recount(const struct sums *s, size_t i, uint64_t count, struct sums_total *total)
{
	const struct entry *e = entry_at(s, i);
	struct hist own = { 0 };
	const struct hist *hist = &own;

	if (e->hist)
		hist = &g_array_index(s->hists, struct hist, e->hist - 1);
	else
		fill_hist(e, &own);
	total->count = count;
	spread_hist(hist->slot_q8, OFFCPU_HIST_SLOTS, count, total->hist);
	if (e->key.waker)
		spread_hist(hist->wake_q8, OFFCPU_WAKE_SLOTS, count, total->wake_hist);
}
