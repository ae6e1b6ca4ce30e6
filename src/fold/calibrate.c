/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/sums.h"

#include <glib.h>
#include <math.h>

#include "abi/sample.h"
#include "base/hash.h"

enum quantity { COUNT, BLOCKED, RUNNABLE, PREEMPTED, QUANTITIES };

struct amounts {
	uint64_t of[QUANTITIES];
};

/* The waits of a thread in one state. */
struct group {
	uint32_t thread;
	uint8_t state;
	struct amounts rest;	/* the thread's totals without waits that were listed individually */
	struct amounts sampled;	/* sum of the sampled rows; the count, once settled, is the adjusted one */
	struct amounts taken, given;	/* of rows corrected so far: their estimates, and what they were given */
	uint64_t sampled_ns, taken_ns;	/* sum over all classes */
	double count_variance;	/* variance of the sampled rows' counts */
	uint64_t rows;
};

struct row {
	struct group *group;
	double count, variance;	/* the count above one, adjusted once settled */
};

struct calibration {
	GHashTable *groups;	/* uint64_t of thread and state -> struct group */
	GArray *rows;		/* struct row: the sampled rows */
	guint corrected;
	uint64_t scale_ns;
};

static uint64_t group_key(uint32_t thread, uint8_t state)
{
	return (uint64_t)thread << 8 | state;
}

static struct group *group_of(const struct calibration *c, uint32_t thread, uint8_t state)
{
	uint64_t key = group_key(thread, state);

	return g_hash_table_lookup(c->groups, &key);
}

static struct group *add_group(struct calibration *c, uint32_t thread, uint8_t state)
{
	uint64_t key = group_key(thread, state);
	struct group *g = g_new0(struct group, 1);

	g->thread = thread;
	g->state = state;
	g_hash_table_insert(c->groups, g_memdup2(&key, sizeof(key)), g);
	return g;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void subtract_amounts(struct amounts *from, const struct amounts *a)
{
	for (unsigned i = 0; i < QUANTITIES; i++)
		from->of[i] = difference(from->of[i], a->of[i]);
}

static void add_amounts(struct amounts *to, const struct amounts *a)
{
	for (unsigned i = 0; i < QUANTITIES; i++)
		to->of[i] += a->of[i];
}

static struct amounts amounts_of(const struct sums_total *t)
{
	return (struct amounts){ { t->count, t->blocked_ns, t->runnable_ns, t->preempted_ns } };
}

static uint64_t off_cpu_ns(const struct amounts *a)
{
	return a->of[BLOCKED] + a->of[RUNNABLE] + a->of[PREEMPTED];
}

struct calibration *calibration_new(const struct profile *p, uint64_t scale_ns)
{
	struct calibration *c = g_new0(struct calibration, 1);

	c->groups = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	c->rows = g_array_new(FALSE, FALSE, sizeof(struct row));
	c->scale_ns = scale_ns;
	EACH_ROW(i, const struct state_total, t, p->states) {
		struct group *g = add_group(c, t->thread, t->state);

		g->rest = (struct amounts){ { t->count, t->blocked_ns, t->runnable_ns, t->preempted_ns } };
	}
	return c;
}

FREES(calibration_free, struct calibration, c, g_hash_table_destroy(c->groups); g_array_unref(c->rows))

/*
 * The variance of a sum of weights is the sum of (w - 1) w over the kept waits. A bar with count cnt stands for cnt /
 * w of these.
 */
static double count_variance(const struct sums_total *t, uint64_t scale_ns)
{
	double variance = 0;

	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++) {
		double mean_ns = 1.5 * (double)(UINT64_C(1) << i);
		double weight = MIN((double)scale_ns / mean_ns, 1 << SAMPLE_COUNTS_SHIFT);

		if (weight > 1)
			variance += t->hist[i] * (weight - 1);
	}
	return variance;
}

void calibration_tell(struct calibration *c, uint32_t thread, uint8_t state, bool is_sampled,
		      const struct sums_total *total)
{
	struct group *g = group_of(c, thread, state);
	struct amounts a = amounts_of(total);

	if (!g)	/* a thread whose account was lost */
		return;
	if (!is_sampled) {
		subtract_amounts(&g->rest, &a);
		return;
	}
	const struct row row = { g, (double)a.of[COUNT], count_variance(total, c->scale_ns) };

	g_array_append_val(c->rows, row);
	add_amounts(&g->sampled, &a);
	g->sampled_ns += off_cpu_ns(&a);
	g->count_variance += row.variance;
	g->rows++;
}

/* The state of lost waits is unknown; losses are few. */
static void leave_out(struct calibration *c, uint32_t thread, uint64_t lost_ns)
{
	for (unsigned i = 0; i < OFFCPU_STATE_COUNT && lost_ns; i++) {
		struct group *g = group_of(c, thread, (uint8_t)OFFCPU_STATE_LETTERS[i]);

		for (unsigned q = BLOCKED; g && q < QUANTITIES; q++) {
			uint64_t part_ns = MIN(g->rest.of[q], lost_ns);

			g->rest.of[q] -= part_ns;
			lost_ns -= part_ns;
		}
	}
}

