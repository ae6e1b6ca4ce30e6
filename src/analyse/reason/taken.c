/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/reason/reasons.h"
#include "base/find.h"
#include "profile/limits.h"

/*
 * A wait for a client's next request is idle while somebody else accepts connections.  It is not if all threads that
 * could accept are in such waits and connections are queued.  That is certain only if the serving threads also accept:
 * a thread that only accepts may just not have handled a burst yet.
 */
#define FREE_PART 10	/* of a thread's time: with more free time it is not occupied by clients */

struct use {
	uint64_t clients_ns, free_ns, busy_ns;	/* waits for clients; other idle time; everything else */
	bool accepts;	/* may accept connections; for threads that serve no clients */
	bool is_at_client;	/* as the window ends */
};

struct search {
	const struct profile *p;
	const char *where;	/* address at which connections are queued */
	GHashTable *pids;	/* processes that have that socket */
	struct use *uses;	/* by thread */
	const uint8_t *reason, *idle;
};

static bool has_pid(const struct search *s, uint32_t thread)
{
	return g_hash_table_contains(s->pids, GUINT_TO_POINTER(profile_thread(s->p, thread)->pid));
}

static bool is_of_client(const struct search *s, uint32_t i)
{
	const struct wait *w = profile_wait(s->p, i);
	const struct object *o = profile_wait_object(s->p, w);

	return o && object_is_accepted_at(o, s->where) && wait_is_asleep(w) &&
	       has_pid(s, w->thread) && (s->reason[i] == REASON_NETWORK_RECEIVE || s->reason[i] == REASON_EVENT_LOOP);
}

/* It waits for connections, or for sockets that may include the listening one. */
static bool may_accept(const struct search *s, uint32_t i)
{
	const struct object *o = profile_wait_object(s->p, profile_wait(s->p, i));

	return s->reason[i] == REASON_NETWORK_ACCEPT ||
	       (s->reason[i] == REASON_EVENT_LOOP && o && (strstr(o->name, "socket") || strstr(o->name, "listening")));
}

static void add_uses(struct search *s)
{
	EACH_ROW(i, const struct thread, t, s->p->threads)
		if (has_pid(s, i))
			s->uses[i].busy_ns += t->on_cpu_ns + t->runnable_ns + t->preempted_ns;
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		struct use *use = &s->uses[w->thread];

		if (!wait_is_asleep(w) || !has_pid(s, w->thread))
			continue;
		if (is_of_client(s, i)) {
			use->clients_ns += w->blocked_ns;
			use->is_at_client |= (w->flags & WAIT_OPEN_AT_END) != 0;
		} else {
			*(s->idle[i] ? &use->free_ns : &use->busy_ns) += w->blocked_ns;
		}
		use->accepts = use->accepts || may_accept(s, i);
	}
}

/*
 * Serving threads have no free time, or rest on a client as the window ends, and no other thread of these processes
 * accepts or blocks that.
 */
static bool are_all_taken(const struct search *s, bool is_at_end)
{
	g_autoptr(GHashTable) serving = g_hash_table_new(NULL, NULL);	/* pids */

	for (uint32_t i = 0; i < s->p->threads->len; i++) {
		const struct use *use = &s->uses[i];

		if (!use->clients_ns)
			continue;
		if (is_at_end ? !use->is_at_client :
				use->free_ns > thread_observed_ns(profile_thread(s->p, i)) / FREE_PART)
			return false;
		g_hash_table_add(serving, GUINT_TO_POINTER(profile_thread(s->p, i)->pid));
	}
	EACH_ROW(i, const struct thread, t, s->p->threads) {
		const struct use *use = &s->uses[i];

		if (!use->clients_ns && g_hash_table_contains(serving, GUINT_TO_POINTER(t->pid)) &&
		    (use->accepts || use->busy_ns > thread_observed_ns(t) / 2))
			return false;
	}
	return !is_at_end || g_hash_table_size(serving);
}

static void mark(const struct search *s, uint8_t *reason, uint8_t *idle)
{
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		if (!is_of_client(s, i) ||
		    s->uses[w->thread].clients_ns < thread_observed_ns(profile_thread(s->p, w->thread)) / 2)
			continue;
		idle[i] = IDLE_NOT;
		reason[i] = REASON_NETWORK_RECEIVE;
	}
}

static const char *where_of(const struct profile_limit *l)
{
	const char *where = NULL;

	return limit_backlog_read(l, &where) ? where : NULL;
}

static bool is_at(const struct profile_limit *l, const char *where)
{
	const char *other = where_of(l);

	return other && strcmp(other, where) == 0;
}

/* Treats processes that share a socket together, like a master and its workers. */
static void search_init(struct search *s)
{
	s->pids = g_hash_table_new(NULL, NULL);
	s->uses = g_new0(struct use, (gsize)s->p->threads->len + 1);
	EACH_ROW(i, const struct profile_limit, l, s->p->limits)
		if (is_at(l, s->where))
			g_hash_table_add(s->pids, GUINT_TO_POINTER(l->pid));
	add_uses(s);
}

static void search_clear(struct search *s)
{
	g_hash_table_unref(s->pids);
	g_free(s->uses);
}

void taken_find(const struct profile *p, uint8_t *reason, uint8_t *idle)
{
	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		struct search s = { .p = p, .where = where_of(l), .reason = reason, .idle = idle };

		if (!s.where ||
		    FIRST_ROW(const struct profile_limit, first, p->limits, is_at(first, s.where), first, l) != l)
			continue;
		search_init(&s);
		if (are_all_taken(&s, false))
			mark(&s, reason, idle);
		search_clear(&s);
	}
}

bool taken_is_at_end(const struct profile *p, const struct profile_limit *backlog, const uint8_t *reason,
		     const uint8_t *idle)
{
	struct search s = { .p = p, .where = where_of(backlog), .reason = reason, .idle = idle };
	bool is_taken;

	if (!s.where)
		return false;
	search_init(&s);
	is_taken = are_all_taken(&s, true);
	search_clear(&s);
	return is_taken;
}
