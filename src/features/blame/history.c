/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Merges rows of run-queue blame: on a busy machine everybody holds the CPU for a while. */
#include <string.h>

#include "base/order.h"
#include "profile/profile.h"
#include "store/merge_part.h"

#define TOLD_MAX 4
#define TOLD_PART 16

static uint64_t blame_ns(const struct blame *b)
{
	return profile_sum(b->runnable_ns, b->preempted_ns);
}

/* Rows of nobody are few: the CPU was idle, or the thread was throttled. */
static bool is_named(const struct blame *b)
{
	return b->kind == BLAME_THREAD && strcmp(b->comm, BLAME_OTHERS_NAME) != 0;
}

static bool is_own_process(const struct profile *p, const struct blame *b)
{
	return b->pid && b->pid == profile_thread(p, b->thread)->pid;
}

/* Groups equal names; the order of processes does not matter. */
static int by_name(gconstpointer a, gconstpointer b, gpointer window)
{
	const struct blame *x = a, *y = b;
	int order = strcmp(x->comm, y->comm);

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return order ? order : is_own_process(window, x) - is_own_process(window, y);
}

/* By thread, longest first. */
ORDER(by_thread_and_time, struct blame, ORDER_LOW(thread) ORDER_LOW_OF(is_named) ORDER_HIGH_OF(blame_ns) ORDER_LOW(kind)
      ORDER_TEXT(comm))

static void add_blame(struct blame *into, const struct blame *b)
{
	if (into->pid != b->pid)
		into->pid = into->tid = 0;
	if (into->tid != b->tid)
		into->tid = 0;
	into->count = profile_sum(into->count, b->count);
	into->runnable_ns = profile_sum(into->runnable_ns, b->runnable_ns);
	into->preempted_ns = profile_sum(into->preempted_ns, b->preempted_ns);
}

/* Merges processes of the same name, except the thread's own. */
static GArray *sum_by_name(const struct profile *window)
{
	g_autoptr(GArray) all = g_array_sized_new(FALSE, FALSE, sizeof(struct blame), window->blames->len);
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct blame));

	g_array_append_vals(all, window->blames->data, window->blames->len);
	g_array_sort_with_data(all, by_name, (gpointer)(uintptr_t)window);
	EACH_ROW(i, const struct blame, b, all) {
		if (i && by_name(b - 1, b, (gpointer)(uintptr_t)window) == 0)
			add_blame(&g_array_index(rows, struct blame, rows->len - 1), b);
		else
			g_array_append_vals(rows, b, 1);
	}
	return rows;
}

GArray *merge_coarse_blames(const struct profile *window)
{
	GArray *rows = sum_by_name(window);
	g_autofree uint64_t *whole_ns = g_new0(uint64_t, window->threads->len + 1);
	unsigned of_thread = 0;

	EACH_ROW(i, const struct blame, b, rows)
		whole_ns[b->thread] = profile_sum(whole_ns[b->thread], blame_ns(b));
	g_array_sort(rows, by_thread_and_time);
	EACH_ROW(i, struct blame, b, rows) {
		if (!i || b[-1].thread != b->thread)
			of_thread = 0;
		if (!is_named(b))
			continue;
		of_thread++;
		if (of_thread > TOLD_MAX || (of_thread > 1 && blame_ns(b) < whole_ns[b->thread] / TOLD_PART)) {
			b->comm = BLAME_OTHERS_NAME;
			b->pid = b->tid = 0;
		}
	}
	return rows;
}
