/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/services.h"
#include "base/order.h"

#define SHARE_MIN 100	/* 1/SHARE_MIN of a window's time */

struct services {
	GHashTable *names;	/* a set */
	unsigned max;
};

struct time_of {
	const char *service;	/* interned */
	uint64_t ns;
};

struct services *services_new(unsigned max)
{
	struct services *s = g_new0(struct services, 1);

	s->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	s->max = max;
	return s;
}

FREES(services_free, struct services, s, g_hash_table_unref(s->names))

static void services_add(struct services *s, const char *name)
{
	if (*name && g_hash_table_size(s->names) < s->max && !g_hash_table_contains(s->names, name))
		g_hash_table_add(s->names, g_strdup(name));
}

static const char *service_of(const struct thread *t)
{
	return t->service ? t->service : t->process;
}

ORDER(most_first, struct time_of, ORDER_HIGH(ns) ORDER_TEXT(service))

void services_learn(struct services *s, const struct profile *p)
{
	g_autoptr(GHashTable) index = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(struct time_of));
	uint64_t all_ns = 0;

	if (g_hash_table_size(s->names) >= s->max)
		return;
	EACH_ROW(i, const struct thread, t, p->threads) {
		guint at = GPOINTER_TO_UINT(g_hash_table_lookup(index, service_of(t)));
		uint64_t ns = thread_off_cpu_ns(t) + t->on_cpu_ns;

		if (t->flags & THREAD_KERNEL)
			continue;
		if (!at) {
			const struct time_of one = { .service = service_of(t) };

			g_array_append_val(times, one);
			at = times->len;
			g_hash_table_insert(index, (gpointer)service_of(t), GUINT_TO_POINTER(at));
		}
		g_array_index(times, struct time_of, at - 1).ns += ns;
		all_ns += ns;
	}
	g_array_sort(times, most_first);
	EACH_ROW(i, const struct time_of, one, times)
		if (one->ns >= all_ns / SHARE_MIN)
			services_add(s, one->service);
}

const char *services_name(const struct services *s, const struct thread *t)
{
	gpointer own;

	if (t->flags & THREAD_KERNEL)
		return "kernel";
	return g_hash_table_lookup_extended(s->names, service_of(t), &own, NULL) ? own : "other";
}
