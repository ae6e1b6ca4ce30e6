/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/fold.h"

#include "base/hash.h"
#include "base/order.h"
#include "features/requests/rows.h"
#include "features/traces/fold.h"

struct spans {
	GPtrArray *slowest;	/* struct offcpu_rec_request_span *, a heap with the fastest on top */
	GHashTable *of_routes;	/* uint64_t route -> likewise, for requests not in `slowest` */
	GPtrArray *sampled;
	guint slowest_max, sampled_max;
	uint64_t from_ns;
	unsigned shift;		/* each other request is kept with a probability of 2^-shift */
	uint64_t random;
};

static void heap_free(gpointer heap)
{
	g_ptr_array_unref(heap);
}

struct spans *spans_new(guint slowest, guint sampled)
{
	struct spans *s = g_new0(struct spans, 1);

	s->slowest = g_ptr_array_new_with_free_func(g_free);
	s->of_routes = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, heap_free);
	s->sampled = g_ptr_array_new_with_free_func(g_free);
	s->slowest_max = slowest;
	s->sampled_max = sampled;
	return s;
}

FREES(spans_free, struct spans, s, g_ptr_array_unref(s->slowest); g_hash_table_destroy(s->of_routes);
      g_ptr_array_unref(s->sampled))

static uint64_t wall_ns(const GPtrArray *heap, guint i)
{
	const struct offcpu_rec_request_span *span = heap->pdata[i];

	return span->wall_ns;
}

static void swap_spans(GPtrArray *heap, guint a, guint b)
{
	gpointer at_a = heap->pdata[a];

	heap->pdata[a] = heap->pdata[b];
	heap->pdata[b] = at_a;
}

static void heap_push(GPtrArray *heap, gpointer span)
{
	guint i = heap->len;

	g_ptr_array_add(heap, span);
	for (; i && wall_ns(heap, i) < wall_ns(heap, (i - 1) / 2); i = (i - 1) / 2)
		swap_spans(heap, i, (i - 1) / 2);
}

/* Takes out the fastest one, which the caller then owns. */
static struct offcpu_rec_request_span *heap_pop(GPtrArray *heap)
{
	guint i = 0;

	swap_spans(heap, 0, heap->len - 1);
	struct offcpu_rec_request_span *span = g_ptr_array_steal_index(heap, heap->len - 1);

	while (2 * i + 1 < heap->len) {
		guint child = 2 * i + 1;

		if (child + 1 < heap->len && wall_ns(heap, child + 1) < wall_ns(heap, child))
			child++;
		if (wall_ns(heap, i) <= wall_ns(heap, child))
			break;
		swap_spans(heap, i, child);
		i = child;
	}
	return span;
}

/* True with a probability of 2^-bits. */
static bool draw(struct spans *s, unsigned bits)
{
	s->random += HASH_MIX;
	return (hash_end(hash_more(s->random, 0)) & ((UINT64_C(1) << bits) - 1)) == 0;
}

/* Drops each with a probability of one half. */
static void thin_out(struct spans *s)
{
	guint kept = 0;

	for (guint i = 0; i < s->sampled->len; i++)
		if (draw(s, 1))
			swap_spans(s->sampled, kept++, i);
	g_ptr_array_set_size(s->sampled, (gint)kept);
	s->shift++;
}

/* It was sent with a probability of 2^-span->shift. */
static void add_other(struct spans *s, struct offcpu_rec_request_span *span)
{
	if (span->shift < s->shift && !draw(s, s->shift - span->shift)) {
		g_free(span);
		return;
	}
	span->flags &= (uint8_t)~OFFCPU_SPAN_SLOWEST;
	g_ptr_array_add(s->sampled, span);
	while (s->sampled->len > s->sampled_max && s->shift < OFFCPU_REQUEST_SHIFT_MAX)
		thin_out(s);
	if (s->sampled->len > s->sampled_max)
		g_ptr_array_remove_index_fast(s->sampled, s->sampled->len - 1);
}

