/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "base/refuse.h"
#include "features/requests/rows.h"
#include "features/slices/rows.h"
#include "features/slices/rows_build.h"
#include "features/tasks/rows.h"
#include "profile/cut_accounts.h"
#include "profile/profile.h"

/*
 * Cuts a profile to a range by adding each wait again, with the part of it that lies in the range, as if only the
 * range had been recorded. A wait that crosses an edge is open there.
 */
struct cutting {
	struct profile *p;
	struct profile old;		/* the profile before: its waits, wakes and slices */
	uint64_t from_ns, to_ns;	/* since the window's start */
	uint64_t length_ns;
	struct cut_accounts *accounts;
	struct slice_builder *builder;
	GArray *codes;			/* the new rows of the slice builder's cells */
};

static const struct wait *old_wait(const struct cutting *c, uint32_t code)
{
	return profile_wait(&c->old, slice_wait_of_code(&c->old, code));
}

static void fill_hist(const struct slice_hist *bars, uint32_t *hist)
{
	uint64_t sum_q8 = 0;
	unsigned last = 0;
	bool has_any = false;

	for (unsigned i = 0; i < bars->cnt; i++) {
		uint64_t count = slice_whole_bar(&sum_q8, bars->bar[i].count_q8);

		last = bars->bar[i].slot;
		hist[last] = (uint32_t)MIN(hist[last] + count, UINT32_MAX);
		has_any |= count > 0;
	}
	if (!has_any)
		hist[last] = 1;
}

static uint64_t hist_count(const uint32_t *hist)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		count += hist[i];
	return count;
}

/* The row of the waker in the new profile + 1. */
static uint32_t add_wake(const struct cutting *c, const struct slice_cell *cell, uint32_t wait, const struct wait *w)
{
	struct wake wake = *profile_wake(&c->old, cell->row / 2);

	wake.wait = wait;
	wake.count = w->count;
	wake.blocked_ns = w->blocked_ns;
	wake.runnable_ns = w->runnable_ns;
	memset(wake.hist, 0, sizeof(wake.hist));
	fill_hist(&cell->delays, wake.hist);
	return profile_add_wake(c->p, &wake) + 1;
}

/* The share of a standard error: variances are proportional. */
static uint64_t share_of_error(uint64_t error, uint64_t part, uint64_t all)
{
	return all ? (uint64_t)llround((double)error * sqrt((double)part / (double)all)) : 0;
}

/* *cell is the part in the range; at_ns: its end in the old window. */
static void add_cell(struct cutting *c, struct slice_cell *cell, uint8_t flags, bool has_waker, uint64_t at_ns)
{
	const struct wait *old = old_wait(c, cell->row);
	struct wait w = {
		.user = old->user, .kernel = old->kernel, .object = old->object, .state = old->state,
		.flags = old->flags | flags, .blocked_ns = cell->blocked_ns, .runnable_ns = cell->runnable_ns,
		.preempted_ns = cell->preempted_ns, .max_ns = cell->max_ns,
	};

	if (!cut_accounts_thread(c->accounts, old->thread, &w.thread))
		return;
	fill_hist(&cell->bars, w.hist);
	w.count = hist_count(w.hist);
	w.off_cpu_se_ns = share_of_error(old->off_cpu_se_ns, wait_off_cpu_ns(&w), wait_off_cpu_ns(old));
	w.count_se = share_of_error(old->count_se, w.count, old->count);
	uint32_t wait = profile_add_wait(c->p, &w);
	uint32_t wake = has_waker ? add_wake(c, cell, wait, &w) : 0;
	uint32_t code = wake ? slice_code_of_wake(wake - 1) : slice_code_of_wait(wait);

	cell->row = c->codes->len;
	cell->has_delays = wake != 0;
	g_array_append_val(c->codes, code);
	if (cell->is_crossing)
		slice_builder_add_wait(c->builder, at_ns - c->from_ns - cell->max_ns, cell);
	else
		slice_builder_add(c->builder, at_ns - c->from_ns, cell);
}

