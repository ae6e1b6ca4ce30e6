/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/merge.h"

#include "features/slices/rows.h"
#include "profile/profile.h"

/* Keys are tested from ten times this share on. */
#define ROW_SHARE (DIFF_TESTED_SHARE / 10)

struct row_batches {
	const struct profile *p;
	uint32_t slices_cnt;
	uint32_t *of_wait;	/* index in rows + 1; 0: none */
	GArray *rows;		/* struct wait_batches */
};

static void add_part(uint32_t slice, const struct slice_part *part, void *data)
{
	struct row_batches *rows = data;
	uint32_t row = rows->of_wait[part->wait], at = slice * BATCHES_CNT / rows->slices_cnt;

	if (!row)
		return;
	struct wait_batches *r = &g_array_index(rows->rows, struct wait_batches, row - 1);

	r->blocked_ns[at] += (float)part->blocked_ns;
	r->cpu_ns[at] += (float)(part->runnable_ns + part->preempted_ns);
	r->count[at] += (float)part->count_q8 / SLICE_COUNT_Q8;
}

struct row_batches *row_batches_new(const struct profile *p)
{
	uint64_t all = 0;

	/* The last slice may be shorter, which matters little with at least two slices per batch. */
	if (!profile_has_slices(p) || profile_slice_cnt(p) < 2 * BATCHES_CNT)
		return NULL;
	struct row_batches *rows = g_new0(struct row_batches, 1);

	rows->p = p;
	rows->slices_cnt = profile_slice_cnt(p);
	rows->of_wait = g_new0(uint32_t, p->waits->len + 1);
	rows->rows = g_array_new(FALSE, TRUE, sizeof(struct wait_batches));
	for (uint32_t i = 0; i < p->waits->len; i++)
		all += wait_off_cpu_ns(profile_wait(p, i));
	for (uint32_t i = 0; i < p->waits->len; i++) {
		if ((double)wait_off_cpu_ns(profile_wait(p, i)) < ROW_SHARE * (double)all)
			continue;
		g_array_set_size(rows->rows, rows->rows->len + 1);
		rows->of_wait[i] = rows->rows->len;
	}
	profile_slices_visit(p, add_part, rows);
	return rows;
}

FREES(row_batches_free, struct row_batches, rows, g_free(rows->of_wait); g_array_unref(rows->rows))

bool row_batches_has(const struct row_batches *rows, uint32_t wait)
{
	return rows && rows->of_wait[wait];
}

void row_batches_add(const struct row_batches *rows, uint32_t wait, const struct diff_part *part, struct batches *to)
{
	const struct wait *w = profile_wait(rows->p, wait);
	const struct wait_batches *r = &g_array_index(rows->rows, struct wait_batches, rows->of_wait[wait] - 1);
	uint64_t cpu_ns = w->runnable_ns + w->preempted_ns;
	bool is_all = part->ns == wait_off_cpu_ns(w), has_cpu = is_all || part->ns == cpu_ns,
	     has_blocked = is_all || !has_cpu;
	bool is_whole = part->is_main && !(w->flags & (WAIT_OPEN_AT_START | WAIT_OPEN_AT_END));

	for (unsigned i = 0; i < BATCHES_CNT; i++) {
		double blocked = (double)r->blocked_ns[i], cpu = (double)r->cpu_ns[i];

		to->ns[i] += (has_blocked ? blocked : 0) + (has_cpu ? cpu : 0);
		to->whole_ns[i] += is_whole ? blocked + cpu : 0;
		to->count[i] += is_whole ? (double)r->count[i] : 0;
	}
}

void row_batches_sum(const struct row_batches *rows, uint32_t wait, struct wait_batches *to)
{
	const struct wait_batches *r = &g_array_index(rows->rows, struct wait_batches, rows->of_wait[wait] - 1);

	for (unsigned i = 0; i < BATCHES_CNT; i++) {
		to->blocked_ns[i] += r->blocked_ns[i];
		to->cpu_ns[i] += r->cpu_ns[i];
		to->count[i] += r->count[i];
	}
}

static double sum_of(const double *of)
{
	double sum = 0;

	for (unsigned i = 0; i < BATCHES_CNT; i++)
		sum += of[i];
	return sum;
}

double batches_variance(const struct batches *b)
{
	double mean = sum_of(b->ns) / BATCHES_CNT, squares = 0;

	for (unsigned i = 0; i < BATCHES_CNT; i++)
		squares += (b->ns[i] - mean) * (b->ns[i] - mean);
	return squares * BATCHES_CNT / (BATCHES_CNT - 1);
}

double batches_mean_variance(const struct batches *b)
{
	double ns = sum_of(b->whole_ns), count = sum_of(b->count), squares = 0;

	if (!(ns > 0) || !(count > 0))
		return 0;
	for (unsigned i = 0; i < BATCHES_CNT; i++) {
		double off = b->whole_ns[i] / ns - b->count[i] / count;

		squares += off * off;
	}
	return squares * BATCHES_CNT / (BATCHES_CNT - 1);
}