/* Distributes what the counts miss by variance. Each row keeps at least one wait, as it had one. */
static void adjust_counts(struct calibration *c)
{
	EACH_ROW(i, struct row, row, c->rows) {
		const struct group *g = row->group;
		double missing = (double)g->rest.of[COUNT] - (double)g->sampled.of[COUNT];

		if (g->count_variance > 0)
			row->count += missing * row->variance / g->count_variance;
		row->count = MAX(row->count - 1, 0);
	}
	for (guint i = 0; i < c->rows->len; i++)
		g_array_index(c->rows, struct row, i).group->sampled.of[COUNT] = 0;
	EACH_ROW(i, const struct row, row, c->rows)
		row->group->sampled.of[COUNT] += (uint64_t)llround(row->count);
}

void calibration_settle(struct calibration *c, const struct profile *p)
{
	for (guint i = 0; i < p->threads->len; i++)
		leave_out(c, i, profile_thread(p, i)->lost_ns);
	adjust_counts(c);
}

/* The part of `all` for the amount after the first `taken` of `sum`. */
static uint64_t part_up_to(uint64_t all, uint64_t taken, uint64_t sum)
{
	return (uint64_t)((unsigned __int128)all * taken / sum);
}

/*
 * The row's share of one class: proportional to its estimate of that class, or of all classes if no row has any of
 * this class.
 */
static uint64_t share_ns(struct group *g, unsigned quantity, const struct amounts *says)
{
	uint64_t sum = g->sampled.of[quantity], until, got;

	g->taken.of[quantity] += says->of[quantity];
	if (sum)
		until = part_up_to(g->rest.of[quantity], g->taken.of[quantity], sum);
	else
		until = g->sampled_ns ? part_up_to(g->rest.of[quantity], g->taken_ns, g->sampled_ns) : 0;
	got = difference(until, g->given.of[quantity]);
	g->given.of[quantity] += got;
	return got;
}

/* One for each row, the rest by the adjusted counts. Among rows with a count of one, the last gets it. */
static uint64_t share_count(struct group *g, const struct row *row)
{
	uint64_t more = difference(g->rest.of[COUNT], g->rows), until, got;

	g->taken.of[COUNT] += (uint64_t)llround(row->count);
	if (g->sampled.of[COUNT])
		until = part_up_to(more, g->taken.of[COUNT], g->sampled.of[COUNT]);
	else
		until = g->taken_ns == g->sampled_ns ? more : 0;
	got = difference(until, g->given.of[COUNT]);
	g->given.of[COUNT] += got;
	return got + 1;
}

/* The number of waits that a kept one of mean length stands for; at least 1. */
static double mean_weight(const struct calibration *c, const struct amounts *a)
{
	double ns = (double)off_cpu_ns(a), cnt = (double)a->of[COUNT];

	return ns > 0 ? CLAMP((double)c->scale_ns * cnt / ns, 1, 1 << SAMPLE_COUNTS_SHIFT) : 1;
}

static uint64_t error_bound(double error, uint64_t most)
{
	return error < (double)most ? (uint64_t)llround(error) : most;
}

static void set_errors(const struct calibration *c, const struct group *g, double ratio, double count_sd, double weight,
		       struct sums_total *t)
{
	double sd_ns = (double)t->off_cpu_se_ns * ratio;

	t->off_cpu_se_ns = error_bound(sd_ns + 2 * (double)c->scale_ns, off_cpu_ns(&g->rest));
	t->count_se = error_bound(count_sd + 2 * weight, g->rest.of[COUNT]);
}

void calibration_correct(struct calibration *c, const struct sums *sums, size_t i, uint32_t thread, uint8_t state,
			 bool is_sampled, struct sums_total *total)
{
	struct group *g = group_of(c, thread, state);
	struct amounts says = amounts_of(total);
	double said_ns = (double)off_cpu_ns(&says), weight = mean_weight(c, &says), ratio;

	if (!g || (!is_sampled && !off_cpu_ns(&g->rest)))
		return;	/* the thread's account was lost, or nothing is missing */
	if (!is_sampled) {
		set_errors(c, g, 1, 0, mean_weight(c, &g->rest), total);
		return;
	}
	const struct row *row = &g_array_index(c->rows, struct row, c->corrected++);

	g->taken_ns += off_cpu_ns(&says);
	total->blocked_ns = share_ns(g, BLOCKED, &says);
	total->runnable_ns = share_ns(g, RUNNABLE, &says);
	total->preempted_ns = share_ns(g, PREEMPTED, &says);
	sums_recount(sums, i, share_count(g, row), total);
	says = amounts_of(total);
	/* not longer than their sum, not shorter than their mean */
	total->max_ns = MIN(MAX(total->max_ns, (off_cpu_ns(&says) + total->count - 1) / total->count),
			    off_cpu_ns(&says));
	ratio = said_ns > 0 ? (double)off_cpu_ns(&says) / said_ns : 1;
	set_errors(c, g, ratio, sqrt(row->variance), weight, total);
}

void calibration_for_each_rest(struct calibration *c, void (*fn)(const struct calibration_rest *rest, void *data),
			       void *data)
{
	EACH_VALUE(const struct group, g, c->groups) {
		const struct calibration_rest rest = {
			.thread = g->thread, .state = g->state, .count = MAX(g->rest.of[COUNT], 1),
			.blocked_ns = g->rest.of[BLOCKED], .runnable_ns = g->rest.of[RUNNABLE],
			.preempted_ns = g->rest.of[PREEMPTED],
		};

		if (!g->rows && off_cpu_ns(&g->rest))
			fn(&rest, data);
	}
}
