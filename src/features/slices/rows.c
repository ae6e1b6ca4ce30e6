/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/slices/rows.h"

#include "features/slices/rows_build.h"
#include "profile/profile_rows.h"

bool profile_has_slices(const struct profile *p)
{
	return p->slices != NULL;
}

uint64_t profile_slice_ns(const struct profile *p)
{
	return p->slices->length_ns;
}

uint32_t profile_slice_cnt(const struct profile *p)
{
	return p->slices->cells->len;
}

bool slices_for_each_cell(const struct slices *s, slice_cell_fn fn, void *data)
{
	struct slice_cell cell;

	EACH_POINTER(i, const GByteArray, bytes, s->cells) {
		struct cursor from = { 0 };
		uint32_t last = 0;

		if (bytes)
			from = cursor_of(bytes->data, bytes->len);
		while (cursor_left(&from)) {
			if (!slice_cell_get(&from, last, &cell))
				return false;
			last = cell.row;
			if (!fn(i, &cell, data))
				return false;
		}
	}
	return true;
}

/* How much of each class had passed after `ns`: first blocked, then runnable; or all preempted. */
static void passed_by(const struct slice_cell *c, uint64_t ns, struct slice_part *ret_part)
{
	uint64_t sum_ns = slice_cell_ns(c);
	uint64_t passed_ns = ns >= c->max_ns ? sum_ns : (uint64_t)((unsigned __int128)sum_ns * ns / c->max_ns);

	ret_part->blocked_ns = MIN(passed_ns, c->blocked_ns);
	passed_ns -= ret_part->blocked_ns;
	ret_part->runnable_ns = MIN(passed_ns, c->runnable_ns);
	ret_part->preempted_ns = passed_ns - ret_part->runnable_ns;
}

void slice_cell_within(const struct slice_cell *c, uint64_t from_ns, uint64_t to_ns, struct slice_part *ret_part)
{
	struct slice_part before = { 0 };

	passed_by(c, from_ns, &before);
	passed_by(c, to_ns, ret_part);
	ret_part->blocked_ns -= before.blocked_ns;
	ret_part->runnable_ns -= before.runnable_ns;
	ret_part->preempted_ns -= before.preempted_ns;
}

/* A whole row as a single cell. */
static void fill_whole(const struct wait *w, struct slice_cell *cell)
{
	cell->blocked_ns = w->blocked_ns;
	cell->runnable_ns = w->runnable_ns;
	cell->preempted_ns = w->preempted_ns;
	cell->max_ns = w->max_ns;
	cell->count_q8 = w->count * SLICE_COUNT_Q8;
	cell->bars.cnt = 0;
	for (uint8_t i = 0; i < PROFILE_HIST_SLOTS; i++)
		if (w->hist[i])
			cell->bars.bar[cell->bars.cnt++] =
				(struct slice_bar){ .slot = i, .count_q8 = (uint64_t)w->hist[i] * SLICE_COUNT_Q8 };
}

void slice_cell_complete(const struct profile *p, struct slice_cell *cell)
{
	const struct wait *w = profile_wait(p, slice_wait_of_code(p, cell->row));

	if (cell->is_whole) {
		fill_whole(w, cell);
	} else if (!cell->is_crossing) {
		/* undo the rounding up: no wait is longer than the row's longest, nor than all of these together */
		if (w->max_ns <= cell->max_ns && cell->max_ns - w->max_ns <= cell->max_ns / SLICE_MAX_STEPS)
			cell->max_ns = w->max_ns;
		cell->max_ns = MIN(cell->max_ns, slice_cell_ns(cell));
	}
}

static uint64_t share_in(uint64_t all, uint64_t from_ns, uint64_t to_ns, uint64_t of_ns)
{
	return (uint64_t)((unsigned __int128)all * to_ns / of_ns - (unsigned __int128)all * from_ns / of_ns);
}

void slice_cell_even_within(const struct profile *p, const struct slice_cell *c, const struct thread *t,
			    uint64_t from_ns, uint64_t to_ns, struct slice_cell *ret_cell)
{
	const uint64_t start_ns = p->info.start_ns,
		       end_ns = to_ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + to_ns;
	const uint64_t from = CLAMP(start_ns + from_ns, t->from_ns, t->to_ns) - t->from_ns;
	const uint64_t to = CLAMP(end_ns, t->from_ns, t->to_ns) - t->from_ns;
	const uint64_t lived_ns = thread_observed_ns(t);

	*ret_cell = *c;
	/* it lived for an instant only */
	if (!lived_ns && t->from_ns >= start_ns + from_ns && t->from_ns < end_ns)
		return;
	ret_cell->blocked_ns = lived_ns ? share_in(c->blocked_ns, from, to, lived_ns) : 0;
	ret_cell->runnable_ns = lived_ns ? share_in(c->runnable_ns, from, to, lived_ns) : 0;
	ret_cell->preempted_ns = lived_ns ? share_in(c->preempted_ns, from, to, lived_ns) : 0;
	ret_cell->count_q8 = 0;
	for (unsigned i = 0; i < c->bars.cnt; i++) {
		ret_cell->bars.bar[i].count_q8 = lived_ns ? share_in(c->bars.bar[i].count_q8, from, to, lived_ns) : 0;
		ret_cell->count_q8 += ret_cell->bars.bar[i].count_q8;
	}
}

