/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/sums.h"

#include <glib.h>
#include <string.h>

#include "profile/id_index.h"
#include "profile/profile.h"

struct hist {
	uint32_t slot[OFFCPU_HIST_SLOTS];
};

struct entry {
	struct offcpu_wait_key key;
	uint64_t count, blocked_ns, runnable_ns, preempted_ns, max_ns;
	uint32_t hist;	/* index + 1; 0: one wait, whose duration is max_ns */
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

void sums_free(struct sums *s)
{
	if (!s)
		return;
	g_array_unref(s->entries);
	g_array_unref(s->hists);
	id_index_free(s->index);
	g_free(s);
}

static struct entry *entry_at(const struct sums *s, size_t i)
{
	return &g_array_index(s->entries, struct entry, i);
}

static bool same_key(const void *ctx, const void *key, uint32_t id)
{
	return memcmp(&entry_at(ctx, id)->key, key, sizeof(struct offcpu_wait_key)) == 0;
}

/* Stack ids are hashes already, and come from our own programs. */
static uint64_t key_hash(const struct offcpu_wait_key *k)
{
	uint64_t h = (k->ustack ^ (k->kstack << 1)) * UINT64_C(0x9e3779b97f4a7c15);

	h ^= ((uint64_t)k->tno << 24 | (uint64_t)k->flags << 8 | k->state) * UINT64_C(0xc2b2ae3d27d4eb4f);
	return h ^ h >> 32;
}

static void add_hist(struct sums *s, struct entry *e, const uint32_t *slots)
{
	uint32_t *mine = g_array_index(s->hists, struct hist, e->hist - 1).slot;

	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++)
		mine[i] += MIN(slots[i], UINT32_MAX - mine[i]);
}

static void give_hist(struct sums *s, struct entry *e)
{
	g_array_set_size(s->hists, s->hists->len + 1);
	e->hist = s->hists->len;
	memset(&g_array_index(s->hists, struct hist, e->hist - 1), 0, sizeof(struct hist));
}

static void add_entry(struct sums *s, uint64_t hash, const struct offcpu_wait_key *key,
		      const struct offcpu_wait_sum *sum)
{
	struct entry e = {
		.key = *key, .count = sum->count, .blocked_ns = sum->blocked_ns, .runnable_ns = sum->runnable_ns,
		.preempted_ns = sum->preempted_ns, .max_ns = sum->max_ns,
	};

	if (sum->count != 1) {
		give_hist(s, &e);
		add_hist(s, &e, sum->hist);
	}
	id_index_add(s->index, hash, s->entries->len);
	g_array_append_val(s->entries, e);
}

void sums_add(struct sums *s, const struct offcpu_wait_key *key, const struct offcpu_wait_sum *sum)
{
	uint64_t hash = key_hash(key);
	int64_t found = id_index_find(s->index, hash, same_key, s, key);

	if (found < 0) {
		add_entry(s, hash, key, sum);
		return;
	}
	struct entry *e = entry_at(s, (size_t)found);

	if (!e->hist) {
		give_hist(s, e);
		g_array_index(s->hists, struct hist, e->hist - 1).slot[profile_hist_slot(e->max_ns)] = 1;
	}
	add_hist(s, e, sum->hist);
	e->count += sum->count;
	e->blocked_ns += sum->blocked_ns;
	e->runnable_ns += sum->runnable_ns;
	e->preempted_ns += sum->preempted_ns;
	e->max_ns = MAX(e->max_ns, sum->max_ns);
}

size_t sums_cnt(const struct sums *s)
{
	return s->entries->len;
}

const struct offcpu_wait_key *sums_get(const struct sums *s, size_t i, struct offcpu_wait_sum *ret_sum)
{
	const struct entry *e = entry_at(s, i);

	*ret_sum = (struct offcpu_wait_sum){
		.count = e->count, .blocked_ns = e->blocked_ns, .runnable_ns = e->runnable_ns,
		.preempted_ns = e->preempted_ns, .max_ns = e->max_ns,
	};
	if (e->hist)
		memcpy(ret_sum->hist, g_array_index(s->hists, struct hist, e->hist - 1).slot,
		       sizeof(ret_sum->hist));
	else
		ret_sum->hist[profile_hist_slot(e->max_ns)] = 1;
	return &e->key;
}
