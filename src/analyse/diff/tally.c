/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/compare.h"

#include <math.h>
#include <string.h>

#include "analyse/diff/stats.h"
#include "base/hash.h"
#include "profile/profile.h"

/* Hash table of cells by key and thread: by function, there is a look-up for each frame of each wait. */
struct cell_index {
	uint32_t *slots;	/* index of a cell + 1 */
	size_t mask;
};

static size_t slot_of(const struct cell_index *index, const GArray *cells, uint32_t key, uint32_t thread)
{
	size_t i = hash_end(hash_more(key, thread)) & index->mask;

	while (index->slots[i]) {
		const struct tally_cell *c = &g_array_index(cells, struct tally_cell, index->slots[i] - 1);
		if (c->key == key && c->thread == thread)
			break;
		i = (i + 1) & index->mask;
	}
	return i;
}

static void index_grow(struct cell_index *index, const GArray *cells)
{
	g_free(index->slots);
	index->mask = index->mask * 2 + 1;
	index->slots = g_new0(uint32_t, index->mask + 1);
	EACH_ROW(i, const struct tally_cell, c, cells)
		index->slots[slot_of(index, cells, c->key, c->thread)] = i + 1;
}

static struct tally_cell *cell_of(struct cell_index *index, GArray *cells, uint32_t key, uint32_t thread)
{
	size_t slot = slot_of(index, cells, key, thread);

	if (!index->slots[slot]) {
		struct tally_cell c = { .key = key, .thread = thread };

		g_array_append_val(cells, c);
		index->slots[slot] = cells->len;
		if (cells->len * 2 > index->mask) {
			index_grow(index, cells);
			return &g_array_index(cells, struct tally_cell, cells->len - 1);
		}
	}
	return &g_array_index(cells, struct tally_cell, index->slots[slot] - 1);
}

static struct diff_amount *amount_of(struct tally *t, const struct profile *p, uint32_t key, uint32_t wait)
{
	/* Amounts are large, so spare capacity is left untouched. */
	if (key >= t->keys_room) {
		t->keys_room = MAX(key + 1, 2 * t->keys_room);
		t->amounts = g_renew(struct diff_amount, t->amounts, t->keys_room);
		t->waits = g_renew(uint32_t, t->waits, t->keys_room);
		t->batches_of = g_renew(uint32_t, t->batches_of, t->keys_room);
	}
	if (key >= t->keys_cnt) {
		memset(t->amounts + t->keys_cnt, 0, (key + 1 - t->keys_cnt) * sizeof(*t->amounts));
		memset(t->waits + t->keys_cnt, 0, (key + 1 - t->keys_cnt) * sizeof(*t->waits));
		memset(t->batches_of + t->keys_cnt, 0, (key + 1 - t->keys_cnt) * sizeof(*t->batches_of));
		t->keys_cnt = key + 1;
	}
	if (!t->waits[key] ||
	    wait_or_on_cpu_ns(profile_wait(p, wait)) > wait_or_on_cpu_ns(profile_wait(p, t->waits[key] - 1)))
		t->waits[key] = wait + 1;
	return &t->amounts[key];
}

/* Sum of squared durations; on-CPU samples count as events of equal length. */
static double squares_of(const struct wait *w)
{
	if (w->state == ON_CPU_STATE)
		return (double)w->on_cpu_ns * (double)w->on_cpu_ns / (double)MAX(w->count, 1);
	return stats_squares(w->hist, wait_off_cpu_ns(w), w->max_ns);
}

/*
 * Squared deviations of a row's waits from their mean: by the histogram, or by the distance of the maximum from the
 * mean if that is smaller (Bhatia and Davis).  Preemptions are caused by others, so their number is random too.
 */
static double inner_squares_of(const struct wait *w, double squares)
{
	double all = (double)wait_or_on_cpu_ns(w), mean = w->count ? all / (double)w->count : 0;
	double by_max = all * fmax((double)w->max_ns - mean, 0);

	if (w->state == 'R')
		return squares;
	return fmin(fmax(squares - all * mean, 0), by_max);
}

static void add_to_cell(struct tally_cell *c, const struct wait *w, const struct diff_part *part, double squares)
{
	uint64_t all = wait_or_on_cpu_ns(w);
	double share = all ? (double)part->ns / (double)all : 1;
	double of_part = squares * share * share;

	/*
	 * How the part is distributed is unknown.  A small part of the waits' time is probably in a few of them, so it
	 * is assumed to vary threefold.
	 */
	if (share < 0.5 && w->count)
		of_part = MAX(of_part, 4.0 * (double)part->ns * (double)part->ns / (double)w->count);
	c->ns += part->ns;
	c->squares += of_part;
	c->inner_squares += share * share * inner_squares_of(w, squares);
	if (w->state == ON_CPU_STATE)
		return;	/* samples are not waits; their error is in the squares */
	c->sampled += share * share * (double)w->off_cpu_se_ns * (double)w->off_cpu_se_ns;
	c->count += w->count;
	if (!part->is_main || (w->flags & (WAIT_OPEN_AT_START | WAIT_OPEN_AT_END)))
		return;
	c->whole_ns += all;
	c->whole_cnt += w->count;
	c->whole_squares += squares;
}

