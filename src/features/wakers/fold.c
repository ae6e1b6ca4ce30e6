/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/fold.h"

#include "base/find.h"
#include "base/hash.h"
#include "features/wakers/fold_earlier.h"
#include "fold/crossed.h"
#include "fold/parts.h"

struct waker_row {
	struct crossed_row row;
	struct offcpu_rec_waker rec;
};

struct chain_row {
	struct crossed_row row;
	struct offcpu_rec_chain rec;
};

struct fold_wakers {
	struct profile *profile;
	struct fold_stacks *stacks;
	struct crossed *wakers;	/* struct waker_row */
	struct crossed *chains;	/* struct chain_row */
	GHashTable *stories;	/* struct offcpu_wait_key -> struct offcpu_chain_sum */
	struct earlier *earlier;
};

struct fold_wakers *fold_wakers_new(struct profile *profile, struct fold_stacks *stacks)
{
	struct fold_wakers *f = g_new0(struct fold_wakers, 1);

	f->profile = profile;
	f->stacks = stacks;
	f->wakers = crossed_new(g_free);
	f->chains = crossed_new(g_free);
	f->stories = g_hash_table_new_full(wait_key_hash, wait_key_equal, g_free, g_free);
	f->earlier = earlier_new();
	return f;
}

FREES(fold_wakers_free, struct fold_wakers, f, crossed_free(f->wakers); crossed_free(f->chains);
      g_hash_table_destroy(f->stories); earlier_free(f->earlier))

void fold_wakers_add(struct fold_wakers *f, const struct offcpu_rec_waker *rec, size_t size)
{
	if (size < sizeof(*rec)) {
		fold_drop_record(f->profile);
		return;
	}
	if (crossed_find(f->wakers, rec->id))
		return;
	struct waker_row *own = g_new(struct waker_row, 1);

	*own = (struct waker_row){ .row = { .id = rec->id }, .rec = *rec };
	crossed_add(f->wakers, own);
}

guint fold_wakers_cnt(const struct fold_wakers *f)
{
	return crossed_cnt(f->wakers) + crossed_cnt(f->chains);
}

void fold_wakers_forget(struct fold_wakers *f)
{
	crossed_forget(f->wakers);
	crossed_forget(f->chains);
}

void fold_wakers_cut(struct fold_wakers *f, uint64_t edge_ns)
{
	earlier_cut(f->earlier, edge_ns);
}

void fold_wakers_next_window(struct fold_wakers *f)
{
	g_hash_table_remove_all(f->stories);
	earlier_next_window(f->earlier);
}

void fold_wakers_add_chain(struct fold_wakers *f, const struct offcpu_rec_chain *rec, size_t size)
{
	if (size < sizeof(*rec) || !rec->cnt || rec->cnt > OFFCPU_CHAIN_MAX || !rec->end ||
	    rec->end >= OFFCPU_CHAIN_END_COUNT || rec->loop_to >= rec->cnt) {
		fold_drop_record(f->profile);
		return;
	}
	if (crossed_find(f->chains, rec->id))
		return;
	struct chain_row *own = g_new(struct chain_row, 1);

	*own = (struct chain_row){ .row = { .id = rec->id }, .rec = *rec };
	crossed_add(f->chains, own);
}

/* NULL: not the id of a chain. */
static const struct offcpu_rec_chain *find_chain(const struct fold_wakers *f, uint64_t id)
{
	const struct chain_row *row = id ? crossed_find(f->chains, id) : NULL;

	return row ? &row->rec : NULL;
}

void fold_wakers_add_sleep(struct fold_wakers *f, const struct offcpu_rec_sleep *rec, size_t size)
{
	if (size < sizeof(*rec))
		fold_drop_record(f->profile);
	else
		earlier_add_sleep(f->earlier, rec);
}

void fold_wakers_add_earlier(struct fold_wakers *f, const struct offcpu_rec_earlier *rec)
{
	earlier_tell(f->earlier, rec);
}

void fold_wakers_add_sum(struct fold_wakers *f, const struct offcpu_wait_key *key, const struct offcpu_chain_sum *sum)
{
	struct offcpu_chain_sum *mine = g_hash_table_lookup(f->stories, key);

	if (!mine) {
		g_hash_table_insert(f->stories, g_memdup2(key, sizeof(*key)), g_memdup2(sum, sizeof(*sum)));
		return;
	}
	for (unsigned i = 0; i < OFFCPU_CHAIN_MAX; i++) {
		mine->hop[i].ran_ns += sum->hop[i].ran_ns;
		mine->hop[i].runnable_ns += sum->hop[i].runnable_ns;
		mine->hop[i].earlier_ns += sum->hop[i].earlier_ns;
	}
	mine->rest_ns += sum->rest_ns;
}

bool fold_wakers_find(struct fold_wakers *f, uint64_t id, uint32_t *ret_waker)
{
	const struct waker_row *row = id ? crossed_find(f->wakers, id) : NULL;
	const struct offcpu_rec_waker *rec = row ? &row->rec : NULL;

	if (!rec)
		return false;
	uint32_t kernel = fold_stacks_node(f->stacks, rec->kstack, FRAME_KERNEL);
	bool is_thread = rec->kind == OFFCPU_WAKER_TASK && rec->tid && !irq_is_handling(f->profile, kernel);
	struct offcpu_rec_waker interrupt = *rec;

	if (!is_thread && rec->kind == OFFCPU_WAKER_TASK && rec->tid) {
		interrupt.kind = OFFCPU_WAKER_HARDIRQ;
		interrupt.pid = interrupt.tid = 0;
		interrupt.ustack = interrupt.start_ns = 0;
		interrupt.comm[0] = 0;
		rec = &interrupt;
	}
	struct waker w = {
		.pid = rec->pid, .tid = rec->tid, .start_ns = rec->start_ns,
		.user = fold_stacks_node(f->stacks, rec->ustack, FRAME_USER), .kernel = kernel,
	};

	if (!is_thread)
		w.kernel = irq_own_stack(f->profile, w.kernel);
	g_autofree char *irq = irq_name(f->profile, rec, w.kernel);

	w.irq = irq;
	w.comm = irq ? "" : fold_comm(f->profile, rec->comm);
	*ret_waker = profile_waker(f->profile, &w);
	return true;
}

