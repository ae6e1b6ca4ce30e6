/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/trace_wakers.h"

#include <inttypes.h>

#include "analyse/label.h"
#include "analyse/wakers.h"
#include "render/text_util.h"

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

static int by_time(gconstpointer va, gconstpointer vb, gpointer data)
{
	const struct wake *a = profile_wake(data, *(const uint32_t *)va), *b = profile_wake(data, *(const uint32_t *)vb);
	uint64_t a_ns = a->blocked_ns + a->runnable_ns, b_ns = b->blocked_ns + b->runnable_ns;

	if (a_ns != b_ns)
		return a_ns < b_ns ? -1 : 1;
	return *(const uint32_t *)va < *(const uint32_t *)vb ? -1 : 1;
}

void trace_wakers_text(GString *s, const struct profile *p, bool only_waker)
{
	g_autoptr(GPtrArray) labels = label_all(p);
	g_autofree uint32_t *order = g_new(uint32_t, (gsize)p->wakes->len + 1);
	struct printer pr = { p, labels, s };

	for (uint32_t i = 0; i < p->wakes->len; i++)
		order[i] = i;
	g_qsort_with_data(order, (int)p->wakes->len, sizeof(*order), by_time, (gpointer)p);
	for (uint32_t i = 0; i < p->wakes->len; i++) {
		const struct wake *k = profile_wake(p, order[i]);
		const struct waker *waker = profile_get_waker(p, k->waker);
		const struct wait *w = profile_wait(p, k->wait);
		const struct thread *t = profile_thread(p, w->thread);

		append_who(&pr, "waker:", waker_name(waker), waker->tid);
		outermost_first(&pr, waker->user);
		outermost_first(&pr, waker->kernel);
		if (!only_waker) {
			g_string_append(s, "    --\n");
			innermost_first(&pr, w->kernel);
			innermost_first(&pr, w->user);
		}
		append_who(&pr, "target:", t->comm, t->tid);
		g_string_append_printf(s, "        %" PRIu64 "\n\n", (k->blocked_ns + k->runnable_ns + 500) / 1000);
	}
}
