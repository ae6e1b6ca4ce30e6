/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/fold_earlier.h"

#include <string.h>

#include "abi/sample.h"
#include "base/hash.h"

#define SLEEPS_MIN 16
#define SLEEPS_MAX 8192		/* per thread */
#define ALL_SLEEPS_MAX (1U << 20)	/* in total; about 56 bytes each */
#define NODES_MAX 256		/* per key */
#define ALL_NODES_MAX (1U << 19)
#define STEPS_MAX 4096		/* per question */
#define STEPS_A_SECOND 200000	/* mean */
#define DEPTH_MAX OFFCPU_CHAIN_MAX

struct slept {
	uint64_t slept_ns, woken_ns;
	uint64_t off_before_ns;
	uint64_t waker;
	uint64_t waker_on_ns, waker_off_ns;
	uint32_t by_tno;
};

/* A ring of a thread's last sleeps, oldest first. */
struct sleeps {
	struct slept *at;
	uint32_t room, cnt, first;	/* room is a power of two */
	uint32_t last_no;
	bool is_cut;		/* before cut_ns they are unknown */
	bool was_empty;		/* empty at the end of a window */
	uint64_t cut_ns;
};

struct earlier {
	GHashTable *sleeps;	/* tno -> struct sleeps */
	GHashTable *answers;	/* struct offcpu_wait_key -> GArray of struct earlier_node */
	GHashTable *answers_next;	/* likewise, for the window after the edge */
	uint64_t edge_ns;	/* the window's end; UINT64_MAX: not set */
	uint32_t sleeps_room, nodes_cnt;	/* totals */
	uint64_t steps_ns;	/* a clock for the budget of steps */
	uint32_t steps_left;	/* for the current question; number of waits it stands for */
	uint64_t weight_q8;
};

guint wait_key_hash(gconstpointer p)
{
	const struct offcpu_wait_key *k = p;

	return hash_end(hash_more(hash_more(hash_more(k->ustack, k->kstack), k->waker), k->tno));
}

gboolean wait_key_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct offcpu_wait_key)) == 0;
}

FREES_DATA(free_sleeps, struct sleeps, s, g_free(s->at))

static void free_nodes(gpointer nodes)
{
	g_array_unref(nodes);
}

struct earlier *earlier_new(void)
{
	struct earlier *e = g_new0(struct earlier, 1);

	e->sleeps = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_sleeps);
	e->answers = g_hash_table_new_full(wait_key_hash, wait_key_equal, g_free, free_nodes);
	e->answers_next = g_hash_table_new_full(wait_key_hash, wait_key_equal, g_free, free_nodes);
	e->edge_ns = UINT64_MAX;
	return e;
}

FREES(earlier_free, struct earlier, e, g_hash_table_destroy(e->sleeps); g_hash_table_destroy(e->answers);
      g_hash_table_destroy(e->answers_next))

static struct slept *slept_at(const struct sleeps *s, uint32_t i)
{
	return &s->at[(s->first + i) & (s->room - 1)];
}

/* Makes room for another sleep: doubles the ring while there is room in total, then drops the oldest one. */
static void make_room(struct earlier *e, struct sleeps *s)
{
	uint32_t room = s->room ? 2 * s->room : SLEEPS_MIN;

	if (s->cnt < s->room)
		return;
	if (s->room && (room > SLEEPS_MAX || e->sleeps_room + room - s->room > ALL_SLEEPS_MAX)) {
		s->cut_ns = slept_at(s, 0)->woken_ns;
		s->first++;
		s->cnt--;
		s->is_cut = true;
		return;
	}
	struct slept *at = g_new(struct slept, room);

	for (uint32_t i = 0; i < s->cnt; i++)
		at[i] = *slept_at(s, i);
	g_free(s->at);
	s->at = at;
	s->first = 0;
	e->sleeps_room += room - s->room;
	s->room = room;
}

/* When threads that ended take all the room, starts anew. */
static struct sleeps *sleeps_of(struct earlier *e, uint32_t tno)
{
	struct sleeps *s = g_hash_table_lookup(e->sleeps, GUINT_TO_POINTER(tno));

	if (s)
		return s;
	if (e->sleeps_room + SLEEPS_MIN > ALL_SLEEPS_MAX) {
		g_hash_table_remove_all(e->sleeps);
		e->sleeps_room = 0;
	}
	s = g_new0(struct sleeps, 1);
	g_hash_table_insert(e->sleeps, GUINT_TO_POINTER(tno), s);
	return s;
}

void earlier_add_sleep(struct earlier *e, const struct offcpu_rec_sleep *rec)
{
	struct sleeps *s = sleeps_of(e, rec->tno);

	if (rec->no != s->last_no + 1) {
		s->is_cut = true;
		s->cut_ns = rec->slept_ns;
		s->cnt = 0;
	}
	s->last_no = rec->no;
	/* a sleep is reported twice if its end was not */
	if (rec->woken_ns < rec->slept_ns || (s->cnt && rec->slept_ns < slept_at(s, s->cnt - 1)->woken_ns))
		return;
	make_room(e, s);
	*slept_at(s, s->cnt++) = (struct slept){
		.slept_ns = rec->slept_ns, .woken_ns = rec->woken_ns, .off_before_ns = rec->off_before_ns,
		.waker = rec->waker, .waker_on_ns = rec->waker_on_ns, .waker_off_ns = rec->waker_off_ns,
		.by_tno = rec->by_tno,
	};
}

