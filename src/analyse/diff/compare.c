/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/compare.h"

#include <math.h>
#include <string.h>

#include "analyse/diff/stats.h"
#include "base/order.h"

/* of the time: the shortest waits with that share do not count for the length of a wait */
#define SHORT_SHARE 0.05

/* A thread's part of a row, to be paired with a thread of the other side. */
struct share {
	const char *comm;	/* spelled for comparison; equal ones of a side share a pointer */
	uint32_t pid, tid;
	uint64_t start_ns;
	double scaled_ns;
	double whole_ns, whole_cnt;
};

static const struct tally_cell *cells_of(const struct tally *t, uint32_t key, uint32_t *ret_cnt)
{
	if (key >= t->keys_cnt) {
		*ret_cnt = 0;
		return NULL;
	}
	*ret_cnt = t->first[key + 1] - t->first[key];
	return *ret_cnt ? &g_array_index(t->cells, struct tally_cell, t->first[key]) : NULL;
}

static const struct batches *batches_of(const struct tally *t, uint32_t key)
{
	uint32_t at = key < t->keys_cnt ? t->batches_of[key] : 0;

	return at ? &g_array_index(t->batches, struct batches, at - 1) : NULL;
}

/* With sampling, the effective number of waits that were observed. */
static double count_of(const struct diff_amount *a, double count, double sampled)
{
	return sampled > 0 ? fmin(count, (double)a->off_cpu_ns * (double)a->off_cpu_ns / sampled) : count;
}

/*
 * Errors of one side: from its own waits, or from the variation between batches of its window if that is larger.  Does
 * not assume that threads are independent.
 */
static void estimate_errors(const struct diff *d, enum diff_side side, const struct tally *t, uint32_t key,
			    bool are_all, struct diff_amount *a)
{
	const struct profile *p = d->in[side].profile;
	uint32_t cnt;
	const struct tally_cell *cells = cells_of(t, key, &cnt);
	const struct batches *batches = batches_of(t, key);
	const struct stats_durations durations = { a->hist, a->whole_ns, a->max_ns };
	/* a run always does the same work in the same order: durations and parts are no random samples */
	bool are_runs = d->options.norm == DIFF_WHOLE_RUNS;
	double error = 0, mean_error = 0, apart_threads = 0, sampled = 0, count = 0, count_error = 0, lives = 0;

	a->mean_ns = a->whole_cnt ? (double)a->whole_ns / (double)a->whole_cnt : 0;
	a->each_ns = stats_mean_of_most(&durations, SHORT_SHARE);
	a->scaled_ns = d->scale[side] * (double)a->off_cpu_ns;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct tally_cell *c = &cells[i];
		double n = (double)c->whole_cnt;
		double life = are_runs ? 0 : d->keys->side[side].lives[c->thread] * (double)c->ns;
		double apart = c->whole_squares - 2 * a->mean_ns * (double)c->whole_ns + n * a->mean_ns * a->mean_ns;
		double off = (double)c->whole_ns - a->mean_ns * n;

		error += sqrt(are_runs ? c->inner_squares
				       : stats_thread_variance(c->squares, c->ns, (double)c->count,
							       thread_observed_ns(profile_thread(p, c->thread)),
							       are_all));
		mean_error += sqrt(fmax(apart, 0));
		apart_threads += off * off;
		lives += life * life;
		sampled += c->sampled;
		count += (double)c->count;
		count_error += sqrt((double)c->count);
	}
	a->dof = a->each_dof = cnt ? fmax(count_of(a, count, sampled) / cnt - 1, 1) : 0;
	error = sqrt(error * error + sampled);
	mean_error = a->whole_ns ? mean_error / (double)a->whole_ns : 0;
	if (batches && !are_runs && batches_variance(batches) > error * error) {
		error = sqrt(batches_variance(batches));
		a->dof = BATCHES_CNT - 1;
	}
	if (batches && batches_mean_variance(batches) > mean_error * mean_error) {
		mean_error = sqrt(batches_mean_variance(batches));
		a->each_dof = BATCHES_CNT - 1;
	}
	a->scaled_se_ns = d->scale[side] * error;
	a->lives = d->scale[side] * d->scale[side] * lives;
	a->each_se_ns = mean_error * a->each_ns;
	a->each_apart_ns =
		a->whole_ns && cnt > 1 ? sqrt(apart_threads * cnt / (cnt - 1.0)) / (double)a->whole_ns * a->each_ns : 0;
	a->scaled_cnt = d->scale[side] * (double)a->count;
	a->scaled_cnt_se = d->scale[side] * count_error;
}

ORDER(compare_shares, struct share, ORDER_TEXT(comm) ORDER_HIGH(scaled_ns))

