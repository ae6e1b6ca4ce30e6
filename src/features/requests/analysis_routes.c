/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/analysis_routes.h"

FREES_DATA(row_free, struct request_route, row, g_array_unref(row->slowest))

/* Waits of the request may precede the moment the program knew its route, so the route with the most time wins. */
const char *request_route(struct routes *routes, const struct profile *p, const struct request_span *s)
{
	const char *best = s->context ? routes_of(routes, s->context) : NULL;
	uint64_t best_ns = 0;

	if (best)
		return best;
	for (uint32_t i = 0; i < s->wait_cnt; i++) {
		const char *name = routes_of(routes, profile_span_wait(p, s->wait + i)->user);
		uint64_t ns = 0;

		for (uint32_t k = 0; name && k < s->wait_cnt; k++) {
			const struct span_wait *w = profile_span_wait(p, s->wait + k);

			if (routes_of(routes, w->user) == name)
				ns += w->blocked_ns + w->runnable_ns + w->preempted_ns;
		}
		if (name && (!best || ns > best_ns)) {
			best = name;
			best_ns = ns;
		}
	}
	return best;
}

static unsigned slot_of(uint64_t ns)
{
	unsigned low = 0, high = OFFCPU_REQUEST_SLOTS - 1;

	while (low < high) {
		unsigned middle = (low + high + 1) / 2;

		if (request_slot_low(middle) <= ns)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static void add_span(struct request_route *row, const struct request_span *s, double weight)
{
	struct offcpu_request_times *all = &row->sum.all;
	uint64_t times;

	/* whole requests, which add up to the estimate */
	row->estimate += weight;
	times = (uint64_t)row->estimate - all->count;
	row->is_exact &= weight == 1;
	all->count += times;
	all->wall_ns += (uint64_t)((double)s->wall_ns * weight);
	all->on_cpu_ns += (uint64_t)((double)s->on_cpu_ns * weight);
	all->blocked_ns += (uint64_t)((double)s->blocked_ns * weight);
	all->runnable_ns += (uint64_t)((double)s->runnable_ns * weight);
	all->preempted_ns += (uint64_t)((double)s->preempted_ns * weight);
	row->sum.hist[slot_of(s->wall_ns)] += times;
	row->sum.max_ns = MAX(row->sum.max_ns, s->wall_ns);
}

static struct request_route *row_of(struct request_routes *r, GHashTable *by_name, const char *name)
{
	struct request_route *row = g_hash_table_lookup(by_name, name);

	if (row)
		return row;
	row = g_new0(struct request_route, 1);
	row->name = name;
	row->is_exact = true;
	row->estimate = 0.5;	/* for rounding to whole requests */
	row->slowest = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_hash_table_insert(by_name, (gpointer)name, row);
	g_ptr_array_add(r->rows, row);
	return row;
}

static gint slowest_first(gconstpointer a, gconstpointer b, gpointer data)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = profile_span(data, i)->wall_ns, y = profile_span(data, k)->wall_ns;

	return x != y ? (x < y ? 1 : -1) : (i > k) - (i < k);
}

static gint most_first(gconstpointer a, gconstpointer b)
{
	const struct request_route *x = *(const struct request_route *const *)a,
				   *y = *(const struct request_route *const *)b;

	if (!x->name != !y->name)
		return x->name ? -1 : 1;
	if (x->sum.all.wall_ns != y->sum.all.wall_ns)
		return x->sum.all.wall_ns < y->sum.all.wall_ns ? 1 : -1;
	return g_strcmp0(x->name, y->name);
}

struct request_routes *request_routes_new(const struct profile *p, guint slowest_max)
{
	struct request_routes *r = g_new0(struct request_routes, 1);
	g_autoptr(GHashTable) by_name = g_hash_table_new(NULL, NULL);
	g_autofree double *weights = request_span_weights(p);

	r->rows = g_ptr_array_new_with_free_func(row_free);
	r->routes = routes_new(p);
	EACH_ROW(i, const struct request_span, s, p->spans) {
		struct request_route *row = row_of(r, by_name, request_route(r->routes, p, s));

		r->has_any |= row->name != NULL;
		add_span(row, s, s->flags & OFFCPU_SPAN_SLOWEST ? 1 : weights[s->func]);
		g_array_append_val(row->slowest, i);
	}
	EACH_POINTER(i, struct request_route, row, r->rows) {
		g_array_sort_with_data(row->slowest, slowest_first, (gpointer)p);
		g_array_set_size(row->slowest, MIN(row->slowest->len, slowest_max));
	}
	g_ptr_array_sort(r->rows, most_first);
	return r;
}

FREES(request_routes_free, struct request_routes, r, g_ptr_array_unref(r->rows); routes_free(r->routes))

const char *request_trace(const struct profile *p, const struct request_span *s, const char **ret_span)
{
	uint64_t start_ns = s->start_ns - MIN(s->start_ns, p->info.start_ns);
	const struct wait_trace *longest = NULL;

	*ret_span = s->trace_span;
	if (s->trace)
		return s->trace;
	EACH_ROW(i, const struct wait_trace, t, p->traces)
		if (profile_wait(p, t->wait)->thread == s->thread && t->start_ns >= start_ns &&
		    t->start_ns + t->ns <= start_ns + s->wall_ns && (!longest || t->ns > longest->ns))
			longest = t;
	*ret_span = longest ? longest->span : NULL;
	return longest ? longest->trace : NULL;
}
