/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/reason/reasons.h"
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
};

struct search {
	const struct profile *p;
	const char *where;	/* address at which connections are queued */
	GHashTable *pids;	/* processes that have that socket */
	struct use *uses;	/* by thread */
	uint8_t *reason, *idle;
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
		if (is_of_client(s, i))
			use->clients_ns += w->blocked_ns;
		else
			*(s->idle[i] ? &use->free_ns : &use->busy_ns) += w->blocked_ns;
		use->accepts = use->accepts || may_accept(s, i);
	}
}

/* Serving threads have no free time, and no other thread of these processes accepts or blocks that. */
static bool are_all_taken(const struct search *s)
{
	g_autoptr(GHashTable) serving = g_hash_table_new(NULL, NULL);	/* pids */

	for (uint32_t i = 0; i < s->p->threads->len; i++) {
		const struct use *use = &s->uses[i];

		if (!use->clients_ns)
			continue;
		if (use->free_ns > thread_observed_ns(profile_thread(s->p, i)) / FREE_PART)
			return false;
		g_hash_table_add(serving, GUINT_TO_POINTER(profile_thread(s->p, i)->pid));
	}
	EACH_ROW(i, const struct thread, t, s->p->threads) {
		const struct use *use = &s->uses[i];

		if (!use->clients_ns && g_hash_table_contains(serving, GUINT_TO_POINTER(t->pid)) &&
		    (use->accepts || use->busy_ns > thread_observed_ns(t) / 2))
			return false;
	}
	return true;
}

static void mark(struct search *s)
{
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		if (!is_of_client(s, i) ||
		    s->uses[w->thread].clients_ns < thread_observed_ns(profile_thread(s->p, w->thread)) / 2)
			continue;
		s->idle[i] = IDLE_NOT;
		s->reason[i] = REASON_NETWORK_RECEIVE;
	}
}

static const char *where_of(const struct profile *p, guint limit)
{
	const char *where = NULL;

	return limit_backlog_read(&g_array_index(p->limits, struct profile_limit, limit), &where) ? where : NULL;
}

/* Treats processes that share a socket together, like a master and its workers. */
static void look_at(const struct profile *p, guint first, uint8_t *reason, uint8_t *idle)
{
	g_autoptr(GHashTable) pids = g_hash_table_new(NULL, NULL);
	struct search s = { .p = p, .where = where_of(p, first), .pids = pids, .reason = reason, .idle = idle };

	for (guint i = 0; i < p->limits->len && s.where; i++) {
		const char *where = where_of(p, i);

		if (!where || strcmp(where, s.where) != 0)
			continue;
		if (i < first)	/* already treated */
			return;
		g_hash_table_add(pids, GUINT_TO_POINTER(g_array_index(p->limits, struct profile_limit, i).pid));
	}
	if (!s.where)
		return;
	s.uses = g_new0(struct use, (gsize)p->threads->len + 1);
	add_uses(&s);
	if (are_all_taken(&s))
		mark(&s);
	g_free(s.uses);
}

void taken_find(const struct profile *p, uint8_t *reason, uint8_t *idle)
{
	for (guint i = 0; i < p->limits->len; i++)
		look_at(p, i, reason, idle);
}
