/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include "analyse/peers.h"
#include "analyse/reason/reasons.h"
#include "features/wakers/analysis.h"
#include "profile/limits.h"

/* Who connects to a program: names of the client programs, and their pids. */
struct clients {
	GHashTable *comms, *pids;
};

FREES_DATA(clients_free, struct clients, c, g_hash_table_unref(c->comms); g_hash_table_unref(c->pids))

static struct clients *clients_of(GHashTable *all, const char *process)
{
	struct clients *c = g_hash_table_lookup(all, process);

	if (!c) {
		c = g_new(struct clients, 1);
		*c = (struct clients){ g_hash_table_new(g_str_hash, g_str_equal), g_hash_table_new(NULL, NULL) };
		g_hash_table_insert(all, (gpointer)process, c);
	}
	return c;
}

/*
 * By program name, since another process of the program may serve the connection.  Names on other machines are
 * unknown.
 */
static GHashTable *clients_new(const struct profile *p)
{
	GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, clients_free);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);
		const char *process = profile_thread(p, profile_wait(p, wake->wait)->thread)->process;

		if (!process || !waker_is_connection(p, by))
			continue;
		struct clients *c = clients_of(all, process);

		if (by->irq || !by->comm)
			continue;
		g_hash_table_add(c->comms, (gpointer)by->comm);
		g_hash_table_add(c->pids, GUINT_TO_POINTER(by->pid));
	}
	return all;
}

static uint64_t window_from_ns(const struct profile *p)
{
	uint64_t from_ns = UINT64_MAX;

	for (uint32_t i = 0; i < p->threads->len; i++)
		from_ns = MIN(from_ns, profile_thread(p, i)->from_ns);
	return from_ns;
}

/* Created for one connection: began within the window. */
static bool is_for_one(const struct thread *t, uint64_t from_ns)
{
	return t->process && t->from_ns > from_ns && !(t->flags & (THREAD_OPEN_AT_START | THREAD_KERNEL));
}

/* A relay's thread was asked by nobody who ends its waits. */
static bool is_asked(const struct clients *c, const struct thread *t, const struct waker *by)
{
	return !by->irq && by->comm && by->pid != t->pid && !g_hash_table_contains(c->comms, by->comm) &&
	       !g_hash_table_contains(c->pids, GUINT_TO_POINTER(by->pid));
}

/* By how much longer its peers owed data than it had asked for nothing; 0: unknown. */
static int64_t owed_ns(const struct profile *p, const struct wait *w)
{
	int64_t ns = 0;

	EACH_ROW(i, const struct tcp_wait, t, p->tcp_waits)
		if (t->object + 1 == w->object && t->direction == TCP_WAIT_RECEIVE)
			ns += (int64_t)t->peer_ns - (int64_t)t->silent_ns;
	return ns;
}

bool idle_only_listens(const struct profile *p, const struct wait *w)
{
	return owed_ns(p, w) < 0;
}

/*
 * Relays poll.  A loop that nobody connects to has made its connections itself: all of a command's were made while it was
 * recorded, of other processes those are known that they have at the end.  If the process that they lead to is known
 * idle.c knows who ended the wait, and that a server in memory holds back what there is no work for.
 */
static bool may_be_asked(const struct profile *p, const struct clients *c, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	if (!o || c || o->kind != OBJECT_EPOLL)
		return o && o->kind == OBJECT_POLL && (c || profile_is_of_command(p));
	const struct peer_ends ends = peer_ends_of(p, profile_thread(p, w->thread)->pid);
	const int64_t ns = owed_ns(p, w);

	if (ends.listens || peer_is_memory_server(profile_upstream(p, w)))
		return false;
	return profile_is_of_command(p) ? ns >= 0 : ns > 0 && object_upstream(o) && !o->pid && !ends.clients_cnt;
}

void relays_find(const struct profile *p, const struct rule *const *rule, uint8_t *reason, uint8_t *idle)
{
	g_autoptr(GHashTable) all = clients_new(p);
	const uint64_t from_ns = window_from_ns(p);
	g_autofree uint64_t *asked_ns = g_new0(uint64_t, (gsize)p->waits->len + 1);
	g_autofree uint64_t *woken_ns = g_new0(uint64_t, (gsize)p->waits->len + 1);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct thread *t = profile_thread(p, profile_wait(p, wake->wait)->thread);
		const struct clients *c = t->process ? g_hash_table_lookup(all, t->process) : NULL;
		const struct waker *by = profile_get_waker(p, wake->waker);

		woken_ns[wake->wait] += wake->blocked_ns;
		if (c ? is_for_one(t, from_ns) && is_asked(c, t, by) : waker_brings_by_tcp(p, by))
			asked_ns[wake->wait] += wake->blocked_ns;
	}
	EACH_ROW(i, const struct wait, w, p->waits) {
		const char *process = profile_thread(p, w->thread)->process;

		if (idle[i] != IDLE_LOOP || reason[i] != REASON_EVENT_LOOP || asked_ns[i] <= woken_ns[i] / 2 ||
		    (rule[i] && rule[i]->idle == RULE_IDLE_YES) ||
		    !may_be_asked(p, process ? g_hash_table_lookup(all, process) : NULL, w))
			continue;
		idle[i] = IDLE_NOT;
		reason[i] = REASON_NETWORK_RECEIVE;
	}
}
