/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/pack.h"

#include "features/wakers/history.h"
#include "store/blob.h"
#include "store/pack_part.h"

enum dim { COUNT, BLOCKED, RUNNABLE, PREEMPTED, DIM_CNT };

/* The sampled waits of a thread in one state. */
struct group {
	/* index + 1 of the row with the largest error, which absorbs what rounding the others leaves */
	uint32_t taker;
	int64_t left[DIM_CNT];
};

static bool is_sampled(const struct wait *w)
{
	return w->off_cpu_se_ns || w->count_se;
}

static uint64_t *number_of_wait(struct wait *w, enum dim dim)
{
	uint64_t *const numbers[] = { &w->count, &w->blocked_ns, &w->runnable_ns, &w->preempted_ns };

	return numbers[dim];
}

static uint64_t *number_of_wake(struct wake *w, enum dim dim)
{
	uint64_t *const numbers[] = { &w->count, &w->blocked_ns, &w->runnable_ns };

	return numbers[dim];
}

static unsigned shift_of(const struct wait *w, enum dim dim)
{
	return pack_shift(dim == COUNT ? w->count_se : w->off_cpu_se_ns);
}

static struct wait *wait_at(struct profile *p, guint i)
{
	return &g_array_index(p->waits, struct wait, i);
}

static struct group *group_of(struct group *groups, const struct wait *w)
{
	return &groups[(gsize)w->thread * PACK_STATE_CNT + pack_state_at(w->state)];
}

/* The count never goes below the number of wakers: each ended at least one wait. */
static uint64_t rounded(struct wait *w, uint32_t wakers, enum dim dim)
{
	uint64_t own = *number_of_wait(w, dim), near = blob_round(own, shift_of(w, dim));

	return dim == COUNT && near < wakers ? own : near;
}

static void find_takers(struct profile *p, struct group *groups)
{
	for (guint i = 0; i < p->waits->len; i++) {
		struct wait *w = wait_at(p, i);

		if (!is_sampled(w))
			continue;
		struct group *g = group_of(groups, w);

		w->off_cpu_se_ns = pack_error_value(pack_error(w->off_cpu_se_ns));
		w->count_se = pack_error_value(pack_error(w->count_se));
		if (!g->taker || w->off_cpu_se_ns > wait_at(p, g->taker - 1)->off_cpu_se_ns)
			g->taker = i + 1;
	}
}

/* Sums up what the taker has to absorb. */
static void sum_up_left(struct profile *p, const uint32_t *wakers, struct group *groups)
{
	for (guint i = 0; i < p->waits->len; i++) {
		struct wait *w = wait_at(p, i);
		struct group *g = group_of(groups, w);

		for (unsigned dim = 0; dim < DIM_CNT && is_sampled(w) && g->taker != i + 1; dim++)
			g->left[dim] += (int64_t)(*number_of_wait(w, dim) - rounded(w, wakers[i], dim));
	}
}

/* The taker must not become negative. */
static bool may_take(struct profile *p, const uint32_t *wakers, const struct group *g, enum dim dim)
{
	uint64_t has = *number_of_wait(wait_at(p, g->taker - 1), dim);
	uint64_t least = dim == COUNT ? MAX(wakers[g->taker - 1], 1) : 0;

	return g->left[dim] >= 0 || has >= (uint64_t)-g->left[dim] + least;
}

static void round_waits(struct profile *p, const uint32_t *wakers, const struct group *groups, const bool *may)
{
	for (guint i = 0; i < p->waits->len; i++) {
		struct wait *w = wait_at(p, i);
		gsize at = (gsize)w->thread * PACK_STATE_CNT + pack_state_at(w->state);

		if (!is_sampled(w))
			continue;
		for (unsigned dim = 0; dim < DIM_CNT; dim++) {
			uint64_t *n = number_of_wait(w, dim);

			if (!may[at * DIM_CNT + dim])
				continue;
			*n = groups[at].taker == i + 1 ? *n + (uint64_t)groups[at].left[dim] : rounded(w, wakers[i], dim);
		}
	}
}

/* Rounds from the longest slot down.  The shortest absorbs the remainder. */
static void round_hist(uint32_t *hist, uint64_t count, uint64_t sampled_below_ns)
{
	uint32_t *last = NULL;

	for (unsigned i = PROFILE_HIST_SLOTS; i--;) {
		uint64_t n = hist[i], bits = blob_bits(n);

		if (!n)
			continue;
		if (UINT64_C(1) << i < sampled_below_ns && bits > PACK_HIST_BITS)
			n = ((n >> (bits - PACK_HIST_BITS - 1)) + 1) >> 1 << (bits - PACK_HIST_BITS);
		n = MIN(n, MIN(count, UINT32_MAX));
		hist[i] = (uint32_t)n;
		count -= n;
		last = n ? &hist[i] : last;
	}
	if (last)
		*last = (uint32_t)MIN(*last + count, UINT32_MAX);
}

