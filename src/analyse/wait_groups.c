/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/wait_groups.h"

#include <string.h>

#include "analyse/plumbing.h"
#include "base/each.h"
#include "base/hash.h"
#include "base/order.h"
#include "profile/profile.h"

/* Strings are interned. */
struct key {
	const char *comm, *name;
	uint32_t reason, is_idle;
};

HASH_KEY(key, struct key, comm, name, reason, is_idle)

static int row_compare(gconstpointer va, gconstpointer vb)
{
	const struct wait_group *a = va, *b = vb;

	if (a->off_cpu_ns != b->off_cpu_ns)
		return a->off_cpu_ns > b->off_cpu_ns ? -1 : 1;
	if (!a->off_cpu_ns && a->count != b->count)	/* looks have no times */
		return a->count > b->count ? -1 : 1;
	int by_name = strcmp(a->name, b->name);

	return by_name ? by_name : a->wait < b->wait ? -1 : a->wait > b->wait;
}

static uint32_t row_of(struct wait_groups *h, GHashTable *index, const struct key *key, uint32_t wait)
{
	gpointer found;

	if (g_hash_table_lookup_extended(index, key, NULL, &found))
		return GPOINTER_TO_UINT(found);
	const struct wait_group row = { .name = key->name,
				      .reason = (enum reason)key->reason,
				      .is_idle = key->is_idle,
				      .wait = wait };

	g_array_append_val(h->rows, row);
	g_hash_table_insert(index, g_memdup2(key, sizeof(*key)), GUINT_TO_POINTER(h->rows->len - 1));
	return h->rows->len - 1;
}

static void add_wait(struct wait_group *row, const struct profile *p, uint32_t wait)
{
	const struct wait *w = profile_wait(p, wait), *most = profile_wait(p, row->wait);

	row->has_several_objects = row->has_several_objects || w->object != most->object;
	if (wait_off_cpu_ns(w) > wait_off_cpu_ns(most))
		row->wait = wait;
	row->off_cpu_ns += wait_off_cpu_ns(w);
	ADD_MEMBERS(row, w, blocked_ns, runnable_ns, preempted_ns, count);
	if (w->max_ns > row->max_ns) {
		row->max_ns = w->max_ns;
		row->longest = wait + 1;
	}
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		row->hist[i] += w->hist[i];
}

/* A wait's row, and what is counted once per row. */
struct member {
	uint32_t row, thread, user, kernel;
};

ORDER(member_compare_threads, struct member, ORDER_LOW(row) ORDER_LOW(thread))

ORDER(member_compare_stacks, struct member, ORDER_LOW(row) ORDER_LOW(user) ORDER_LOW(kernel))

/* Sorts instead of keeping a set per row, which would need more memory. */
static void count_members(struct wait_groups *h, GArray *members)
{
	const struct member *m = (const struct member *)(void *)members->data;

	g_array_sort(members, member_compare_threads);
	for (guint i = 0; i < members->len; i++)
		if (!i || member_compare_threads(&m[i - 1], &m[i]))
			g_array_index(h->rows, struct wait_group, m[i].row).threads_cnt++;
	g_array_sort(members, member_compare_stacks);
	for (guint i = 0; i < members->len; i++)
		if (!i || member_compare_stacks(&m[i - 1], &m[i]))
			g_array_index(h->rows, struct wait_group, m[i].row).stacks_cnt++;
}

struct wait_groups *wait_groups_new(const struct profile *p, struct reasons *reasons, const struct selection *selection)
{
	struct wait_groups *h = g_new0(struct wait_groups, 1);
	g_autoptr(GHashTable) index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(struct member));

	h->rows = g_array_new(FALSE, FALSE, sizeof(struct wait_group));
	EACH_ROW(i, const struct wait, w, p->waits) {
		if ((selection && !selection->waits[i]) || w->state == ON_CPU_STATE)
			continue;
		const struct key key = { .comm = profile_thread(p, w->thread)->comm,
					 .name = plumbing_leaf(reasons_plumbing(reasons), w),
					 .reason = reasons_of(reasons, i),
					 .is_idle = reasons_is_idle(reasons, i) };
		uint32_t row = row_of(h, index, &key, i);
		const struct member member = { row, w->thread, w->user, w->kernel };

		add_wait(&g_array_index(h->rows, struct wait_group, row), p, i);
		g_array_append_val(members, member);
		h->sum_ns += wait_off_cpu_ns(w);
	}
	count_members(h, members);
	g_array_sort(h->rows, row_compare);
	return h;
}

FREES(wait_groups_free, struct wait_groups, h, g_array_unref(h->rows))
