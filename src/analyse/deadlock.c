/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/deadlock.h"

#include "analyse/locks.h"
#include "base/hash.h"

/*
 * A lock's holder is known as of the wait's begin.  It may have let go since, and another waiter may have been woken.  Two
 * threads in each other's way for a moment are no deadlock, so each wait of a ring must be a long one.
 */
#define LONG_NS 1000000000ULL
#define LONG_PERMILLE 900 /* of a short window */

static uint64_t *key_new(uint32_t pid, uint32_t tid)
{
	uint64_t key = (uint64_t)pid << 32 | tid;

	return g_memdup2(&key, sizeof(key));
}

static uint64_t long_ns(const struct profile *p)
{
	return MIN(LONG_NS, p->info.duration_ns / 1000 * LONG_PERMILLE);
}

/* Each thread has one wait at most that goes on as the window ends: (pid, tid) -> index + 1. */
static GHashTable *waits_for_holders(const struct profile *p)
{
	GHashTable *open = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);

	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const struct object *o = profile_wait_object(p, w);
		const struct thread *t = profile_thread(p, w->thread);

		if (w->flags & WAIT_OPEN_AT_END && w->blocked_ns >= long_ns(p) && o && o->holder_tid && lock_is_held(o))
			g_hash_table_insert(open, key_new(t->pid, t->tid), GUINT_TO_POINTER(i + 1));
	}
	return open;
}

/* The wait, index + 1, of who holds the lock of that one; 0: it waits for no lock. */
static uint32_t next_of(const struct profile *p, GHashTable *open, uint32_t wait)
{
	const struct wait *w = profile_wait(p, wait);
	g_autofree uint64_t *key = key_new(profile_thread(p, w->thread)->pid, profile_wait_object(p, w)->holder_tid);

	return GPOINTER_TO_UINT(g_hash_table_lookup(open, key));
}

uint32_t *deadlock_rings_new(const struct profile *p)
{
	g_autoptr(GHashTable) open = waits_for_holders(p);
	uint32_t *rings = g_new0(uint32_t, (gsize)p->waits->len + 1);
	/* which walk came by first; each goes on to the end, or to where one has been */
	g_autofree uint32_t *walk_of = g_new0(uint32_t, (gsize)p->waits->len + 1);
	GHashTableIter iter;
	gpointer value;
	uint32_t walk = 0;

	g_hash_table_iter_init(&iter, open);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		uint32_t at = GPOINTER_TO_UINT(value);

		walk++;
		for (; at && !walk_of[at - 1]; at = next_of(p, open, at - 1))
			walk_of[at - 1] = walk;
		for (; at && walk_of[at - 1] == walk && !rings[at - 1]; at = rings[at - 1])
			rings[at - 1] = next_of(p, open, at - 1);
	}
	return rings;
}