/* Adds a wait of [start_ns, end_ns) that has some time, or its end, in the range. */
static void cut_wait(struct cutting *c, struct slice_cell *cell, uint64_t start_ns, uint64_t end_ns, bool ends_within)
{
	uint64_t from_ns = MAX(start_ns, c->from_ns), to_ns = ends_within ? end_ns : MIN(end_ns, c->to_ns);
	uint8_t flags = (start_ns < c->from_ns ? WAIT_OPEN_AT_START : 0) | (ends_within ? 0 : WAIT_OPEN_AT_END);
	struct slice_part part = { 0 };

	slice_cell_within(cell, from_ns - start_ns, to_ns == end_ns ? UINT64_MAX : to_ns - start_ns, &part);
	cell->blocked_ns = part.blocked_ns;
	cell->runnable_ns = part.runnable_ns;
	cell->preempted_ns = part.preempted_ns;
	cell->max_ns = to_ns - from_ns;
	cell->bars.cnt = 0;
	slice_hist_add(&cell->bars, profile_hist_slot(cell->max_ns), cell->count_q8);
	if (cell->has_delays) {
		cell->delays.cnt = 0;
		slice_hist_add(&cell->delays, profile_hist_slot(cell->runnable_ns), cell->count_q8);
	}
	/* before the end of a wait its waker is unknown */
	add_cell(c, cell, flags, cell->has_delays && (ends_within || cell->runnable_ns), to_ns);
}

/* Adds the range's part of a cell that is spread over its thread's life. */
static void cut_even(struct cutting *c, struct slice_cell *cell)
{
	const struct thread *t = profile_thread(&c->old, old_wait(c, cell->row)->thread);
	struct slice_cell here;

	slice_cell_even_within(&c->old, cell, t, c->from_ns, c->to_ns, &here);
	if (slice_cell_ns(&here) || here.count_q8)
		add_cell(c, &here, 0, false, c->from_ns);
}

static bool cut_cell(uint32_t slice, struct slice_cell *cell, void *data)
{
	struct cutting *c = data;
	const uint64_t begin_ns = slice * c->length_ns, start_ns = begin_ns - cell->before_ns;
	bool ends_within = begin_ns >= c->from_ns && begin_ns < c->to_ns;

	slice_cell_complete(&c->old, cell);
	cell->is_whole = cell->is_even;
	cut_accounts_cell(c->accounts, &c->old, old_wait(c, cell->row)->thread, cell, start_ns);
	if (cell->is_even)
		cut_even(c, cell);
	else if (!cell->is_crossing && ends_within)
		add_cell(c, cell, 0, cell->has_delays, begin_ns);
	else if (cell->is_crossing && (ends_within || (start_ns < c->to_ns && start_ns + cell->max_ns > c->from_ns)))
		cut_wait(c, cell, start_ns, start_ns + cell->max_ns, ends_within);
	return true;
}

/* Empties the tables that the cut fills again. */
static void empty_tables(struct profile *p)
{
	p->waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	p->wakes = g_array_new(FALSE, FALSE, sizeof(struct wake));
	profile_empty_indexes(p);
	/* known only for the whole window */
	g_array_set_size(p->chains, 0);
	g_array_set_size(p->stories, 0);
	g_array_set_size(p->blames, 0);
	g_array_set_size(p->storms, 0);
	g_array_set_size(p->traces, 0);
	g_array_set_size(p->tcp_waits, 0);
}

/* For each thread: run-queue time of its waits that were mostly throttled. */
static uint64_t *quota_waits(const GArray *waits, guint threads)
{
	uint64_t *ns = g_new0(uint64_t, (gsize)threads + 1);

	EACH_ROW(i, const struct wait, w, waits)
		if (w->flags & WAIT_THROTTLED)
			ns[w->thread] += w->runnable_ns + w->preempted_ns;
	return ns;
}

