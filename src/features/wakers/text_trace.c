/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <inttypes.h>

#include "analyse/label.h"
#include "base/order.h"
#include "explain/text.h"
#include "features/wakers/analysis.h"

struct printer {
	const struct profile *p;
	GPtrArray *labels;
	GString *s;
};

static void append_frame(struct printer *pr, uint32_t node)
{
	g_string_append(pr->s, "    ");
	text_safe(pr->s, g_ptr_array_index(pr->labels, profile_get_node(pr->p, node)->frame));
	g_string_append_c(pr->s, '\n');
}

static void innermost_first(struct printer *pr, uint32_t node)
{
	for (; node; node = profile_get_node(pr->p, node)->parent)
		append_frame(pr, node);
}

static void outermost_first(struct printer *pr, uint32_t node)
{
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (; node; node = profile_get_node(pr->p, node)->parent)
		g_array_append_val(path, node);
	for (guint i = path->len; i-- > 0;)
		append_frame(pr, g_array_index(path, uint32_t, i));
}

static void append_who(struct printer *pr, const char *role, const char *name, uint32_t tid)
{
	g_string_append_printf(pr->s, "    %-16s ", role);
	text_safe(pr->s, name);
	if (tid)
		g_string_append_printf(pr->s, " (%u)", tid);
	g_string_append_c(pr->s, '\n');
}

/* The sleeps of a wait that one waker ended, or those without a known waker. */
struct woken {
	uint32_t wait, waker;	/* waker NONE: unknown */
	uint64_t ns;
	uint32_t order;
};
#define NONE UINT32_MAX

ORDER(by_time, struct woken, ORDER_LOW(ns) ORDER_LOW(order))

static GArray *all_woken(const struct profile *p)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct woken));
	struct wakes_by_wait *by = wakes_by_wait_new(p);

	EACH_ROW(i, const struct wake, k, p->wakes) {
		const struct woken row = { k->wait, k->waker, k->blocked_ns + k->runnable_ns, all->len };

		g_array_append_val(all, row);
	}
	for (uint32_t i = 0; i < p->waits->len; i++) {
		struct wake rest;

		wakes_unknown(p, by, i, &rest);
		const struct woken row = { i, NONE, rest.blocked_ns + rest.runnable_ns, all->len };

		if (wait_is_sleep(profile_wait(p, i)) && row.ns)
			g_array_append_val(all, row);
	}
	wakes_by_wait_free(by);
	g_array_sort(all, by_time);
	return all;
}

void trace_wakers_text(GString *s, const struct profile *p, bool only_waker)
{
	g_autoptr(GPtrArray) labels = label_all(p);
	g_autoptr(GArray) all = all_woken(p);
	struct printer pr = { p, labels, s };

	EACH_ROW(i, const struct woken, row, all) {
		const struct wait *w = profile_wait(p, row->wait);
		const struct thread *t = profile_thread(p, w->thread);

		if (row->waker == NONE) {
			append_who(&pr, "waker:", waker_missing(w), 0);
		} else {
			const struct waker *waker = profile_get_waker(p, row->waker);

			append_who(&pr, "waker:", waker_name(waker), waker->tid);
			outermost_first(&pr, waker->user);
			outermost_first(&pr, waker->kernel);
		}
		if (!only_waker) {
			g_string_append(s, "    --\n");
			innermost_first(&pr, w->kernel);
			innermost_first(&pr, w->user);
		}
		append_who(&pr, "target:", t->comm, t->tid);
		g_string_append_printf(s, "        %" PRIu64 "\n\n", (row->ns + 500) / 1000);
	}
}
