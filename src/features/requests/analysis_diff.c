/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/diff.h"

#include <math.h>

#include "base/order.h"
#include "features/requests/analysis.h"
#include "features/requests/rows.h"

uint64_t diff_request_cnt(const struct profile *p)
{
	uint64_t sum = 0;

	for (guint i = 0; i < p->requests->len; i++)
		sum += profile_request(p, i)->sum.all.count;
	return sum;
}

/* Latencies are taken as the middle of their slots. A slot's width, a sixteenth, is small beside their spread. */
static double variance(const struct offcpu_request_sum *sum, double mean_ns)
{
	double squares = 0, cnt = 0;

	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++) {
		double off = ((double)request_slot_low(i) + (double)request_slot_high(i)) / 2 - mean_ns;

		squares += (double)sum->hist[i] * off * off;
		cnt += (double)sum->hist[i];
	}
	return cnt > 1 ? squares / (cnt - 1) : 0;
}

static struct diff_latency latency_of(const struct offcpu_request_sum *sum)
{
	double cnt = (double)sum->all.count, mean_ns = (double)sum->all.wall_ns / cnt;

	return (struct diff_latency){
		.count = sum->all.count,
		.p50_ns = request_percentile(sum, 0.5),
		.p99_ns = request_percentile(sum, 0.99),
		.max_ns = sum->max_ns,
		.mean_ns = mean_ns,
		.mean_se_ns = sqrt(variance(sum, mean_ns) / cnt),
	};
}

static const struct request_row *row_named(const struct profile *p, const char *name)
{
	for (guint i = 0; i < p->requests->len; i++)
		if (g_strcmp0(profile_request(p, i)->name, name) == 0 && profile_request(p, i)->sum.all.count)
			return profile_request(p, i);
	return NULL;
}

ORDER(by_count, struct diff_request, ORDER_HIGH(side[DIFF_BEFORE].count) ORDER_TEXT(name))

GArray *diff_requests(const struct diff *d)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct diff_request));
	const struct profile *before = d->in[DIFF_BEFORE].profile, *after = d->in[DIFF_AFTER].profile;

	for (guint i = 0; i < before->requests->len; i++) {
		const struct request_row *x = profile_request(before, i), *y = row_named(after, x->name);

		if (!y || x != row_named(before, x->name))
			continue;
		struct diff_request r = { .name = x->name, .side = { latency_of(&x->sum), latency_of(&y->sum) } };

		r.mean_by_ns = r.side[DIFF_AFTER].mean_ns - r.side[DIFF_BEFORE].mean_ns;
		r.mean_by_se_ns = hypot(r.side[DIFF_BEFORE].mean_se_ns, r.side[DIFF_AFTER].mean_se_ns);
		g_array_append_val(rows, r);
	}
	g_array_sort(rows, by_count);
	return rows;
}