/* Shares out a thread's throttled time by its waits that were mostly throttled. */
static void keep_throttled(struct cutting *c, const GArray *blames)
{
	g_autofree uint64_t *all_ns = quota_waits(c->old.waits, c->old.threads->len);
	g_autofree uint64_t *here_ns = quota_waits(c->p->waits, c->p->threads->len);

	for (guint i = 0; i < blames->len; i++) {
		struct blame b = g_array_index(blames, struct blame, i);
		const uint64_t all = all_ns[b.thread];

		if (b.kind != BLAME_THROTTLED || !all || !cut_accounts_thread(c->accounts, b.thread, &b.thread))
			continue;
		const struct thread *t = profile_thread(c->p, b.thread);
		const uint64_t here = here_ns[b.thread];

		b.runnable_ns = MIN((uint64_t)((unsigned __int128)b.runnable_ns * here / all), t->runnable_ns);
		b.preempted_ns = MIN((uint64_t)((unsigned __int128)b.preempted_ns * here / all), t->preempted_ns);
		b.count = (uint64_t)((unsigned __int128)b.count * here / all);
		if (b.runnable_ns || b.preempted_ns)
			profile_add_blame(c->p, &b);
	}
}

/* For each object: total time and count of its waits; for g_free(). */
static struct wait *object_waits(const struct profile *p, const GArray *waits)
{
	struct wait *sums = g_new0(struct wait, (gsize)p->objects->len + 1);

	EACH_ROW(i, const struct wait, w, waits) {
		struct wait *sum = w->object ? &sums[w->object - 1] : NULL;

		if (!sum)
			continue;
		sum->blocked_ns += w->blocked_ns;
		sum->count += w->count;
	}
	return sums;
}

static uint64_t difference(uint64_t ns, uint64_t by_ns)
{
	return ns - MIN(ns, by_ns);
}

/*
 * The shares of waits for TCP sockets are not kept per slice. Of each share the range keeps what exceeds all waits
 * for the object outside of the range. The rest is unknown.
 */
static void keep_tcp_waits(struct cutting *c, const GArray *tcp_waits)
{
	g_autofree struct wait *all = object_waits(c->p, c->old.waits), *here = object_waits(c->p, c->p->waits);

	for (guint i = 0; i < tcp_waits->len; i++) {
		struct tcp_wait t = g_array_index(tcp_waits, struct tcp_wait, i);
		const uint64_t outside_ns = difference(all[t.object].blocked_ns, here[t.object].blocked_ns);

		t.blocked_ns = difference(t.blocked_ns, outside_ns);
		t.peer_ns = difference(t.peer_ns, outside_ns);
		t.network_ns = difference(t.network_ns, outside_ns);
		t.silent_ns = difference(t.silent_ns, outside_ns);
		t.unclear_ns = difference(t.unclear_ns, outside_ns);
		t.count = MIN(t.count, here[t.object].count);
		if (t.blocked_ns && t.count)
			profile_add_tcp_wait(c->p, &t);
	}
}

/* Keeps the samples of the range; the time they stand for follows from the threads' accounts. */
static void cut_on_cpu(struct cutting *c)
{
	const uint32_t first = (uint32_t)(c->from_ns / c->length_ns),
		       last = (uint32_t)((c->to_ns + c->length_ns - 1) / c->length_ns);
	guint kept = 0;

	for (guint i = 0; i < c->p->on_cpu->len; i++) {
		struct on_cpu_sample s = g_array_index(c->p->on_cpu, struct on_cpu_sample, i);

		if (s.slice < first || s.slice >= last || !cut_accounts_thread(c->accounts, s.thread, &s.thread))
			continue;
		s.slice -= first;
		g_array_index(c->p->on_cpu, struct on_cpu_sample, kept++) = s;
	}
	g_array_set_size(c->p->on_cpu, kept);
}

/* Keeps requests that end in the range. Their sums are estimates if some requests were sampled. */
static void cut_spans(struct cutting *c)
{
	g_autofree double *weights = request_span_weights(c->p);
	const uint64_t from_ns = c->p->info.start_ns + c->from_ns, to_ns = c->p->info.start_ns + c->to_ns;
	guint kept = 0;

	if (!c->p->requests->len)
		return;
	for (guint i = 0; i < c->p->spans->len; i++) {
		struct request_span s = *profile_span(c->p, i);

		if (span_end_ns(&s) < from_ns || span_end_ns(&s) >= to_ns ||
		    !cut_accounts_thread(c->accounts, s.thread, &s.thread))
			continue;
		g_array_index(c->p->spans, struct request_span, kept++) = s;
	}
	g_array_set_size(c->p->spans, kept);
	requests_estimate(c->p, weights);
}