static void add_to_amount(struct diff_amount *a, const struct wait *w, const struct diff_part *part, bool is_idle)
{
	a->off_cpu_ns += part->ns;
	a->idle_ns += is_idle ? MIN(part->ns, w->blocked_ns) : 0;
	if (!part->is_main || w->state == ON_CPU_STATE)
		return;
	a->count += w->count;
	if (w->flags & (WAIT_OPEN_AT_START | WAIT_OPEN_AT_END))
		return;
	a->whole_ns += wait_off_cpu_ns(w);
	a->whole_cnt += w->count;
	a->max_ns = MAX(a->max_ns, w->max_ns);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		a->hist[i] += w->hist[i];
}

static void add_to_batches(struct tally *t, const struct diff_side_keys *s, uint32_t wait, const struct diff_part *part)
{
	if (!row_batches_has(s->batches, wait))
		return;
	if (!t->batches_of[part->key]) {
		g_array_set_size(t->batches, t->batches->len + 1);
		t->batches_of[part->key] = t->batches->len;
	}
	row_batches_add(s->batches, wait, part,
			&g_array_index(t->batches, struct batches, t->batches_of[part->key] - 1));
}

/* Counting sort of cells by key; threads stay in order. */
static void sort_cells(struct tally *t)
{
	GArray *sorted = g_array_sized_new(FALSE, FALSE, sizeof(struct tally_cell), t->cells->len);

	g_array_set_size(sorted, t->cells->len);
	t->first = g_new0(uint32_t, t->keys_cnt + 2);
	for (uint32_t i = 0; i < t->cells->len; i++)
		t->first[g_array_index(t->cells, struct tally_cell, i).key + 2]++;
	for (uint32_t i = 2; i < t->keys_cnt + 2; i++)
		t->first[i] += t->first[i - 1];
	EACH_ROW(i, const struct tally_cell, c, t->cells)
		g_array_index(sorted, struct tally_cell, t->first[c->key + 1]++) = *c;
	g_array_unref(t->cells);
	t->cells = sorted;
	for (uint32_t i = 0; i < t->keys_cnt; i++)
		t->amounts[i].threads_cnt = t->first[i + 1] - t->first[i];
}

/* Keeps the selected parts as parts of key 0.  Functions overlap, so only one counts per wait. */
static void filter_parts(GArray *parts, const struct tally_filter *filter, bool overlaps)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < parts->len && !(overlaps && kept); i++) {
		struct diff_part part = g_array_index(parts, struct diff_part, i);

		if (!filter->wants(part.key, filter->data))
			continue;
		part.key = 0;
		g_array_index(parts, struct diff_part, kept++) = part;
	}
	g_array_set_size(parts, kept);
}

struct tally *tally_new(struct diff_keys *k, enum diff_side side, enum diff_by by, const struct selection *selection,
			const struct tally_filter *filter)
{
	struct tally *t = g_new0(struct tally, 1);
	const struct profile *p = k->side[side].p;
	struct cell_index index = { .slots = g_new0(uint32_t, 4096), .mask = 4095 };
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct diff_part));

	t->cells = g_array_new(FALSE, FALSE, sizeof(struct tally_cell));
	t->batches = g_array_new(FALSE, TRUE, sizeof(struct batches));
	EACH_ROW(i, const struct wait, w, p->waits) {
		if (selection && !selection->waits[i])
			continue;
		double squares = squares_of(w);

		g_array_set_size(parts, 0);
		diff_keys_of(k, side, by, i, parts);
		if (filter)
			filter_parts(parts, filter, by == DIFF_BY_FUNCTION);
		EACH_ROW(n, const struct diff_part, part, parts) {
			add_to_cell(cell_of(&index, t->cells, part->key, w->thread), w, part, squares);
			add_to_amount(amount_of(t, p, part->key, i), w, part,
				      diff_keys_is_idle(k, side, i));
			add_to_batches(t, &k->side[side], i, part);
		}
	}
	g_free(index.slots);
	sort_cells(t);
	return t;
}

FREES(tally_free, struct tally, t, g_array_unref(t->cells); g_free(t->first); g_free(t->amounts); g_free(t->waits);
      g_free(t->batches_of); g_array_unref(t->batches))
