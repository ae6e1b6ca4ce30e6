/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/little.h"

#include <string.h>

#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "base/hash.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "features/wakers/analysis.h"

#define THREADS_MIN 3
#define WAITS_MIN 3		/* per function */
#define TIMED_OUT_PART 4	/* of all waits: the maximum that may be signalled */
#define ALONE_MIN 5		/* waits of a condition's only waiter */
#define ALONE_NS 1000000000ULL	/* on average: who sleeps longer does so at a pace of its own */
#define WORKS_NS 1000000ULL	/* on CPU after each: less finds no work */

/* All waits for it in one function. */
struct place {
	int64_t frame;	/* -1: none */
	uint64_t ns, woken_cnt, timed_out_cnt;
};

/*
 * All waits for one condition.  A Java monitor has no word of its own: threads that wait in methods of one class are
 * assumed to wait for the same.
 */
struct condition {
	const char *name;
	bool is_class;
	uint64_t ns;
	GHashTable *threads;
	struct place places[2];
};

FREES_DATA(free_condition, struct condition, c, g_hash_table_unref(c->threads))

static const char *name_of(const struct findings *f, int64_t frame)
{
	return frame >= 0 ? profile_get_frame(f->profile, (uint32_t)frame)->name : NULL;
}

/* The class of a method that calls Object.wait(); NULL: none. */
static const char *class_of(const struct findings *f, const struct wait *w)
{
	static const char *const functions[] = { "java.lang.Object.wait", NULL };
	const char *name = profile_stack_names(f->profile, w->user, functions) ?
				   name_of(f, plumbing_user_parent(reasons_plumbing(f->reasons), w->user)) : NULL;
	const char *point = name ? strrchr(name, '.') : NULL;
	g_autofree char *monitor = point ? g_strndup(name, (size_t)(point - name)) : NULL;

	return monitor ? g_string_chunk_insert_const(f->strings, monitor) : NULL;
}

/* The condition of the wait; NULL: none. */
static struct condition *condition_of(const struct findings *f, GHashTable *all, const uint32_t *locks, uint32_t i)
{
	const struct wait *w = profile_wait(f->profile, i);
	const struct object *o = profile_wait_object(f->profile, w);

	if (!o || o->kind != LOCK_CONDITION || !w->blocked_ns || reasons_of(f->reasons, i) == REASON_SLEEP ||
	    (f->selection && !f->selection->waits[i]))
		return NULL;
	const char *monitor = class_of(f, w);
	gconstpointer key = monitor ? (gconstpointer)monitor : GUINT_TO_POINTER(locks[w->object]);
	struct condition *c = g_hash_table_lookup(all, key);

	if (!c) {
		c = g_new0(struct condition, 1);
		c->name = monitor ? monitor : profile_get_object(f->profile, locks[w->object] - 1)->name;
		c->is_class = monitor;
		c->threads = g_hash_table_new(NULL, NULL);
		c->places[0].frame = c->places[1].frame = -1;
		g_hash_table_insert(all, (gpointer)key, c);
	}
	return c;
}

/* NULL: in a third function, or an unknown one. */
static struct place *place_of(const struct findings *f, struct condition *c, const struct wait *w)
{
	int64_t frame = plumbing_user_parent(reasons_plumbing(f->reasons), w->user);

	for (unsigned i = 0; name_of(f, frame) && i < G_N_ELEMENTS(c->places); i++) {
		if (c->places[i].frame < 0)
			c->places[i].frame = frame;
		if (name_of(f, frame) == name_of(f, c->places[i].frame))
			return &c->places[i];
	}
	return NULL;
}

static GHashTable *conditions_new(const struct findings *f, const uint32_t *locks)
{
	const struct profile *p = f->profile;
	GHashTable *all = g_hash_table_new_full(NULL, NULL, NULL, free_condition);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		struct condition *c = w->flags & WAIT_OPEN_AT_START ? NULL : condition_of(f, all, locks, wake->wait);
		struct place *place = c ? place_of(f, c, w) : NULL;

		if (!place)
			continue;
		g_hash_table_add(c->threads, GUINT_TO_POINTER(w->thread + 1));
		c->ns += wake->blocked_ns;
		place->ns += wake->blocked_ns;
		place->woken_cnt += wake->count;
		place->timed_out_cnt += waker_is_timer(profile_get_waker(p, wake->waker)) ? wake->count : 0;
	}
	return all;
}