static GArray *shares_of(const struct diff *d, enum diff_side side, const struct tally *t, uint32_t key)
{
	GArray *shares = g_array_new(FALSE, FALSE, sizeof(struct share));
	uint32_t cnt;
	const struct tally_cell *cells = cells_of(t, key, &cnt);

	for (uint32_t i = 0; i < cnt; i++) {
		const struct thread *th = profile_thread(d->in[side].profile, cells[i].thread);
		struct share s = {
			.comm = d->keys->side[side].comms[cells[i].thread], .pid = th->pid, .tid = th->tid,
			.start_ns = th->start_ns, .scaled_ns = d->scale[side] * (double)cells[i].ns,
			.whole_ns = (double)cells[i].whole_ns, .whole_cnt = (double)cells[i].whole_cnt,
		};
		g_array_append_val(shares, s);
	}
	g_array_sort(shares, compare_shares);
	return shares;
}

/* Variation between threads: variances of the logarithm of the ratio of sums, and of means. */
struct between {
	double time, each;
	unsigned pairs_cnt;
};

static void add_pair(struct between *b, const struct diff_row *r, const struct share *before, const struct share *after)
{
	const struct diff_amount *x = &r->side[DIFF_BEFORE], *y = &r->side[DIFF_AFTER];
	double off = after->scaled_ns / y->scaled_ns - before->scaled_ns / x->scaled_ns;
	double mean_off = 0;

	if (x->mean_ns > 0 && y->mean_ns > 0)
		mean_off = (after->whole_ns / y->mean_ns - after->whole_cnt) / (double)y->whole_cnt -
			   (before->whole_ns / x->mean_ns - before->whole_cnt) / (double)x->whole_cnt;
	b->time += off * off;
	b->each += mean_off * mean_off;
	b->pairs_cnt++;
}

/*
 * How differently threads of the same name changed.  Threads are paired by rank: that some have more time than others
 * is not noise.
 */
static struct between between_threads(const struct diff *d, const struct tally *const tallies[DIFF_SIDES], uint32_t key,
				      const struct diff_row *r)
{
	struct between b = { 0 };

	/* threads of a run are parts of it, which need not change alike */
	if (d->options.norm == DIFF_WHOLE_RUNS || r->side[DIFF_BEFORE].threads_cnt < 3 ||
	    r->side[DIFF_AFTER].threads_cnt < 3 || !(r->side[DIFF_BEFORE].scaled_ns > 0) ||
	    !(r->side[DIFF_AFTER].scaled_ns > 0))
		return b;
	g_autoptr(GArray) before = shares_of(d, DIFF_BEFORE, tallies[DIFF_BEFORE], key);
	g_autoptr(GArray) after = shares_of(d, DIFF_AFTER, tallies[DIFF_AFTER], key);

	for (unsigned i = 0, n = 0; i < before->len && n < after->len;) {
		const struct share *x = &g_array_index(before, struct share, i),
				   *y = &g_array_index(after, struct share, n);
		int order = strcmp(x->comm, y->comm);

		if (!order)
			add_pair(&b, r, x, y);
		i += order <= 0;
		n += order >= 0;
	}
	if (b.pairs_cnt < 3)
		return (struct between){ 0 };
	double rest = (double)b.pairs_cnt / (b.pairs_cnt - 1);
	b.time *= rest;
	b.each *= rest;
	return b;
}

/* The logarithmic mean: difference divided by difference of logarithms. */
static double log_mean(double x, double y)
{
	double by = log(y / x);

	if (!(x > 0) || !(y > 0))
		return 0;
	return fabs(by) < 1e-6 ? x : (y - x) / by;
}

/* sure: the part of `by` to test. */
static struct diff_change change_of(double by, double sure, const struct stats_term *terms, size_t cnt)
{
	struct diff_change c = { .by = by, .p = 1, .dof = stats_dof(terms, cnt) };
	double variance = 0;

	for (size_t i = 0; i < cnt; i++)
		variance += terms[i].variance;
	c.se = sqrt(variance);
	c.t = sure == 0 ? 0 : sure / c.se;
	return c;
}

/*
 * If a pool of idle threads has shrunk, the others' share of all threads' time has grown, although nothing else
 * changed (docs/diff.md).  So a change must show relative to the window as well.
 */
static double sure_of(const struct diff *d, const struct compared *x, const struct compared *y)
{
	double by = y->value - x->value, by_window = y->value * d->by_window - x->value;

	if (!y->is_scaled)
		return by;
	return by * by_window <= 0 ? 0 : fabs(by) < fabs(by_window) ? by : by_window;
}

/*
 * Combines the waits' own errors, or the variation between threads if that is larger, with the usual noise between
 * runs.
 */
