/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/reason/reasons.h"

#define THREADS_MIN 3	/* one or two threads may write a log, or the like, for one that is always busy */
#define OTHERS_SHARE 5	/* less than a fifth of their waits has another end */
#define REST_SHARE 10	/* the threads that end them are busy for at least nine tenths of their time */
#define NONE UINT32_MAX

/* Threads of a process with the same role, or with roles whose names differ by a number. */
struct crew {
	uint32_t threads_cnt;
	uint64_t observed_ns, busy_ns; /* busy: on CPU, in the run queue, or in a wait that is not for work */
	/* the place where they end most of others' waits, and that time; UINT16_MAX: none */
	uint16_t wake_depth;
	uint64_t wake_ns;
	bool hands_to_any; /* the threads that it wakes wait for the same thing: a queue, not individual answers */
	/* who ends most of their waits for work, that time, and all of it */
	uint32_t by;
	uint64_t by_ns, all_ns;
	bool is_starved;
	uint32_t object, thread; /* object and thread of its first wait for work; + 1 */
	bool shares; /* other threads of it wait for the same */
};

struct finder {
	const struct profile *p;
	const struct starved_input *in;
	const uint8_t *idle;
	uint32_t *threads_of_wakers;
	uint32_t *of_role; /* crew of each role */
	GArray *crews;
};

static struct crew *crew_of(const struct finder *f, uint32_t thread)
{
	return &g_array_index(f->crews, struct crew, f->of_role[f->in->roles->of_thread[thread]]);
}

static char *crew_key(const struct finder *f, uint32_t role)
{
	const struct role *r = &g_array_index(f->in->roles->rows, struct role, role);
	size_t bytes = actors_kind_bytes(r->comm);

	if (!bytes || !r->comm[bytes])
		return g_strdup_printf("%u", role);
	return g_strdup_printf("%u %.*s", profile_thread(f->p, r->first_thread)->pid, (int)bytes, r->comm);
}

static void find_crews(struct finder *f)
{
	g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL); /* key -> crew + 1 */

	f->of_role = g_new0(uint32_t, (gsize)f->in->roles->rows->len + 1);
	for (guint r = 0; r < f->in->roles->rows->len; r++) {
		char *key = crew_key(f, r);
		guint at = GPOINTER_TO_UINT(g_hash_table_lookup(known, key));

		if (!at) {
			const struct crew fresh = { .by = NONE, .wake_depth = UINT16_MAX };

			g_array_append_val(f->crews, fresh);
			at = f->crews->len;
		}
		g_hash_table_insert(known, key, GUINT_TO_POINTER(at));
		f->of_role[r] = at - 1;
		g_array_index(f->crews, struct crew, at - 1).threads_cnt +=
			g_array_index(f->in->roles->rows, struct role, r).threads_cnt;
	}
}

/* Whether it is idle by evidence only, not by a rule. */
static bool is_by_evidence(const struct finder *f, uint32_t wait)
{
	const struct rule *rule = f->in->rule[wait];

	return f->idle[wait] == IDLE_POOL && !(rule && rule->idle != RULE_IDLE_UNSAID) &&
	       f->in->reason[wait] != REASON_POOL_IDLE;
}

static uint32_t crew_of_waker(const struct finder *f, uint32_t waker)
{
	uint32_t thread = f->threads_of_wakers[waker];

	return thread == NONE ? NONE : f->of_role[f->in->roles->of_thread[thread]];
}

/* Majority vote: whoever has more than half remains (Boyer and Moore). */
static void vote(struct crew *c, uint32_t by, uint64_t ns)
{
	if (c->by == by) {
		c->by_ns += ns;
	} else if (c->by_ns >= ns) {
		c->by_ns -= ns;
	} else {
		c->by_ns = ns - c->by_ns;
		c->by = by;
	}
}

/* Notes whether two of its threads wait for the same object. */
static void note_object(const struct finder *f, uint32_t wait)
{
	const struct wait *w = profile_wait(f->p, wait);
	struct crew *c = crew_of(f, w->thread);

	if (!c->object && w->object) {
		c->object = w->object;
		c->thread = w->thread + 1;
	}
	c->shares = c->shares || (w->object && c->object == w->object && c->thread != w->thread + 1);
}

