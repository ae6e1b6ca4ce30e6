/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/accounts.h"

#include <math.h>

#include "base/each.h"
#include "base/hash.h"
#include "base/order.h"
#include "features/blame/analysis.h"

/* One row per process and program: an exec, or reuse of the pid, begins another row. */
struct process_key {
	uint32_t pid;
	const char *process;	/* interned, so pointers can be compared */
};

HASH_KEY(key, struct process_key, pid, process)

static void add_thread(struct account_row *row, const struct thread *t)
{
	int64_t residual_ns = thread_residual_ns(t);

	row->threads_cnt++;
	row->observed_ns += thread_observed_ns(t);
	ADD_MEMBERS(row, t, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
	row->off_cpu_ns += thread_off_cpu_ns(t);
	row->filtered_ns += t->filtered_ns;
	row->lost_ns += t->lost_ns;
	row->switches += t->switches;
	/* Unsigned, since sums of a hostile recording may overflow: that is well-defined. */
	row->residual_ns = (int64_t)((uint64_t)row->residual_ns + (uint64_t)residual_ns);
	row->residual_abs_ns += residual_ns < 0 ? 0 - (uint64_t)residual_ns : (uint64_t)residual_ns;
}

ORDER(row_compare, struct account_row, ORDER_HIGH(off_cpu_ns) ORDER_TEXT(process) ORDER_LOW(pid))

struct accounts *accounts_new(const struct profile *p, const struct selection *selection)
{
	struct accounts *a = g_new0(struct accounts, 1);
	g_autoptr(GHashTable) index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);

	g_autofree uint64_t *throttled_ns = throttled_by_thread(p);

	a->rows = g_array_new(FALSE, TRUE, sizeof(struct account_row));
	EACH_ROW(i, const struct thread, t, p->threads) {
		struct process_key key = { .pid = t->pid, .process = t->process };
		gpointer at;

		if (selection && !selection->threads[i])
			continue;
		if (!g_hash_table_lookup_extended(index, &key, NULL, &at)) {
			struct account_row row = { .pid = t->pid, .process = t->process };
			struct process_key *own = g_new(struct process_key, 1);

			at = GUINT_TO_POINTER(a->rows->len);
			g_array_append_val(a->rows, row);
			*own = key;
			g_hash_table_insert(index, own, at);
		}
		struct account_row *row = &g_array_index(a->rows, struct account_row, GPOINTER_TO_UINT(at));

		add_thread(row, t);
		add_thread(&a->total, t);
		row->throttled_ns += throttled_ns[i];
		a->total.throttled_ns += throttled_ns[i];
	}
	g_array_sort(a->rows, row_compare);
	return a;
}

FREES(accounts_free, struct accounts, a, g_array_unref(a->rows))

enum stack_end coverage_stack_end(const struct profile *p, const struct wait *w)
{
	const struct stack_node *n = profile_get_node(p, w->user);

	if (w->user == 0)
		return STACK_NONE;
	return n->end < STACK_END_COUNT ? (enum stack_end)n->end : STACK_NONE;
}

/* Dropped by sampling of short waits, which is reported separately. */
static bool is_sampling(const struct profile_loss *l)
{
	return g_strcmp0(l->reason, "waker_sampled") == 0;
}

void coverage_of(const struct profile *p, const struct selection *selection, struct coverage *ret_coverage)
{
	struct coverage c = { 0 };
	double variance_ns2 = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		uint64_t ns = wait_off_cpu_ns(w);

		if (w->state == ON_CPU_STATE || (selection && !selection->threads[w->thread]))
			continue;
		c.waits_cnt += w->count;
		c.listed_ns += ns;
		variance_ns2 += (double)w->off_cpu_se_ns * (double)w->off_cpu_se_ns;
		c.stacks_ns[coverage_stack_end(p, w)] += ns;
		if (w->flags & WAIT_OPEN_AT_START) {
			c.open_start_ns += ns;
			c.open_start_cnt += w->count;
		}
		if (w->flags & WAIT_OPEN_AT_END) {
			c.open_end_ns += ns;
			c.open_end_cnt += w->count;
		}
		if (!selection || selection->waits[i])
			c.selected_ns += ns;
	}
	c.listed_se_ns = sqrt(variance_ns2);
	for (unsigned i = 0; i < p->losses->len; i++)
		if (!is_sampling(&g_array_index(p->losses, struct profile_loss, i)))
			c.lost_cnt += g_array_index(p->losses, struct profile_loss, i).count;
	*ret_coverage = c;
}
