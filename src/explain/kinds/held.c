/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "base/hash.h"
#include "explain/findings_part.h"
#include "features/slices/rows.h"

/*
 * Claim: a thread that has a lock only briefly cannot have delayed others for long.  A thread can have caused at most
 * the time that it had the lock, times the number of waiters.  It had the lock at most while it ran, and while it
 * waited for other things in the function that both takes and releases it.  The rest of the time before its wakings
 * passed while it waited for the lock itself.  That is attributed to those who ended its own waits, and so on: at most
 * its waiting time, times the number of waiters.
 *
 * A function may also wait after it has let go.  So of its waits there only the longest count, one for each time that
 * it handed the lock on: nobody waited for the other holds.
 */
#define ROUNDS_MAX 64
#define ROUNDS_REST 100	/* of the row: a smaller rest is not passed on */
#define LONG_SHARE 4	/* of the waiting time is in waits at least half as long as the holder's */
#define STACKS_MAX 64	/* per thread in a row, to compare */
#define NONE UINT32_MAX

/* A thread in the function that takes and releases the lock. */
struct place {
	uint32_t thread, node;	/* for a waker without a thread NONE, and the waker */
	double woke_ns;	/* before its wakings */
	uint64_t woke_cnt;
	double inside_ns;	/* off CPU for other things in that function, in waits of these lengths */
	uint64_t hist[PROFILE_HIST_SLOTS], max_ns;
	double waited_ns;	/* for the lock, if the waker is known */
	double can_ns;	/* maximum that it can have caused */
	double may_pass_ns;	/* waited by itself and not passed on yet */
	double own_ns, flow_ns, rest_ns;
};

/* A wait of `from` that `to` ended. */
struct edge {
	guint from, to;	/* places; from NONE: the waiter never releases the lock */
	double ns;
};

struct holder_finder {
	const struct findings *f;
	const struct finding *row;
	const uint32_t *threads_of_wakers;
	GHashTable *index;	/* (thread, node) -> place + 1 */
	GArray *places;	/* struct place */
	GArray *edges;	/* struct edge */
	/* thread -> GArray of user stacks in this row, as nodes of `functions` */
	GHashTable *waits_at, *wakes_at;
	/*
	 * Stacks by function only: a script's frames in one function differ by line.  For each node its parent, which
	 * has a lower number; 0 is the empty stack.
	 */
	GArray *functions;	/* uint32_t */
	GHashTable *by_function;	/* struct function_key -> node */
	uint32_t *function_of;	/* by node of the profile: node + 1; 0: not computed yet */
	uint32_t *place_of_waker;	/* by waker: place + 1 */
};

static void add_stack(GHashTable *by_thread, uint32_t thread, uint32_t node)
{
	GArray *nodes = g_hash_table_lookup(by_thread, GUINT_TO_POINTER(thread));

	if (!nodes) {
		nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		g_hash_table_insert(by_thread, GUINT_TO_POINTER(thread), nodes);
	}
	for (guint i = 0; i < nodes->len; i++)
		if (g_array_index(nodes, uint32_t, i) == node)
			return;
	if (node && nodes->len < STACKS_MAX)
		g_array_append_val(nodes, node);
}

struct function_key {
	const char *name, *module;
	uint32_t parent, frame;	/* frame: only if it has no name */
};

HASH_KEY(function_key, struct function_key, name, module, parent, frame)

static uint32_t add_function(struct holder_finder *h, uint32_t parent, uint32_t frame)
{
	const struct frame *fr = profile_get_frame(h->f->profile, frame);
	const struct function_key key = { fr->name, fr->module, parent, fr->name ? 0 : frame };
	gpointer known = g_hash_table_lookup(h->by_function, &key);

	if (known)
		return GPOINTER_TO_UINT(known);
	g_hash_table_insert(h->by_function, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(h->functions->len));
	g_array_append_val(h->functions, parent);
	return h->functions->len - 1;
}

/* The node in `functions` for a stack of the profile. */
static uint32_t functions_of(struct holder_finder *h, uint32_t stack)
{
	const struct profile *p = h->f->profile;
	uint32_t path[PROFILE_DEPTH_MAX], cnt = 0, at = 0;

	for (; stack && !h->function_of[stack] && cnt < PROFILE_DEPTH_MAX; stack = profile_get_node(p, stack)->parent)
		path[cnt++] = stack;
	at = stack ? h->function_of[stack] - 1 : 0;
	while (cnt--) {
		at = add_function(h, at, profile_get_node(p, path[cnt])->frame);
		h->function_of[path[cnt]] = at + 1;
	}
	return at;
}

static uint32_t parent_of(const struct holder_finder *h, uint32_t node)
{
	return g_array_index(h->functions, uint32_t, node);
}

/* The innermost function common to both stacks; parents have lower numbers.  0: none. */
static uint32_t common(const struct holder_finder *h, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (a > b)
			a = parent_of(h, a);
		else
			b = parent_of(h, b);
	}
	return a;
}