struct visiting {
	const struct profile *p;
	slice_part_fn fn;
	void *data;
};

static struct slice_part part_of_row(const struct profile *p, uint32_t code)
{
	return (struct slice_part){ .wait = slice_wait_of_code(p, code), .wake = code % 2 ? code / 2 + 1 : 0 };
}

/* Values that count where waits end. */
static void part_ends(struct slice_part *part, const struct slice_cell *cell)
{
	part->count_q8 = cell->count_q8;
	part->max_ns = cell->max_ns;
	part->bars = cell->bars.bar;
	part->bar_cnt = cell->bars.cnt;
}

/* Visits a wait that ends in `last`, from the slice in which it began. */
static void visit_crossing(const struct visiting *v, uint32_t last, const struct slice_cell *cell)
{
	const uint64_t length_ns = v->p->slices->length_ns;
	const uint64_t start_ns = last * length_ns - cell->before_ns;

	for (uint32_t i = (uint32_t)(start_ns / length_ns); i <= last; i++) {
		struct slice_part part = part_of_row(v->p, cell->row);
		uint64_t begin_ns = i * length_ns;

		slice_cell_within(cell, begin_ns > start_ns ? begin_ns - start_ns : 0,
				  i < last ? begin_ns + length_ns - start_ns : UINT64_MAX, &part);
		if (i == last)
			part_ends(&part, cell);
		v->fn(i, &part, v->data);
	}
}

static void visit_sum(const struct visiting *v, uint32_t slice, const struct slice_cell *cell)
{
	struct slice_part part = part_of_row(v->p, cell->row);

	part.blocked_ns = cell->blocked_ns;
	part.runnable_ns = cell->runnable_ns;
	part.preempted_ns = cell->preempted_ns;
	part_ends(&part, cell);
	v->fn(slice, &part, v->data);
}

static void visit_even(const struct visiting *v, const struct slice_cell *cell)
{
	const struct thread *t = profile_thread(v->p, profile_wait(v->p, cell->row / 2)->thread);
	const uint64_t length_ns = v->p->slices->length_ns;
	const uint32_t cnt = v->p->slices->cells->len;
	struct slice_cell here;

	for (uint32_t i = 0; i < cnt; i++) {
		slice_cell_even_within(v->p, cell, t, i * length_ns, i + 1 < cnt ? (i + 1) * length_ns : UINT64_MAX,
				       &here);
		if (slice_cell_ns(&here) || here.count_q8)
			visit_sum(v, i, &here);
	}
}

static bool visit_cell(uint32_t slice, struct slice_cell *cell, void *data)
{
	const struct visiting *v = data;

	if (cell->is_crossing) {
		visit_crossing(v, slice, cell);
		return true;
	}
	slice_cell_complete(v->p, cell);
	if (cell->is_even)
		visit_even(v, cell);
	else
		visit_sum(v, slice, cell);
	return true;
}

void profile_slices_visit(const struct profile *p, slice_part_fn fn, void *data)
{
	struct visiting v = { .p = p, .fn = fn, .data = data };

	slices_for_each_cell(p->slices, visit_cell, &v);
}

struct totalling {
	struct slice_total *totals;
	const bool *waits;
};

/* Counts stay in fractions of a wait until all are added. */
static void add_to_total(uint32_t slice, const struct slice_part *part, void *data)
{
	const struct totalling *t = data;
	struct slice_total *total = &t->totals[slice];

	if (t->waits && !t->waits[part->wait])
		return;
	total->blocked_ns += part->blocked_ns;
	total->runnable_ns += part->runnable_ns;
	total->preempted_ns += part->preempted_ns;
	for (unsigned i = 0; i < part->bar_cnt; i++)
		total->hist[part->bars[i].slot] = profile_sum(total->hist[part->bars[i].slot], part->bars[i].count_q8);
}

uint64_t slice_whole_bar(uint64_t *sum_q8, uint64_t count_q8)
{
	uint64_t before = *sum_q8 / SLICE_COUNT_Q8 + (*sum_q8 % SLICE_COUNT_Q8 >= SLICE_COUNT_Q8 / 2);

	*sum_q8 = profile_sum(*sum_q8, count_q8);
	return *sum_q8 / SLICE_COUNT_Q8 + (*sum_q8 % SLICE_COUNT_Q8 >= SLICE_COUNT_Q8 / 2) - before;
}

static void count_whole(struct slice_total *total)
{
	uint64_t sum_q8 = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		total->hist[i] = slice_whole_bar(&sum_q8, total->hist[i]);
		total->count += total->hist[i];
	}
}