void earlier_cut(struct earlier *e, uint64_t edge_ns)
{
	e->edge_ns = edge_ns;
}

/* Nobody asks for the time before the edge any more. True: it has not slept in two windows. */
static gboolean forget_sleeps(gpointer key, gpointer value, gpointer data)
{
	struct earlier *e = data;
	struct sleeps *s = value;
	bool was_empty = s->was_empty;

	while (s->cnt && slept_at(s, 0)->woken_ns <= e->edge_ns) {
		s->first++;
		s->cnt--;
	}
	if (s->cut_ns <= e->edge_ns)
		s->is_cut = false;
	s->was_empty = !s->cnt;
	if (s->cnt || !was_empty)
		return FALSE;
	e->sleeps_room -= s->room;
	return TRUE;
}

void earlier_next_window(struct earlier *e)
{
	GHashTableIter iter;
	gpointer nodes;

	g_hash_table_foreach_remove(e->sleeps, forget_sleeps, e);
	g_hash_table_remove_all(e->answers);
	GHashTable *emptied = e->answers;

	e->answers = e->answers_next;
	e->answers_next = emptied;
	e->nodes_cnt = 0;
	g_hash_table_iter_init(&iter, e->answers);
	while (g_hash_table_iter_next(&iter, NULL, &nodes))
		e->nodes_cnt += ((const GArray *)nodes)->len;
	e->edge_ns = UINT64_MAX;
}

/* -- results, as a tree of paths ----------------------------------------------- */

static struct earlier_node *node_at(GArray *nodes, uint32_t i)
{
	return &g_array_index(nodes, struct earlier_node, i);
}

static uint32_t append_node(struct earlier *e, GArray *nodes, uint64_t waker)
{
	const struct earlier_node fresh = { .waker = waker, .first_below = EARLIER_NONE, .next = EARLIER_NONE };

	if (nodes->len >= NODES_MAX || e->nodes_cnt >= ALL_NODES_MAX)
		return EARLIER_NONE;
	e->nodes_cnt++;
	g_array_append_vals(nodes, &fresh, 1);
	return nodes->len - 1;
}

/* EARLIER_NONE: no room. */
static uint32_t node_below(struct earlier *e, GArray *nodes, uint32_t above, uint64_t waker)
{
	uint32_t i;

	for (i = node_at(nodes, above)->first_below; i != EARLIER_NONE; i = node_at(nodes, i)->next)
		if (node_at(nodes, i)->waker == waker)
			return i;
	i = append_node(e, nodes, waker);
	if (i == EARLIER_NONE)
		return i;
	node_at(nodes, i)->next = node_at(nodes, above)->first_below;
	node_at(nodes, above)->first_below = i;
	return i;
}

static uint32_t uppermost(struct earlier *e, GArray *nodes, uint32_t hop)
{
	uint32_t i, last = EARLIER_NONE;

	for (i = nodes->len ? 0 : EARLIER_NONE; i != EARLIER_NONE; i = node_at(nodes, i)->next) {
		if (node_at(nodes, i)->waker == hop)
			return i;
		last = i;
	}
	i = append_node(e, nodes, hop);
	if (i != EARLIER_NONE && last != EARLIER_NONE)
		node_at(nodes, last)->next = i;
	return i;
}

const GArray *earlier_find(const struct earlier *e, const struct offcpu_wait_key *key)
{
	return g_hash_table_lookup(e->answers, key);
}

uint64_t earlier_total_ns(const GArray *nodes, uint32_t node)
{
	const struct earlier_node *n = earlier_get(nodes, node);
	uint64_t ns = n->ran_ns + n->runnable_ns + n->untold_ns;

	for (unsigned end = 0; end < CHAIN_END_COUNT; end++)
		ns += n->rest_ns[end];
	/* recursion is bounded by the length of a chain */
	for (uint32_t i = n->first_below; i != EARLIER_NONE; i = earlier_get(nodes, i)->next)
		ns += earlier_total_ns(nodes, i);
	return ns;
}

/* -- walking back through what a thread did ------------------------------------- */

/* A thread's time from start_ns to end_ns. */
struct span {
	uint32_t tno, node, depth;
	uint64_t start_ns, end_ns;
	/* at end_ns: its last switch-in, and its runnable time since its last sleep */
	uint64_t on_ns, off_ns;
};