/*
 * Where the thread both takes and releases the lock: the innermost function common to this stack and one of the
 * others.
 */
static uint32_t region(struct holder_finder *h, GHashTable *others, uint32_t thread, uint32_t stack)
{
	uint32_t node = functions_of(h, stack);
	const GArray *nodes = g_hash_table_lookup(others, GUINT_TO_POINTER(thread));
	uint32_t best = 0;

	for (guint i = 0; nodes && i < nodes->len; i++)
		best = MAX(best, common(h, node, g_array_index(nodes, uint32_t, i)));
	return best;
}

static guint place_at(struct holder_finder *h, uint32_t thread, uint32_t node)
{
	uint64_t key = (uint64_t)thread << 32 | node;
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(h->index, &key));

	if (!at) {
		const struct place one = { .thread = thread, .node = node };

		g_array_append_val(h->places, one);
		at = h->places->len;
		g_hash_table_insert(h->index, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(at));
	}
	return at - 1;
}

static bool is_of_row(const struct holder_finder *h, uint32_t wait)
{
	return h->f->blocked_in[wait] == h->row->id;
}

static void find_stacks(struct holder_finder *h)
{
	const struct profile *p = h->f->profile;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		uint32_t waker = h->threads_of_wakers[wake->waker];

		if (!is_of_row(h, wake->wait))
			continue;
		add_stack(h->waits_at, w->thread, functions_of(h, w->user));
		if (waker != NONE)
			add_stack(h->wakes_at, waker, functions_of(h, profile_get_waker(p, wake->waker)->user));
	}
}

static void find_edges(struct holder_finder *h)
{
	const struct profile *p = h->f->profile;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		uint32_t thread = h->threads_of_wakers[wake->waker];

		if (!is_of_row(h, wake->wait))
			continue;
		uint32_t node = thread == NONE
					? wake->waker
					: region(h, h->waits_at, thread, profile_get_waker(p, wake->waker)->user);
		uint32_t from = region(h, h->wakes_at, w->thread, w->user);
		struct edge e = { .ns = (double)wake->blocked_ns, .from = from ? place_at(h, w->thread, from) : NONE };

		e.to = place_at(h, thread, node);
		h->place_of_waker[wake->waker] = e.to + 1;
		g_array_index(h->places, struct place, e.to).woke_ns += e.ns;
		g_array_index(h->places, struct place, e.to).woke_cnt += wake->count;
		if (e.from != NONE && e.from != e.to)
			g_array_index(h->places, struct place, e.from).waited_ns += e.ns;
		g_array_append_val(h->edges, e);
	}
}

/* Average number of waiters while there were any. */
static double queue_length(const struct holder_finder *h)
{
	const struct profile *p = h->f->profile;
	g_autofree bool *is_in = g_new(bool, (gsize)p->waits->len + 1);
	double sum = 0, squares = 0;

	if (!profile_has_slices(p))
		return h->row->threads_cnt;
	for (uint32_t i = 0; i < p->waits->len; i++)
		is_in[i] = is_of_row(h, i);
	g_autofree struct slice_total *slices = profile_slice_totals(p, is_in);
	for (uint32_t i = 0; i < profile_slice_cnt(p); i++) {
		double ns = (double)slices[i].blocked_ns, length = (double)(slices[i].to_ns - slices[i].from_ns);

		sum += ns;
		squares += length > 0 ? ns * ns / length : 0;
	}
	return sum > 0 ? MAX(squares / sum, 1) : h->row->threads_cnt;
}

static bool passes(const struct holder_finder *h, uint32_t node, uint32_t through)
{
	while (node > through)
		node = parent_of(h, node);
	return node == through;
}

static void add_inside(struct place *at, const struct wait *w)
{
	at->inside_ns += (double)wait_off_cpu_ns(w);
	at->max_ns = MAX(at->max_ns, w->max_ns);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		at->hist[i] += w->hist[i];
}

/* Upper bound of what the longest waits inside took, as many as it handed the lock on. */
static double longest_ns(const struct place *at)
{
	uint64_t left = at->woke_cnt;
	double ns = 0;

	for (unsigned i = PROFILE_HIST_SLOTS; i-- && left;) {
		uint64_t cnt = MIN(at->hist[i], left);

		ns += (double)cnt * (double)MIN(2ULL << i, at->max_ns);
		left -= cnt;
	}
	return MIN(ns, at->inside_ns);
}

