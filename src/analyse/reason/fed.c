/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/peers.h"
#include "analyse/reason/reasons.h"

#define OTHERS_PART 10 /* of a thread's sleep: less is not idle */
#define HANDS_MAX 4	/* through which work goes */

/* Of a thread's sleep, or of what ends the waits at a place; part_ns: what is idle of it, or threads at rest end. */
struct sum {
	uint64_t ns, part_ns;
};

static bool is_for_helper(const struct profile *p, const uint8_t *reason, const uint8_t *idle, uint32_t i)
{
	const struct wait *w = profile_wait(p, i);
	const struct object *o = profile_wait_object(p, w);

	return reason[i] == REASON_NETWORK_RECEIVE && !idle[i] && w->user && o &&
	       (o->kind == OBJECT_EVENTFD || o->kind == OBJECT_POLL);
}

/* One of its threads waits for that connection itself. */
static bool waits_itself(const struct profile *p, const struct connection *c)
{
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);
		const bool is_own = o && o->kind == OBJECT_SOCKET && profile_thread(p, w->thread)->pid == c->pid;
		g_autofree char *there = is_own ? peers_address_of(o) : NULL;

		if (there && strcmp(there, c->remote) == 0)
			return true;
	}
	return false;
}

/* It has clients, and helpers of its have asked nobody. */
static bool only_serves(const struct profile *p, uint32_t pid)
{
	bool has_clients = false;

	EACH_ROW(i, const struct connection, c, p->connections) {
		if (c->pid != pid || !*c->remote)
			continue;
		if (c->side != CONNECTION_SERVER && !waits_itself(p, c))
			return false;
		has_clients = has_clients || c->side == CONNECTION_SERVER;
	}
	return has_clients;
}

/* The same, remembered: 0 is unknown, 1 no, 2 yes. */
static bool is_server(const struct profile *p, GHashTable *servers, uint32_t pid)
{
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(servers, GUINT_TO_POINTER(pid)));

	if (!known) {
		known = only_serves(p, pid) ? 2 : 1;
		g_hash_table_insert(servers, GUINT_TO_POINTER(pid), GUINT_TO_POINTER(known));
	}
	return known == 2;
}

static struct sum *sleeps_new(const struct profile *p, const uint8_t *idle)
{
	struct sum *sleeps = g_new0(struct sum, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (!wait_is_asleep(w))
			continue;
		sleeps[w->thread].ns += w->blocked_ns;
		sleeps[w->thread].part_ns += idle[i] ? w->blocked_ns : 0;
	}
	return sleeps;
}

static bool pass_on(const struct profile *p, const uint32_t *threads, GHashTable *servers, const uint8_t *reason,
		    uint8_t *idle)
{
	g_autofree struct sum *sleeps = sleeps_new(p, idle);
	g_autofree struct sum *places = g_new0(struct sum, (gsize)p->nodes->len + 1);
	bool has_changed = false;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		const uint32_t by = threads[wake->waker];

		if (!is_for_helper(p, reason, idle, wake->wait))
			continue;
		const bool is_own = by != UINT32_MAX && profile_thread(p, by)->pid == profile_thread(p, w->thread)->pid;

		places[w->user].ns += wake->blocked_ns;
		if (is_own && sleeps[by].part_ns > sleeps[by].ns - sleeps[by].ns / OTHERS_PART)
			places[w->user].part_ns += wake->blocked_ns;
	}
	EACH_ROW(i, const struct wait, w, p->waits) {
		if (!is_for_helper(p, reason, idle, i) || places[w->user].part_ns <= places[w->user].ns / 2 ||
		    !is_server(p, servers, profile_thread(p, w->thread)->pid))
			continue;
		idle[i] = IDLE_POOL;
		has_changed = true;
	}
	return has_changed;
}

void fed_find(const struct profile *p, const uint8_t *reason, uint8_t *idle)
{
	g_autofree uint32_t *threads = actors_threads_of_wakers(p);
	g_autoptr(GHashTable) servers = g_hash_table_new(NULL, NULL);

	for (unsigned hands = 0; hands < HANDS_MAX && pass_on(p, threads, servers, reason, idle); hands++)
		;
}