#define bad_range(error, ...) refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, __VA_ARGS__)

/* Widens the range to whole slices. */
static bool widen(const struct profile *p, uint64_t *from_ns, uint64_t *to_ns, GError **error)
{
	const uint64_t window_ns = p->info.duration_ns;
	uint64_t last_ns;

	if (!p->slices)
		return bad_range(error, "it does not say when time was spent: it was recorded without slices");
	if (*from_ns >= *to_ns)
		return bad_range(error, "the range is empty: it ends before it begins");
	if (*from_ns >= window_ns)
		return bad_range(error, "the range begins at %.3f s, and the recording ends at %.3f s",
				 (double)*from_ns / 1e9, (double)window_ns / 1e9);
	last_ns = (p->slices->cells->len - 1) * p->slices->length_ns;
	*from_ns = MIN(*from_ns - *from_ns % p->slices->length_ns, last_ns);
	if (*to_ns > last_ns)
		*to_ns = window_ns;
	else if (*to_ns % p->slices->length_ns)
		*to_ns += p->slices->length_ns - *to_ns % p->slices->length_ns;
	return true;
}

/* At the edges of the whole window, the range includes the time that looks represent beyond these. */
static void cut_tasks(struct cutting *c)
{
	struct profile *p = c->p;
	const uint64_t from_ns = c->from_ns ? p->info.start_ns + c->from_ns : 0,
		       to_ns = c->to_ns < p->info.duration_ns ? p->info.start_ns + c->to_ns : UINT64_MAX;

	for (guint i = p->tasks->len; i-- > 0;)
		if (!tasks_cut_range(g_ptr_array_index(p->tasks, i), from_ns, to_ns))
			g_ptr_array_remove_index(p->tasks, i);
}

static void tell_range(struct profile *p, uint64_t from_ns, uint64_t to_ns, bool is_estimated)
{
	struct profile_info *info = &p->info;

	info->range = (struct profile_range){
		.is_cut = true, .from_ns = info->range.from_ns + from_ns, .to_ns = info->range.from_ns + to_ns,
		.window_ns = info->range.is_cut ? info->range.window_ns : info->duration_ns,
		.is_estimated = info->range.is_estimated || is_estimated,
	};
	info->start_ns += from_ns;
	info->start_unix_ns += from_ns;
	info->duration_ns = to_ns - from_ns;
	info->switches = 0;	/* switches are not kept per slice */
}

bool profile_cut(struct profile *p, uint64_t from_ns, uint64_t to_ns, GError **error)
{
	struct cutting c = { .p = p, .old = *p };

	if (!widen(p, &from_ns, &to_ns, error))
		return false;
	c.from_ns = from_ns;
	c.to_ns = to_ns;
	c.length_ns = p->slices->length_ns;
	c.accounts = cut_accounts_new(p, from_ns, to_ns);
	c.builder = slice_builder_new(c.length_ns);
	c.codes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	p->slices = NULL;
	g_autoptr(GArray) blames = g_array_copy(p->blames), tcp_waits = g_array_copy(p->tcp_waits);

	c.old.threads = g_array_ref(p->threads);
	empty_tables(p);
	slices_for_each_cell(c.old.slices, cut_cell, &c);
	bool is_estimated = cut_accounts_apply(c.accounts, c.old.waits);

	keep_throttled(&c, blames);
	keep_tcp_waits(&c, tcp_waits);
	cut_on_cpu(&c);
	cut_spans(&c);
	cut_tasks(&c);

	tell_range(p, from_ns, to_ns, is_estimated);
	p->slices = slice_builder_finish(c.builder, p, (const uint32_t *)(void *)c.codes->data);
	slices_free(c.old.slices);
	slice_builder_free(c.builder);
	g_array_unref(c.codes);
	g_array_unref(c.old.threads);
	g_array_unref(c.old.waits);
	g_array_unref(c.old.wakes);
	cut_accounts_free(c.accounts);
	return true;
}