static void find_limits(struct holder_finder *h)
{
	const struct profile *p = h->f->profile;
	double waiters = queue_length(h);
	const bool is_of_kernel = h->row->reason == REASON_LOCK_KERNEL && !finding_is_file_lock(h->f, h->row);
	g_autofree uint32_t *first = g_new0(uint32_t, (gsize)p->threads->len + 1);	/* by thread: place + 1 */
	g_autofree uint32_t *next = g_new0(uint32_t, (gsize)h->places->len + 1);
	g_autofree double *woke_ns = g_new0(double, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct place, at, h->places)
		if (at->thread != NONE)
			woke_ns[at->thread] += at->woke_ns;
	EACH_ROW(i, struct place, at, h->places) {
		if (at->thread == NONE || at->waited_ns <= 0)
			continue;
		const struct thread *t = profile_thread(p, at->thread);
		at->may_pass_ns = at->waited_ns * waiters;
		/* it ran in one of its places at a time */
		at->can_ns = woke_ns[at->thread] > 0
				     ? (double)t->on_cpu_ns * waiters * at->woke_ns / woke_ns[at->thread]
				     : 0;
		next[i] = first[at->thread];
		first[at->thread] = i + 1;
	}
	EACH_ROW(w, const struct wait, wait, p->waits) {
		if (is_of_row(h, w) || !first[wait->thread] || (is_of_kernel && !cause_may_hold_kernel_lock(h->f, w)))
			continue;
		uint32_t node = functions_of(h, wait->user);
		for (uint32_t i = first[wait->thread]; i; i = next[i - 1]) {
			struct place *at = &g_array_index(h->places, struct place, i - 1);

			if (passes(h, node, at->node))
				add_inside(at, wait);
		}
	}
	EACH_ROW(i, struct place, at, h->places)
		at->can_ns += longest_ns(at) * waiters;
}

/*
 * Each place keeps what it can have caused and passes the rest to those who ended its own waits.  Returns the amount
 * passed on.
 */
static double pass_on(struct holder_finder *h)
{
	double passed_ns = 0;

	EACH_ROW(i, struct place, at, h->places) {
		double take = at->waited_ns > 0 ? MIN(at->flow_ns, MAX(at->can_ns - at->own_ns, 0)) : at->flow_ns;

		at->rest_ns = MIN(at->flow_ns - take, at->may_pass_ns);
		at->may_pass_ns -= at->rest_ns;
		at->own_ns += at->flow_ns - at->rest_ns;
		at->flow_ns = 0;
		passed_ns += at->rest_ns;
	}
	EACH_ROW(i, const struct edge, e, h->edges) {
		const struct place *from = e->from == NONE ? NULL : &g_array_index(h->places, struct place, e->from);

		if (from && e->from != e->to && from->waited_ns > 0)
			g_array_index(h->places, struct place, e->to).flow_ns += from->rest_ns * e->ns /
										 from->waited_ns;
	}
	return passed_ns;
}

double *held_factors_new(const struct findings *f, const struct finding *row, const uint32_t *threads_of_wakers)
{
	const struct profile *p = f->profile;
	struct holder_finder h = {
		.f = f,
		.row = row,
		.threads_of_wakers = threads_of_wakers,
		.index = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL),
		.places = g_array_new(FALSE, FALSE, sizeof(struct place)),
		.edges = g_array_new(FALSE, FALSE, sizeof(struct edge)),
		.waits_at = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref),
		.wakes_at = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref),
		.functions = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.by_function = g_hash_table_new_full(function_key_hash, function_key_equal, g_free, NULL),
		.function_of = g_new0(uint32_t, (gsize)p->nodes->len + 1),
		.place_of_waker = g_new0(uint32_t, (gsize)p->wakers->len + 1),
	};
	uint32_t none = 0;
	double *factors = g_new(double, (gsize)p->wakers->len + 1), sum_ns = 0, passed_ns;
	unsigned rounds = 0;

	g_array_append_val(h.functions, none);
	find_stacks(&h);
	find_edges(&h);
	find_limits(&h);
	EACH_ROW(i, struct place, at, h.places) {
		at->flow_ns = at->woke_ns;
		sum_ns += at->woke_ns;
	}
	do {
		passed_ns = pass_on(&h);
	} while (passed_ns > sum_ns / ROUNDS_REST && ++rounds < ROUNDS_MAX);
	for (uint32_t i = 0; i < p->wakers->len; i++) {
		const struct place *at = h.place_of_waker[i] ?
						 &g_array_index(h.places, struct place, h.place_of_waker[i] - 1) : NULL;

		factors[i] = at && at->woke_ns > 0 ? (at->own_ns + at->flow_ns) / at->woke_ns : 1;
	}
	g_hash_table_unref(h.index);
	g_hash_table_unref(h.waits_at);
	g_hash_table_unref(h.wakes_at);
	g_array_unref(h.places);
	g_array_unref(h.edges);
	g_array_unref(h.functions);
	g_hash_table_unref(h.by_function);
	g_free(h.function_of);
	g_free(h.place_of_waker);
	return factors;
}

bool held_may_be_over(const struct finding *row, const struct wait *w)
{
	uint64_t mean_ns = w->blocked_ns / MAX(w->count, 1), long_ns = 0, all_ns = 0;

	if (row->timed_out_cnt > row->woken_cnt / 4)	/* cut into pieces, which say nothing */
		return true;
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		uint64_t ns = row->hist[i] * (3ULL << i) / 2;

		all_ns += ns;
		long_ns += (2ULL << i) > mean_ns / 2 ? ns : 0;
	}
	return long_ns >= all_ns / LONG_SHARE;
}