/* Only the median and the maximum of delays are used, so all below the median moves to the slot just below it. */
static void round_delays(uint32_t *hist, uint64_t count, uint64_t sampled_below_ns)
{
	uint64_t all = 0;

	for (unsigned i = PROFILE_HIST_SLOTS; i--;) {
		if (all > count / 2 && hist[i]) {
			for (unsigned low = 0; low < i; low++)
				hist[low] = 0;
			break;
		}
		all += hist[i];
	}
	round_hist(hist, count, sampled_below_ns);
}

/*
 * Many waits were not kept, so eight bits of the maximum suffice.  Truncating keeps it in its slot of the histogram.
 */
static void round_max(struct wait *w, uint64_t sampled_below_ns)
{
	unsigned bits = blob_bits(w->max_ns);

	if (bits > PACK_MAX_BITS && w->max_ns < sampled_below_ns)
		w->max_ns = w->max_ns >> (bits - PACK_MAX_BITS) << (bits - PACK_MAX_BITS);
}

static int by_wait(gconstpointer a, gconstpointer b, gpointer p)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint32_t of_x = profile_wake(p, x)->wait, of_y = profile_wake(p, y)->wait;

	return of_x != of_y ? (of_x > of_y) - (of_x < of_y) : (x > y) - (x < y);
}

static struct wake *wake_at(struct profile *p, uint32_t i)
{
	return &g_array_index(p->wakes, struct wake, i);
}

/*
 * Rounds the wakings of one wait row.  If they added up to the whole row before, the last one absorbs the remainder.
 */
static void round_wakes(struct profile *p, const uint32_t *wakes, guint cnt, uint64_t before, enum dim dim)
{
	struct wait *of = wait_at(p, wake_at(p, wakes[0])->wait);
	uint64_t all = 0, left = *number_of_wait(of, dim);
	unsigned shift = shift_of(of, dim);

	for (guint i = 0; i < cnt; i++)
		all += *number_of_wake(wake_at(p, wakes[i]), dim);
	for (guint i = 0; i < cnt; i++) {
		uint64_t *n = number_of_wake(wake_at(p, wakes[i]), dim), own = blob_round(*n, shift);
		uint64_t keep = dim == COUNT ? cnt - i - 1 : 0;	/* each following waker ended at least one wait */

		if (all == before && i + 1 == cnt)
			own = left;
		*n = MIN(own, left > keep ? left - keep : 0);
		left -= *n;
	}
}

static void round_all_wakes(struct profile *p, const uint64_t *before)
{
	g_autofree uint32_t *order = g_new(uint32_t, p->wakes->len + 1);

	for (guint i = 0; i < p->wakes->len; i++)
		order[i] = i;
	if (p->wakes->len)
		g_qsort_with_data(order, (gint)p->wakes->len, sizeof(*order), by_wait, p);
	for (guint from = 0, to; from < p->wakes->len; from = to) {
		uint32_t wait = wake_at(p, order[from])->wait;

		for (to = from + 1; to < p->wakes->len && wake_at(p, order[to])->wait == wait;)
			to++;
		if (!is_sampled(wait_at(p, wait)))
			continue;
		for (unsigned dim = COUNT; dim <= RUNNABLE; dim++)
			round_wakes(p, &order[from], to - from, before[(gsize)wait * DIM_CNT + dim], dim);
		for (guint i = from; i < to; i++)
			round_delays(wake_at(p, order[i])->hist, wake_at(p, order[i])->count, p->info.sampling.max_ns);
	}
}

void digits_round(struct profile *p)
{
	const gsize cnt = (gsize)p->threads->len * PACK_STATE_CNT, each_cnt = cnt * DIM_CNT;
	g_autofree struct group *groups = g_new0(struct group, cnt + 1);
	g_autofree bool *may = g_new0(bool, each_cnt + 1);
	g_autofree uint32_t *wakers = g_new0(uint32_t, p->waits->len + 1);	/* number of wakers of each wait */
	g_autofree uint64_t *before = g_new(uint64_t, (gsize)p->waits->len * DIM_CNT + 1);

	for (guint i = 0; i < p->waits->len; i++)
		for (unsigned dim = 0; dim < DIM_CNT; dim++)
			before[(gsize)i * DIM_CNT + dim] = *number_of_wait(wait_at(p, i), dim);
	find_takers(p, groups);
	for (guint i = 0; i < p->wakes->len; i++)
		wakers[profile_wake(p, i)->wait]++;
	sum_up_left(p, wakers, groups);
	for (gsize at = 0; at < cnt; at++)
		for (unsigned dim = 0; dim < DIM_CNT && groups[at].taker; dim++)
			may[at * DIM_CNT + dim] = may_take(p, wakers, &groups[at], dim);
	round_waits(p, wakers, groups, may);
	for (guint i = 0; i < p->waits->len; i++) {
		struct wait *w = wait_at(p, i);

		if (!is_sampled(w))
			continue;
		round_max(w, p->info.sampling.max_ns);
		round_hist(w->hist, w->count, p->info.sampling.max_ns);
	}
	g_autofree struct wake *wakes = g_memdup2(p->wakes->data, (gsize)p->wakes->len * sizeof(struct wake));

	round_all_wakes(p, before);
	stories_fit(p, wakes);
}
