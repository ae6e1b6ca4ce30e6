/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <assert.h>
#include <math.h>

#include "base/order.h"
#include "profile/profile.h"

#define NOT_SAMPLED "[on CPU, not sampled]"

void profile_add_on_cpu(struct profile *p, const struct on_cpu_sample *s)
{
	assert(s->thread < p->threads->len && s->user < p->nodes->len && s->kernel < p->nodes->len);
	g_array_append_vals(p->on_cpu, s, 1);
}

ORDER(by_stack, struct on_cpu_sample, ORDER_LOW(thread) ORDER_LOW(user) ORDER_LOW(kernel))

GArray *profile_on_cpu_of_stacks(const struct profile *p)
{
	GArray *all = g_array_copy(p->on_cpu);
	guint kept = 0;

	g_array_sort(all, by_stack);
	EACH_ROW(i, const struct on_cpu_sample, s, all) {
		struct on_cpu_sample *last = kept ? &g_array_index(all, struct on_cpu_sample, kept - 1) : NULL;

		if (last && by_stack(last, s) == 0) {
			last->samples = profile_sum(last->samples, s->samples);
			last->weight_ns = profile_sum(last->weight_ns, s->weight_ns);
		} else {
			g_array_index(all, struct on_cpu_sample, kept++) = *s;
		}
	}
	g_array_set_size(all, kept);
	return all;
}

/*
 * A share of n samples.  The one sample and the one miss that are added (Agresti and Coull's interval) keep the error
 * of a few samples, all of one stack, from being none.
 */
double on_cpu_error(uint64_t all_ns, uint64_t part, uint64_t all)
{
	double n = (double)all + 2, share = ((double)part + 1) / n;

	return (double)all_ns * sqrt(share * (1 - share) / n);
}

/*
 * Rows [first, last) of one thread: each one's share of its time, cut where the sum of those up to it ends, so that
 * all add up.
 */
static void share_out(const struct thread *t, const struct on_cpu_sample *first, const struct on_cpu_sample *last,
		      GArray *rows)
{
	unsigned __int128 sum = 0;
	uint64_t weight = 0, all = 0, told_ns = 0;

	for (const struct on_cpu_sample *s = first; s < last; s++) {
		weight = profile_sum(weight, s->weight_ns);
		all = profile_sum(all, s->samples);
	}
	for (const struct on_cpu_sample *s = first; s < last; s++) {
		sum += s->weight_ns;
		uint64_t until_ns = weight ? (uint64_t)(MIN(sum, weight) * t->on_cpu_ns / weight) : 0;
		const struct on_cpu_row row = {
			.thread = s->thread,
			.user = s->user,
			.kernel = s->kernel,
			.samples = s->samples,
			.on_cpu_ns = until_ns - told_ns,
			.on_cpu_se_ns = (uint64_t)on_cpu_error(t->on_cpu_ns, s->samples, all),
		};

		told_ns = until_ns;
		g_array_append_val(rows, row);
	}
}

static struct on_cpu_row not_sampled(struct profile *p, uint32_t thread, uint64_t on_cpu_ns)
{
	bool is_kernel = profile_thread(p, thread)->flags & THREAD_KERNEL;
	const struct frame frame = { .name = NOT_SAMPLED,
				     .kind = is_kernel ? FRAME_KERNEL : FRAME_USER,
				     .why = FRAME_NAMED };
	uint32_t node = profile_node(p, 0, profile_frame(p, &frame));

	profile_stack_end(p, node, STACK_PENDING);
	return (struct on_cpu_row){ .thread = thread, .user = is_kernel ? 0 : node, .kernel = is_kernel ? node : 0,
				    .on_cpu_ns = on_cpu_ns };
}

GArray *profile_on_cpu_rows(struct profile *p)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct on_cpu_row));
	g_autoptr(GArray) samples = NULL;
	guint at = 0;

	if (!profile_has_on_cpu(p))
		return rows;
	samples = profile_on_cpu_of_stacks(p);
	EACH_ROW(i, const struct thread, t, p->threads) {
		const struct on_cpu_sample *all = (const void *)samples->data;
		guint first = at;

		while (at < samples->len && all[at].thread == i)
			at++;
		if (at > first) {
			share_out(t, all + first, all + at, rows);
		} else if (t->on_cpu_ns) {
			struct on_cpu_row row = not_sampled(p, i, t->on_cpu_ns);

			g_array_append_val(rows, row);
		}
	}
	return rows;
}

void profile_on_cpu_as_waits(struct profile *p)
{
	g_autoptr(GArray) rows = NULL;

	if (!profile_has_on_cpu(p) || p->info.on_cpu_as_waits)
		return;
	p->info.on_cpu_as_waits = true;
	rows = profile_on_cpu_rows(p);
	EACH_ROW(i, const struct on_cpu_row, row, rows) {
		const struct wait w = {
			.thread = row->thread,
			.user = row->user,
			.kernel = row->kernel,
			.state = ON_CPU_STATE,
			.count = row->samples,
			.on_cpu_ns = row->on_cpu_ns,
			.off_cpu_se_ns = row->on_cpu_se_ns,
		};

		if (w.on_cpu_ns)
			profile_add_wait(p, &w);
	}
}