bool fold_wakers_first(struct fold_wakers *f, uint64_t id, uint32_t *ret_waker)
{
	const struct offcpu_rec_chain *rec = find_chain(f, id);

	return fold_wakers_find(f, rec && rec->cnt ? rec->waker[0] : id, ret_waker);
}

/* The wakers of a chain, nearest first; an interrupt ends it. 0: the first one is unknown. */
static unsigned chain_wakers(struct fold_wakers *f, const struct offcpu_rec_chain *rec, uint32_t *ret_wakers,
			     uint8_t *ret_end)
{
	unsigned cnt = 0;

	*ret_end = rec->end;	/* both enums have the same values */
	while (cnt < rec->cnt) {
		if (!fold_wakers_find(f, rec->waker[cnt], &ret_wakers[cnt])) {
			*ret_end = CHAIN_UNKNOWN;
			break;
		}
		if (profile_get_waker(f->profile, ret_wakers[cnt++])->irq) {
			*ret_end = CHAIN_INTERRUPT;
			break;
		}
	}
	return cnt;
}

/*
 * Turns the kernel's sums into the story: limited to its wakers and to the wait's time, which sampling rounds
 * differently. Unexplained time goes to the first waker. is_cut: the kernel's chain is longer.
 */
static void tell_story(const struct profile *p, const uint32_t *wakers, unsigned cnt, bool is_cut,
		       const struct offcpu_chain_sum *sum, struct story *story)
{
	const struct offcpu_chain_sum none = { 0 };
	uint64_t left_ns = story->blocked_ns;

	if (!sum)
		sum = &none;
	EACH_IN(i, struct hop, hop, story->hop, cnt) {
		if (profile_get_waker(p, wakers[i])->irq)
			break;
		hop->ran_ns = MIN(sum->hop[i].ran_ns, left_ns);
		left_ns -= hop->ran_ns;
		hop->runnable_ns = MIN(sum->hop[i].runnable_ns, left_ns);
		left_ns -= hop->runnable_ns;
		hop->earlier_ns = MIN(sum->hop[i].earlier_ns, left_ns);
		left_ns -= hop->earlier_ns;
	}
	story->rest_ns = MIN(sum->rest_ns, left_ns);
	left_ns -= story->rest_ns;
	if (is_cut || profile_get_waker(p, wakers[0])->irq)
		story->rest_ns += left_ns;
	else
		story->hop[0].ran_ns += left_ns;
}

static uint64_t scaled(uint64_t ns, uint64_t to_ns, uint64_t from_ns)
{
	return from_ns ? (uint64_t)((unsigned __int128)ns * to_ns / from_ns) : ns;
}

/* The chain's sums, scaled to the calibrated wait. False: there are none. */
static bool chain_sum(const struct fold_wakers *f, const struct offcpu_wait_key *key, uint64_t blocked_ns,
		      uint64_t said_ns, struct offcpu_chain_sum *ret_sum)
{
	const struct offcpu_chain_sum *sum = key ? g_hash_table_lookup(f->stories, key) : NULL;

	if (!sum)
		return false;
	*ret_sum = *sum;
	if (blocked_ns == said_ns)
		return true;
	for (unsigned i = 0; i < OFFCPU_CHAIN_MAX; i++) {
		ret_sum->hop[i].ran_ns = scaled(sum->hop[i].ran_ns, blocked_ns, said_ns);
		ret_sum->hop[i].runnable_ns = scaled(sum->hop[i].runnable_ns, blocked_ns, said_ns);
		ret_sum->hop[i].earlier_ns = scaled(sum->hop[i].earlier_ns, blocked_ns, said_ns);
	}
	ret_sum->rest_ns = scaled(sum->rest_ns, blocked_ns, said_ns);
	return true;
}

uint32_t fold_wakers_tell(struct fold_wakers *f, struct wake *k, uint64_t id, const struct offcpu_wait_key *key,
			  uint64_t said_ns)
{
	const GArray *earlier = key ? earlier_find(f->earlier, key) : NULL;
	const struct offcpu_rec_chain *rec = find_chain(f, id);
	struct story story = { .count = k->count, .blocked_ns = k->blocked_ns, .runnable_ns = k->runnable_ns };
	struct offcpu_chain_sum sum;
	uint32_t wakers[OFFCPU_CHAIN_MAX];
	unsigned cnt;
	uint8_t end;

	if (!rec)
		return fold_wakers_find(f, id, &k->waker) ? profile_add_wake(f->profile, k) + 1 : 0;
	cnt = chain_wakers(f, rec, wakers, &end);
	if (!cnt)
		return 0;
	k->waker = wakers[0];
	story.wake = profile_add_wake(f->profile, k);
	story.chain = earlier_chain(f->profile, wakers, cnt, end, rec->loop_to);
	tell_story(f->profile, wakers, cnt, cnt < rec->cnt,
		   chain_sum(f, key, k->blocked_ns, said_ns, &sum) ? &sum : NULL, &story);
	if (earlier)
		earlier_add_stories(f, f->profile, earlier, wakers, cnt, &story);
	else
		profile_add_story(f->profile, &story);
	return story.wake + 1;
}