static void find_who_ends(struct finder *f)
{
	const struct profile *p = f->p;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		if (!is_by_evidence(f, wake->wait))
			continue;
		note_object(f, wake->wait);
		vote(crew_of(f, profile_wait(p, wake->wait)->thread), crew_of_waker(f, wake->waker), wake->blocked_ns);
	}
	for (guint c = 0; c < f->crews->len; c++)
		g_array_index(f->crews, struct crew, c).by_ns = 0;
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		struct crew *c = crew_of(f, profile_wait(p, wake->wait)->thread), *by;
		uint32_t user = profile_get_waker(p, wake->waker)->user;

		if (!is_by_evidence(f, wake->wait))
			continue;
		c->all_ns += wake->blocked_ns;
		if (c->by == NONE || crew_of_waker(f, wake->waker) != c->by)
			continue;
		c->by_ns += wake->blocked_ns;
		by = &g_array_index(f->crews, struct crew, c->by);
		by->hands_to_any = by->hands_to_any || c->shares;
		if (!user || wake->blocked_ns < by->wake_ns)
			continue;
		by->wake_ns = wake->blocked_ns;
		by->wake_depth = f->in->depth[user];
	}
}

/* Which side asks is known only for TCP: a connection that this side made brings answers. */
static bool is_answer(const struct object *o)
{
	return o && o->kind == OBJECT_SOCKET && strcmp(o->place, "tcp") == 0 && !object_is_accepted(o);
}

/*
 * In the function where it hands out work, it waits for the source: its clock if it sleeps, others if it reads what
 * they send.  A function called there may do the reading.  A wait for an answer, or deeper, is work.
 */
static bool is_source(const struct finder *f, uint32_t i, const struct crew *c)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct rule *rule = f->in->rule[i];
	uint16_t depth = f->in->depth[w->user];

	if (rule && rule->idle == RULE_IDLE_NO)	/* it writes or asks */
		return false;
	switch ((enum reason)f->in->reason[i]) {
	case REASON_SLEEP: return depth <= c->wake_depth;
	case REASON_PIPE:
	case REASON_NETWORK_RECEIVE:
		return depth <= c->wake_depth + (c->hands_to_any ? 1 : 0) && !is_answer(profile_wait_object(f->p, w));
	default: return false;
	}
}

static void find_busy_time(struct finder *f)
{
	const struct profile *p = f->p;

	EACH_ROW(i, const struct thread, t, p->threads) {
		crew_of(f, i)->observed_ns += thread_observed_ns(t);
		crew_of(f, i)->busy_ns += t->on_cpu_ns + t->runnable_ns + t->preempted_ns;
	}
	EACH_ROW(i, const struct wait, w, p->waits) {
		struct crew *c = crew_of(f, w->thread);

		if (w->state != ON_CPU_STATE && f->idle[i] == IDLE_NOT && !is_source(f, i, c))
			c->busy_ns += w->blocked_ns;
	}
}

static bool is_starved(const struct finder *f, guint crew)
{
	const struct crew *c = &g_array_index(f->crews, struct crew, crew), *by;

	if (c->by == NONE || c->by == crew || c->threads_cnt < THREADS_MIN)
		return false;
	by = &g_array_index(f->crews, struct crew, c->by);
	return by->threads_cnt < c->threads_cnt && c->by_ns >= c->all_ns - c->all_ns / OTHERS_SHARE &&
	       by->busy_ns >= by->observed_ns - by->observed_ns / REST_SHARE;
}

void starved_find(const struct profile *p, const struct starved_input *in, uint8_t *idle)
{
	struct finder f = {
		.p = p,
		.in = in,
		.idle = idle,
		.threads_of_wakers = actors_threads_of_wakers(p),
		.crews = g_array_new(FALSE, FALSE, sizeof(struct crew)),
	};

	find_crews(&f);
	find_who_ends(&f);
	find_busy_time(&f);
	for (guint c = 0; c < f.crews->len; c++)
		g_array_index(f.crews, struct crew, c).is_starved = is_starved(&f, c);
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (crew_of(&f, profile_wait(p, i)->thread)->is_starved && is_by_evidence(&f, i))
			idle[i] = IDLE_NOT;
	g_array_unref(f.crews);
	g_free(f.threads_of_wakers);
	g_free(f.of_role);
}