struct slice_total *profile_slice_totals(const struct profile *p, const bool *waits)
{
	const uint32_t cnt = profile_slice_cnt(p);
	struct slice_total *totals = g_new0(struct slice_total, (gsize)cnt + 1);
	struct totalling t = { .totals = totals, .waits = waits };

	profile_slices_visit(p, add_to_total, &t);
	for (uint32_t i = 0; i < cnt; i++) {
		totals[i].from_ns = i * p->slices->length_ns;
		totals[i].to_ns = i + 1 < cnt ? (i + 1) * p->slices->length_ns : p->info.duration_ns;
		count_whole(&totals[i]);
	}
	return totals;
}

/* The sum of a row's cells, of waits or wakes. */
struct check_sum {
	uint64_t blocked_ns, runnable_ns, preempted_ns, count_q8;
};

struct checking {
	const struct profile *p;
	uint64_t steps, steps_max;	/* of crossing waits: slices crossed */
	struct check_sum *waits, *wakes;
};

static void add_check(struct check_sum *sum, const struct slice_cell *cell)
{
	PROFILE_SUM_MEMBERS(sum, cell, blocked_ns, runnable_ns, preempted_ns, count_q8);
}

static bool is_within_window(const struct profile *p, uint32_t slice, const struct slice_cell *cell)
{
	uint64_t begin_ns = slice * p->slices->length_ns;
	uint64_t end_ns = slice + 1 < p->slices->cells->len ? begin_ns + p->slices->length_ns : p->info.duration_ns;

	return cell->before_ns <= begin_ns && cell->max_ns >= cell->before_ns &&
	       cell->max_ns - cell->before_ns <= end_ns - begin_ns;
}

static bool check_cell(uint32_t slice, struct slice_cell *cell, void *data)
{
	struct checking *c = data;
	bool is_wake = cell->row % 2;

	if (cell->row / 2 >= (is_wake ? c->p->wakes->len : c->p->waits->len) || cell->has_delays != is_wake)
		return false;
	if (cell->is_even)
		c->steps += c->p->slices->cells->len;
	if (cell->is_crossing) {
		if (!is_within_window(c->p, slice, cell))
			return false;
		c->steps += cell->before_ns / c->p->slices->length_ns + 2;
	}
	if (c->steps > c->steps_max)
		return false;
	slice_cell_complete(c->p, cell);
	add_check(&c->waits[slice_wait_of_code(c->p, cell->row)], cell);
	if (is_wake)
		add_check(&c->wakes[cell->row / 2], cell);
	return true;
}

/*
 * Counts are rounded where waits were sampled; those of wakers as they were found. A row of pieces only, of a wait
 * that counts in another row (the GIL), still counts as one.
 */
static bool adds_up(const struct check_sum *sum, uint64_t count, uint64_t blocked_ns, uint64_t runnable_ns,
		    bool is_exact)
{
	return sum->blocked_ns == blocked_ns && sum->runnable_ns == runnable_ns &&
	       (!is_exact || sum->count_q8 == count * SLICE_COUNT_Q8 || (!sum->count_q8 && count == 1));
}

static bool check_sums(const struct checking *c, GError **error)
{
	bool is_exact = !profile_is_sampled(c->p);

	EACH_ROW(i, const struct wait, w, c->p->waits)
		if (!adds_up(&c->waits[i], w->count, w->blocked_ns, w->runnable_ns, is_exact) ||
		    c->waits[i].preempted_ns != w->preempted_ns)
			return profile_damaged(error, "the slices of wait %u do not add up to it", i);
	for (guint i = 0; is_exact && i < c->p->wakes->len; i++) {
		const struct wake *w = profile_wake(c->p, i);

		if (!adds_up(&c->wakes[i], w->count, w->blocked_ns, w->runnable_ns, true))
			return profile_damaged(error, "the slices of waking %u do not add up to it", i);
	}
	return true;
}

bool slices_check(const struct profile *p, GError **error)
{
	struct checking c = { .p = p };

	if (!p->slices)
		return true;
	if (p->slices->length_ns == 0 || p->slices->length_ns > PROFILE_NS_MAX ||
	    p->slices->cells->len > SLICES_MAX ||
	    p->slices->cells->len != slices_cnt_of(p->info.duration_ns, p->slices->length_ns))
		return profile_damaged(error, "its slices are not those of its window");
	/* A thread crosses each boundary once; threads whose accounts were lost share a row. */
	c.steps_max = 3 * (uint64_t)p->slices->cells->len * (p->threads->len + 4096);
	c.waits = g_new0(struct check_sum, (gsize)p->waits->len + 1);
	c.wakes = g_new0(struct check_sum, (gsize)p->wakes->len + 1);
	bool ok = slices_for_each_cell(p->slices, check_cell, &c);

	if (ok)
		ok = check_sums(&c, error);
	else
		profile_damaged(error, "a part of a wait in its slices is out of range");

	g_free(c.waits);
	g_free(c.wakes);
	return ok;
}
