/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/reason/reasons.h"
#include "base/hash.h"

#define TIME_PART 10	/* of the window: tolerance for missing or excess idle time */

/* What threads of one kind wait for, in one function. */
struct place {
	guint kind;
	uint32_t node;
	uint64_t ns, cnt;
	uint32_t object;	/* as in struct wait */
	bool is_of_several;	/* objects */
};

struct search {
	const struct profile *p;
	const struct starved_input *in;
	uint8_t *idle;
	guint *kind_of;	/* by thread */
	GHashTable *turns, *rests;	/* struct place: waits for a lock, waits for work */
	GHashTable *resters;	/* thread ids of the latter */
};

HASH_KEY(place, struct place, kind, node)

/* Threads of a program whose names differ by a number. */
static guint *kinds_new(const struct profile *p)
{
	g_autoptr(GHashTable) kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	guint *kind_of = g_new0(guint, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct thread, t, p->threads) {
		char *key = actors_kind_key(t);
		const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(kinds, key));

		kind_of[i] = known ? known : g_hash_table_size(kinds) + 1;
		g_hash_table_insert(kinds, key, GUINT_TO_POINTER(kind_of[i]));
	}
	return kind_of;
}

static struct place key_of(const struct search *s, uint32_t i)
{
	const struct wait *w = profile_wait(s->p, i);

	return (struct place){ .kind = s->kind_of[w->thread], .node = w->user, .object = w->object };
}

static void add(const struct search *s, GHashTable *places, uint32_t i)
{
	const struct wait *w = profile_wait(s->p, i);
	const struct place key = key_of(s, i);
	struct place *place = g_hash_table_lookup(places, &key);

	if (!place)
		g_hash_table_add(places, place = g_memdup2(&key, sizeof(key)));
	place->is_of_several = place->is_of_several || place->object != w->object;
	place->ns += w->blocked_ns;
	place->cnt += w->count;
}

static bool is_for_work(const struct search *s, uint32_t i)
{
	const enum reason reason = (enum reason)s->in->reason[i];

	return (s->idle[i] == IDLE_POOL || s->idle[i] == IDLE_LOOP) &&
	       (reason_is_signalled(reason) || reason == REASON_NETWORK_ACCEPT || reason == REASON_EVENT_LOOP);
}

static bool is_for_turn(const struct search *s, uint32_t i)
{
	const enum reason reason = (enum reason)s->in->reason[i];

	return s->idle[i] == IDLE_NOT && (reason == REASON_LOCK_MUTEX || reason == REASON_LOCK_SEMAPHORE);
}

static void find_places(struct search *s)
{
	for (uint32_t i = 0; i < s->p->waits->len; i++) {
		const struct wait *w = profile_wait(s->p, i);

		if (!wait_is_asleep(w) || !idle_knows_place(s->p, w))
			continue;
		if (is_for_turn(s, i)) {
			add(s, s->turns, i);
		} else if (is_for_work(s, i)) {
			add(s, s->rests, i);
			g_hash_table_add(s->resters, GUINT_TO_POINTER(profile_thread(s->p, w->thread)->tid));
		}
	}
}

/* The ancestor of `a` that is one of `b`, too, and its child on the way to `a`. */
static uint32_t fork_of(const struct profile *p, uint32_t a, uint32_t b, uint32_t *ret_child)
{
	for (*ret_child = 0; a != b;) {
		if (a > b) {	/* a parent has the lower number */
			*ret_child = a;
			a = profile_get_node(p, a)->parent;
		} else {
			b = profile_get_node(p, b)->parent;
		}
	}
	return a;
}

/* Functions of one name are generic ones, made for each kind of thread: "std::thread::_State_impl<..>::_M_run()". */
static bool is_same_generic(const struct profile *p, uint32_t a, uint32_t b)
{
	const char *x = profile_get_frame(p, profile_get_node(p, a)->frame)->name ?: "";
	const char *y = profile_get_frame(p, profile_get_node(p, b)->frame)->name ?: "";
	const size_t len = *x ? strcspn(x + 1, "<") + 1 : 0;

	return len == (*y ? strcspn(y + 1, "<") + 1 : 0) && strncmp(x, y, len) == 0;
}

/* Are both called in one function, without one of the program's in between? */
static bool share_loop(const struct search *s, uint32_t a, uint32_t b)
{
	uint32_t to_a, to_b;
	const uint32_t loop = fork_of(s->p, a, b, &to_a);

	fork_of(s->p, b, a, &to_b);
	return loop && to_a && to_b && s->in->depth[a] == s->in->depth[loop] &&
	       s->in->depth[b] == s->in->depth[loop] && !is_same_generic(s->p, to_a, to_b);
}

/* A lock whose holder is known, and rests for no work, is none of a queue's. */
static bool may_be_queues(const struct search *s, const struct place *turn)
{
	const struct object *o = turn->object ? profile_get_object(s->p, turn->object - 1) : NULL;

	return turn->cnt && !turn->is_of_several &&
	       (!o || !o->holder_tid || g_hash_table_contains(s->resters, GUINT_TO_POINTER(o->holder_tid)));
}

/* Does one at a time rest in that function, all the time, for as long as the others wait? */
static bool is_rest(const struct search *s, const struct place *turn)
{
	const uint64_t window_ns = s->p->info.duration_ns, part_ns = window_ns / TIME_PART;
	struct place all = { 0 };

	EACH_KEY(const struct place, rest, s->rests)
		if (rest->kind == turn->kind && share_loop(s, turn->node, rest->node)) {
			all.ns += rest->ns;
			all.cnt += rest->cnt;
		}
	return all.cnt && all.ns >= window_ns - part_ns && all.ns <= window_ns + part_ns &&
	       turn->ns / turn->cnt >= all.ns / all.cnt / 2;
}

void receivers_find(const struct profile *p, const struct starved_input *in, uint8_t *idle)
{
	struct search s = { .p = p, .in = in, .idle = idle, .kind_of = kinds_new(p),
			    .turns = g_hash_table_new_full(place_hash, place_equal, g_free, NULL),
			    .rests = g_hash_table_new_full(place_hash, place_equal, g_free, NULL),
			    .resters = g_hash_table_new(NULL, NULL) };
	g_autoptr(GHashTable) free_of_work = g_hash_table_new(place_hash, place_equal);

	find_places(&s);
	EACH_KEY(struct place, turn, s.turns)
		if (may_be_queues(&s, turn) && is_rest(&s, turn))
			g_hash_table_add(free_of_work, turn);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct place key = key_of(&s, i);

		if (is_for_turn(&s, i) && g_hash_table_contains(free_of_work, &key))
			idle[i] = IDLE_POOL;
	}
	g_hash_table_unref(s.turns);
	g_hash_table_unref(s.rests);
	g_hash_table_unref(s.resters);
	g_free(s.kind_of);
}