/* The number of sleeps that began before ns. */
static uint32_t begun_before(const struct sleeps *s, uint64_t ns)
{
	uint32_t low = 0, high = s->cnt;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (slept_at(s, middle)->slept_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_ns(const struct earlier *e, uint64_t *sum, uint64_t ns)
{
	*sum += ns * e->weight_q8 / SAMPLE_ONE_Q8;
}

/* Same as the kernel's split_awake(). */
static void add_awake(const struct earlier *e, struct earlier_node *n, uint64_t from_ns, const struct span *span)
{
	uint64_t last_stretch = span->end_ns - MIN(span->end_ns, MAX(from_ns, span->on_ns));
	uint64_t off = MIN(span->off_ns, span->end_ns - from_ns - last_stretch);

	add_ns(e, &n->runnable_ns, off);
	add_ns(e, &n->ran_ns, span->end_ns - from_ns - off);
}

static void walk_back(struct earlier *e, GArray *nodes, struct span span);

/* Explains [start, end) of one of its sleeps. */
static void tell_sleep(struct earlier *e, GArray *nodes, const struct span *span, const struct slept *slept,
		       uint64_t start_ns, uint64_t end_ns)
{
	uint64_t ns = end_ns - start_ns;

	if (!slept->waker) {
		add_ns(e, &node_at(nodes, span->node)->rest_ns[CHAIN_UNKNOWN], ns);
		return;
	}
	if (!span->depth) {
		add_ns(e, &node_at(nodes, span->node)->rest_ns[CHAIN_CUT], ns);
		return;
	}
	uint32_t below = node_below(e, nodes, span->node, slept->waker);

	if (below == EARLIER_NONE)
		add_ns(e, &node_at(nodes, span->node)->untold_ns, ns);
	else if (!slept->by_tno)
		add_ns(e, &node_at(nodes, below)->rest_ns[CHAIN_INTERRUPT], ns);
	else
		walk_back(e, nodes,
			  (struct span){
				  .tno = slept->by_tno,
				  .node = below,
				  .depth = span->depth - 1,
				  .start_ns = start_ns,
				  .end_ns = end_ns,
				  .on_ns = slept->waker_on_ns,
				  .off_ns = slept->waker_off_ns,
			  });
}

/* Walks back from the end and recurses into each waker, at most to the chain's depth. */
static void walk_back(struct earlier *e, GArray *nodes, struct span span)
{
	const struct sleeps *s = g_hash_table_lookup(e->sleeps, GUINT_TO_POINTER(span.tno));
	uint32_t left = s ? begun_before(s, span.end_ns) : 0;

	if (s && left < s->cnt && slept_at(s, left)->slept_ns == span.end_ns) {
		span.off_ns = slept_at(s, left)->off_before_ns;
		span.on_ns = span.end_ns;	/* unknown */
	}
	while (span.end_ns > span.start_ns) {
		const struct slept *slept = left ? slept_at(s, left - 1) : NULL;
		uint64_t from_ns = slept ? MAX(slept->woken_ns, span.start_ns) : span.start_ns;

		if ((!slept && s && s->is_cut) || !e->steps_left) {
			add_ns(e, &node_at(nodes, span.node)->untold_ns, span.end_ns - span.start_ns);
			return;
		}
		e->steps_left--;
		from_ns = MIN(from_ns, span.end_ns);
		add_awake(e, node_at(nodes, span.node), from_ns, &span);
		if (!slept || from_ns == span.start_ns)
			return;
		span.end_ns = MAX(slept->slept_ns, span.start_ns);
		tell_sleep(e, nodes, &span, slept, span.end_ns, from_ns);
		span.off_ns = slept->off_before_ns;
		span.on_ns = span.end_ns;
		left--;
	}
}

/* The steps allowed for the answer: a rate per second, with a second's worth in advance. */
static uint32_t steps_at(struct earlier *e, uint64_t now_ns)
{
	const uint64_t second = 1000000000, one_ns = second / STEPS_A_SECOND;
	uint64_t from = MAX(e->steps_ns, now_ns > second ? now_ns - second : 0);

	e->steps_ns = from;
	return from >= now_ns ? 0 : (uint32_t)MIN((now_ns - from) / one_ns, STEPS_MAX);
}

void earlier_tell(struct earlier *e, const struct offcpu_rec_earlier *rec)
{
	GHashTable *answers = rec->start_ns < e->edge_ns ? e->answers : e->answers_next;
	GArray *nodes = g_hash_table_lookup(answers, &rec->key);
	uint32_t steps = steps_at(e, rec->end_ns), node;

	if (rec->hop >= OFFCPU_CHAIN_MAX || rec->end_ns <= rec->start_ns)
		return;
	if (!nodes) {
		nodes = g_array_new(FALSE, FALSE, sizeof(struct earlier_node));
		g_hash_table_insert(answers, g_memdup2(&rec->key, sizeof(rec->key)), nodes);
	}
	node = uppermost(e, nodes, rec->hop);
	if (node == EARLIER_NONE)
		return;
	e->steps_left = steps;
	e->weight_q8 = rec->weight_q8;
	walk_back(e, nodes, (struct span){
		.tno = rec->tno, .node = node, .depth = MIN(rec->depth, DEPTH_MAX), .start_ns = rec->start_ns,
		.end_ns = rec->end_ns, .on_ns = rec->end_ns,
	});
	e->steps_ns += (uint64_t)(steps - e->steps_left) * (1000000000 / STEPS_A_SECOND);
}
