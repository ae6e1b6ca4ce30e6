/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who waits for the recorder itself, or in a whole machine's recording for a program in which nothing happened. */
#include "analyse/reason/idle.h"

#include <string.h>

#include "analyse/peers.h"
#include "analyse/reason/reasons.h"

#define SELDOM_PART 10	/* of the window: waits as long as that on average */

/* For a child to end, or for what another program writes; or nothing tells for what it sleeps. */
static bool is_for_program(const struct wait *w, const struct rule *rule, enum reason reason)
{
	return reason == REASON_CHILD_EXIT || (reason == REASON_PIPE && rule && strcmp(rule->name, "pipe-read") == 0) ||
	       (reason == REASON_OTHER && !rule && w->state == 'S');
}

/* Its child, which is not in the recording, waits for something: only this wait tells of that. */
static bool waits_for_hidden_child(const struct profile *p, uint32_t pid)
{
	char there[1];
	struct limit_child c;

	return limit_child_read(profile_find_limit(p, LIMIT_CHILD, pid, 0), &c, there, sizeof(there)) &&
	       c.does != CHILD_SEVERAL && c.does != CHILD_SLEEPS && c.does != CHILD_EVENTS && c.does != CHILD_OTHER &&
	       c.does != CHILD_RUNS && c.does != CHILD_WAITS;
}

/*
 * Shells wait for what runs in them, supervisors for their children, pagers and loggers for lines: a few long waits are
 * no sign of a fault where nobody chose that program.  What the other one waits for is recorded, too.  Servers owe
 * answers meanwhile.
 */
static bool is_undisturbed(const struct profile *p, const struct wait *w)
{
	return w->count && w->blocked_ns / w->count >= p->info.duration_ns / SELDOM_PART &&
	       !waits_for_hidden_child(p, profile_thread(p, w->thread)->pid);
}

/* It waits for the recorder itself: it has begun it, or wants a file lock that such a process has. */
static bool is_for_recorder(const struct profile *p, const struct wait *w)
{
	const uint32_t pid = profile_thread(p, w->thread)->pid;
	const uint32_t holder = wait_is_for_file_lock(p, w) ? profile_file_lock_holder(p, pid) : 0;

	return profile_find_limit(p, LIMIT_RECORDER, pid, 0) ||
	       (holder && profile_find_limit(p, LIMIT_RECORDER, holder, 0));
}

void bystanders_find(const struct profile *p, const struct rule *const *rule, const uint8_t *reason, uint8_t *idle)
{
	const bool is_host = profile_is_of_host(p);
	g_autoptr(GHashTable) servers = is_host ? peers_servers_new(p) : NULL;

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (idle[i] || !wait_is_asleep(w))
			continue;
		const bool is_for_any = is_for_program(w, rule[i], (enum reason)reason[i]);

		if ((is_for_any || wait_is_for_file_lock(p, w)) && is_for_recorder(p, w))
			idle[i] = IDLE_JOIN;
		else if (is_for_any && is_host && is_undisturbed(p, w) &&
			 !g_hash_table_contains(servers, GUINT_TO_POINTER(profile_thread(p, w->thread)->pid)))
			idle[i] = IDLE_JOIN;
	}
}
