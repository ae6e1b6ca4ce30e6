/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/wakers.h"

#include <string.h>

struct wakes_by_wait *wakes_by_wait_new(const struct profile *p)
{
	struct wakes_by_wait *by = g_new0(struct wakes_by_wait, 1);
	g_autofree uint32_t *at = NULL;

	by->first = g_new0(uint32_t, (gsize)p->waits->len + 1);
	by->order = g_new0(uint32_t, (gsize)p->wakes->len + 1);
	for (uint32_t i = 0; i < p->wakes->len; i++)
		by->first[profile_wake(p, i)->wait + 1]++;
	for (uint32_t i = 0; i < p->waits->len; i++)
		by->first[i + 1] += by->first[i];
	at = g_memdup2(by->first, ((gsize)p->waits->len + 1) * sizeof(*at));
	for (uint32_t i = 0; i < p->wakes->len; i++)
		by->order[at[profile_wake(p, i)->wait]++] = i;
	return by;
}

void wakes_by_wait_free(struct wakes_by_wait *by)
{
	if (!by)
		return;
	g_free(by->first);
	g_free(by->order);
	g_free(by);
}

void wakes_unknown(const struct profile *p, const struct wakes_by_wait *by, uint32_t wait, struct wake *ret)
{
	const struct wait *w = profile_wait(p, wait);

	*ret = (struct wake){ .wait = wait, .count = w->count, .blocked_ns = w->blocked_ns,
			      .runnable_ns = w->runnable_ns };
	for (uint32_t i = by->first[wait]; i < by->first[wait + 1]; i++) {
		const struct wake *k = profile_wake(p, by->order[i]);

		ret->count -= k->count;
		ret->blocked_ns -= k->blocked_ns;
		ret->runnable_ns -= k->runnable_ns;
	}
}

static guint row_hash(gconstpointer key)
{
	const struct waker_row *r = key;

	return g_str_hash(r->waker) * 31 + g_str_hash(r->target);
}

static gboolean row_equal(gconstpointer va, gconstpointer vb)
{
	const struct waker_row *a = va, *b = vb;

	return strcmp(a->waker, b->waker) == 0 && strcmp(a->target, b->target) == 0;
}

static void add_row(GHashTable *rows, const char *waker, const char *target, const struct wake *k)
{
	struct waker_row key = { .waker = waker, .target = target };
	struct waker_row *row = g_hash_table_lookup(rows, &key);

	if (!k->count && !k->blocked_ns)
		return;
	if (!row) {
		row = g_memdup2(&key, sizeof(key));
		g_hash_table_add(rows, row);
	}
	row->count += k->count;
	row->blocked_ns += k->blocked_ns;
	row->runnable_ns += k->runnable_ns;
	for (int i = 0; i < PROFILE_HIST_SLOTS; i++)
		row->hist[i] += k->hist[i];
}

static int compare_rows(gconstpointer va, gconstpointer vb)
{
	const struct waker_row *a = va, *b = vb;
	int c;

	if (a->blocked_ns != b->blocked_ns)
		return a->blocked_ns < b->blocked_ns ? 1 : -1;
	c = strcmp(a->target, b->target);
	return c ? c : strcmp(a->waker, b->waker);
}

struct waker_table *waker_table_new(const struct profile *p, const struct selection *selection)
{
	struct waker_table *t = g_new0(struct waker_table, 1);
	GHashTable *rows = g_hash_table_new_full(row_hash, row_equal, g_free, NULL);
	struct wakes_by_wait *by = wakes_by_wait_new(p);
	GHashTableIter iter;
	gpointer row;

	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const char *target = profile_thread(p, w->thread)->comm;
		struct wake unknown;

		if ((selection && !selection->waits[i]) || !wait_is_sleep(w))
			continue;
		for (uint32_t n = by->first[i]; n < by->first[i + 1]; n++) {
			const struct wake *k = profile_wake(p, by->order[n]);

			add_row(rows, waker_name(profile_get_waker(p, k->waker)), target, k);
		}
		wakes_unknown(p, by, i, &unknown);
		t->blocked_ns += w->blocked_ns;
		if (w->flags & WAIT_OPEN_AT_END) {
			t->blocked_ns -= unknown.blocked_ns;
			t->asleep_ns += unknown.blocked_ns;
		} else {
			add_row(rows, "unknown", target, &unknown);
		}
	}
	t->rows = g_array_new(FALSE, FALSE, sizeof(struct waker_row));
	g_hash_table_iter_init(&iter, rows);
	while (g_hash_table_iter_next(&iter, &row, NULL))
		g_array_append_vals(t->rows, row, 1);
	g_array_sort(t->rows, compare_rows);
	g_hash_table_unref(rows);
	wakes_by_wait_free(by);
	return t;
}

void waker_table_free(struct waker_table *t)
{
	if (!t)
		return;
	g_array_unref(t->rows);
	g_free(t);
}

uint64_t waker_percentile_ns(const uint64_t *hist, double share)
{
	uint64_t all = 0, below = 0;

	for (int i = 0; i < PROFILE_HIST_SLOTS; i++)
		all += hist[i];
	for (int i = 0; i < PROFILE_HIST_SLOTS; i++) {
		double want = share * (double)all - (double)below;

		if (hist[i] && want <= (double)hist[i])
			return (uint64_t)((double)(UINT64_C(1) << i) * (1 + want / (double)hist[i]));
		below += hist[i];
	}
	return 0;
}