struct diff_change compare_values(const struct diff *d, const struct compared side[DIFF_SIDES], double log_between,
				  unsigned pairs_cnt)
{
	const struct compared *x = &side[DIFF_BEFORE], *y = &side[DIFF_AFTER];
	double noise = d->options.noise, level = log_mean(x->value, y->value);
	double before = x->se * x->se, after = y->se * y->se, between = level * level * log_between;
	bool is_between = between > before + after;
	const struct stats_term terms[] = {
		{ is_between ? 0 : before, x->dof },
		{ is_between ? 0 : after, y->dof },
		{ is_between ? between : 0, is_between ? pairs_cnt - 1.0 : 0 },
		{ x->lives + y->lives, 0 },
		{ noise * noise * (x->value * x->value + y->value * y->value), 0 },
	};

	return change_of(y->value - x->value, sure_of(d, x, y), terms, G_N_ELEMENTS(terms));
}

static struct compared time_of(const struct diff_amount *a)
{
	return (struct compared){ a->scaled_ns, a->scaled_se_ns, a->dof, a->lives, true };
}

/* of_others: the sides have different threads, so variation between threads is not a property of the row. */
static struct compared mean_of(const struct diff_amount *a, bool of_others)
{
	if (of_others && a->each_apart_ns > a->each_se_ns)
		return (struct compared){ .value = a->each_ns, .se = a->each_apart_ns, .dof = a->threads_cnt - 1.0 };
	return (struct compared){ .value = a->each_ns, .se = a->each_se_ns, .dof = a->each_dof };
}

static void compare_sides(const struct diff *d, const struct between *b, struct diff_row *r)
{
	const struct diff_amount *x = &r->side[DIFF_BEFORE], *y = &r->side[DIFF_AFTER];
	bool of_others = x->threads_cnt != y->threads_cnt;

	r->time = compare_values(d, (struct compared[]){ time_of(x), time_of(y) }, b->time, b->pairs_cnt);
	if (x->whole_cnt && y->whole_cnt)
		r->each = compare_values(d, (struct compared[]){ mean_of(x, of_others), mean_of(y, of_others) },
					 b->each, b->pairs_cnt);
	else
		r->each = (struct diff_change){ .p = 1 };
}

bool compare_key(const struct diff *d, const char *name, const struct tally *const tallies[DIFF_SIDES], uint32_t key,
		 bool are_all, struct diff_row *ret_row)
{
	struct diff_row *r = ret_row;

	memset(r, 0, sizeof(*r));
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		if (key < tallies[side]->keys_cnt)
			r->side[side] = tallies[side]->amounts[key];
		estimate_errors(d, side, tallies[side], key, are_all, &r->side[side]);
	}
	if (!r->side[DIFF_BEFORE].threads_cnt && !r->side[DIFF_AFTER].threads_cnt)
		return false;
	r->name = name;
	r->key = key;
	r->fate = !r->side[DIFF_BEFORE].threads_cnt  ? DIFF_NEW
		  : !r->side[DIFF_AFTER].threads_cnt ? DIFF_VANISHED
						     : DIFF_ON_BOTH;
	struct between b = between_threads(d, tallies, key, r);
	compare_sides(d, &b, r);
	return true;
}

/* Whether it has enough time and waits for a change to be detectable and to matter. */
static bool is_worth_a_test(const struct diff *d, const struct diff_row *r)
{
	bool has_share = false;

	if (r->is_lost || r->is_idle)
		return false;
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		has_share = has_share || (double)r->side[side].off_cpu_ns >=
						 DIFF_TESTED_SHARE * (double)diff_all_ns(d, side);
	return has_share && r->side[DIFF_BEFORE].count + r->side[DIFF_AFTER].count >= DIFF_TESTED_COUNT;
}

static bool has_durations(const struct diff_row *r)
{
	return r->side[DIFF_BEFORE].whole_cnt >= DIFF_TESTED_COUNT &&
	       r->side[DIFF_AFTER].whole_cnt >= DIFF_TESTED_COUNT;
}

void compare_together(const struct diff *d, GArray *rows, unsigned *ret_tested_cnt, unsigned *ret_real_cnt)
{
	g_autofree double *p = g_new(double, 2 * rows->len + 1);
	size_t cnt = 0;

	*ret_tested_cnt = *ret_real_cnt = 0;
	EACH_ROW(i, struct diff_row, r, rows) {
		if (!(r->is_tested = is_worth_a_test(d, r)))
			continue;
		p[cnt++] = r->time.p = stats_p(r->time.t, r->time.dof);
		if (has_durations(r))
			p[cnt++] = r->each.p = stats_p(r->each.t, r->each.dof);
		++*ret_tested_cnt;
	}
	double most = stats_threshold(p, cnt, DIFF_FALSE_SHARE);
	EACH_ROW(i, struct diff_row, r, rows) {
		r->time.is_real = r->is_tested && r->time.p <= most;
		r->each.is_real = r->is_tested && r->each.p <= most;
		*ret_real_cnt += diff_row_is_real(r);
	}
}