uint64_t spans_route_from_ns(const struct spans *s, uint64_t route)
{
	const GPtrArray *heap = g_hash_table_lookup(s->of_routes, &route);

	return heap && heap->len >= SPANS_OF_ROUTE ? wall_ns(heap, 0) + 1 : 0;
}

/* It is not among the slowest of all, and such spans are always sent. */
static void add_of_route(struct spans *s, struct offcpu_rec_request_span *span)
{
	uint64_t route = span->route;
	GPtrArray *heap;

	if (!route || span->wall_ns < spans_route_from_ns(s, route)) {
		add_other(s, span);
		return;
	}
	heap = g_hash_table_lookup(s->of_routes, &route);
	if (!heap) {
		heap = g_ptr_array_new_with_free_func(g_free);
		g_hash_table_insert(s->of_routes, g_memdup2(&route, sizeof(route)), heap);
	}
	heap_push(heap, span);
	if (heap->len > SPANS_OF_ROUTE)
		add_other(s, heap_pop(heap));
}

void spans_add(struct spans *s, const void *record, size_t size)
{
	const struct offcpu_rec_request_span *span = record;
	const size_t head = offsetof(struct offcpu_rec_request_span, note);
	struct offcpu_rec_request_span *own;

	if (size < head || span->note_cnt > OFFCPU_REQUEST_NOTES_MAX ||
	    size < head + span->note_cnt * sizeof(span->note[0]))
		return;
	own = g_memdup2(record, head + span->note_cnt * sizeof(span->note[0]));
	if (!(own->flags & OFFCPU_SPAN_SLOWEST)) {
		add_other(s, own);
		return;
	}
	own->shift = 0;
	if (own->wall_ns < s->from_ns) {
		add_of_route(s, own);
		return;
	}
	heap_push(s->slowest, own);
	if (s->slowest->len <= s->slowest_max)
		return;
	add_of_route(s, heap_pop(s->slowest));
	s->from_ns = wall_ns(s->slowest, 0);
}

uint64_t spans_from_ns(const struct spans *s)
{
	return s->from_ns;
}

unsigned spans_shift(const struct spans *s)
{
	return s->shift;
}

ORDER_POINTERS(by_start, struct offcpu_rec_request_span, ORDER_LOW(start_ns))

static void put_trace(struct request_span *span, const struct offcpu_rec_request_span *from, struct fold *fold,
		      struct profile *p)
{
	const uint8_t *bytes = (const uint8_t *)from->trace;

	if (from->route)
		fold_find(fold, from->route, &span->context);
	if (!from->trace[0] && !from->trace[1])
		return;
	span->trace = fold_trace_text(p, bytes, 16);
	span->trace_span = fold_trace_text(p, bytes + 16, 8);
}

void spans_finish(struct spans *s, struct fold *fold, struct profile *p)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();

	g_ptr_array_extend(all, s->slowest, NULL, NULL);
	EACH_VALUE(void, heap, s->of_routes)
		g_ptr_array_extend(all, heap, NULL, NULL);
	g_ptr_array_extend(all, s->sampled, NULL, NULL);
	g_ptr_array_sort(all, by_start);
	EACH_POINTER(i, const struct offcpu_rec_request_span, from, all) {
		struct request_span span = {
			.func = from->func, .start_ns = from->start_ns, .wall_ns = from->wall_ns,
			.on_cpu_ns = from->on_cpu_ns, .blocked_ns = from->blocked_ns,
			.runnable_ns = from->runnable_ns, .preempted_ns = from->preempted_ns,
			.flags = from->flags, .wait = p->span_waits->len,
		};

		if (!fold_find_thread(fold, from->tno, &span.thread))
			continue;
		put_trace(&span, from, fold, p);
		for (guint k = 0; k < from->note_cnt; k++) {
			if (!from->note[k].count)
				continue;	/* belongs to the thread, from before */
			struct span_wait w = fold_span_wait(fold, &from->note[k]);

			g_array_append_val(p->span_waits, w);
			span.wait_cnt++;
		}
		g_array_append_val(p->spans, span);
	}
}