static bool is_never_signalled(const struct place *p)
{
	return p->woken_cnt >= WAITS_MIN && p->timed_out_cnt == p->woken_cnt &&
	       p->ns / p->woken_cnt >= FINDING_NOTICED_NS;
}

/*
 * One of two functions whose waits only end by timeouts, while some, or none, of the other's are signalled; NULL: not
 * so.
 */
static const struct place *unsignalled_in(const struct condition *c, bool are_some)
{
	const struct place *a = &c->places[0], *b = &c->places[1];
	uint64_t woken_cnt = a->woken_cnt + b->woken_cnt,
		 signalled_cnt = woken_cnt - a->timed_out_cnt - b->timed_out_cnt;

	if (g_hash_table_size(c->threads) < THREADS_MIN || b->frame < 0 || signalled_cnt > woken_cnt / TIMED_OUT_PART ||
	    are_some != (signalled_cnt > 0) || (c->is_class && !are_some))
		return NULL;
	return is_never_signalled(a) ? a : is_never_signalled(b) ? b : NULL;
}

bool unsignalled_append_most(GString *s, const struct findings *f, bool are_some)
{
	g_autofree uint32_t *locks = lock_ids_new(f->profile);
	g_autoptr(GHashTable) all = conditions_new(f, locks);
	const struct condition *most = NULL;

	EACH_VALUE(const struct condition, c, all)
		if (unsignalled_in(c, are_some) && (!most || c->ns > most->ns))
			most = c;
	if (!most)
		return false;
	const struct place *place = unsignalled_in(most, are_some);

	g_string_append_printf(s, "%u threads wait for ", g_hash_table_size(most->threads));
	g_string_append(s, most->is_class ? "monitors of " : "one condition, ");
	text_safe_cut(s, most->name, FINDING_NAME_COLUMNS);
	sentence_function(s, f, most->places[0].frame, most->is_class ? " in " : ", in ");
	sentence_function(s, f, most->places[1].frame, " and ");
	sentence_function(s, f, place->frame, ", and all waits in ");
	g_string_append_printf(s, " timed out (%s, after %s)", TEXT_COUNT(place->woken_cnt), TEXT_NS(place->ns / place->woken_cnt));
	return true;
}

/* Only one thread waits for it, in one function, soon has had its time, and works then. */
static bool is_alone_and_works(const struct findings *f, const struct condition *c)
{
	const struct place *place = &c->places[0];
	uint64_t on_cpu_ns = 0;

	EACH_KEY(void, thread, c->threads)
		on_cpu_ns = profile_thread(f->profile, GPOINTER_TO_UINT(thread) - 1)->on_cpu_ns;
	return !c->is_class && g_hash_table_size(c->threads) == 1 && c->places[1].frame < 0 &&
	       is_never_signalled(place) && place->woken_cnt >= ALONE_MIN && place->ns / place->woken_cnt < ALONE_NS &&
	       on_cpu_ns / place->woken_cnt >= WORKS_NS;
}

void unsignalled_append_alone(GString *s, const struct findings *f)
{
	g_autofree uint32_t *locks = lock_ids_new(f->profile);
	g_autoptr(GHashTable) all = conditions_new(f, locks);
	const struct condition *most = NULL;

	EACH_VALUE(struct condition, c, all)
		if (is_alone_and_works(f, c) && (!most || c->ns > most->ns))
			most = c;
	if (!most)
		return;
	const struct place *place = &most->places[0];

	g_string_append(s, " A thread waits for a condition, ");
	text_safe_cut(s, most->name, FINDING_NAME_COLUMNS);
	sentence_function(s, f, place->frame, ", in ");
	g_string_append_printf(s,
			       "; all %s waits timed out, after %s, and then it computed: if it finds work then nobody had "
			       "signalled it.",
			       TEXT_COUNT(place->woken_cnt), TEXT_NS(place->ns / place->woken_cnt));
}
