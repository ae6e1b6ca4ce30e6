/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include "analyse/reason/reasons.h"
#include "base/hash.h"
#include "features/wakers/analysis.h"

#define LOOK_FRAMES 8	/* functions within the one that looks */
#define PAUSE_PART 4	/* of the looks' time */

/* Of a thread in a function, or what that called: how often and how long it rested until its time was up. */
struct look {
	uint64_t ns, cnt;
};

static gpointer look_key(uint32_t thread, uint32_t frame)
{
	return GSIZE_TO_POINTER((gsize)thread << 32 | frame);
}

static void add_look(GHashTable *looks, const struct profile *p, const struct wait *w)
{
	uint32_t n = w->user;

	for (unsigned k = 0; n && k < LOOK_FRAMES; k++, n = profile_get_node(p, n)->parent) {
		struct look *l = hash_row(looks, look_key(w->thread, profile_get_node(p, n)->frame), sizeof(*l));

		l->ns += w->blocked_ns;
		l->cnt += w->count;
	}
}

/* By wait: the time that timers ended. */
static uint64_t *timed_new(const struct profile *p)
{
	uint64_t *timed_ns = g_new0(uint64_t, (gsize)p->waits->len + 1);

	EACH_ROW(i, const struct wake, wake, p->wakes)
		timed_ns[wake->wait] += waker_is_timer(profile_get_waker(p, wake->waker)) ? wake->blocked_ns : 0;
	return timed_ns;
}

void looks_find(const struct profile *p, const struct plumbing *pl, const uint8_t *reason, uint8_t *idle)
{
	g_autofree uint64_t *timed_ns = timed_new(p);
	g_autoptr(GHashTable) looks = g_hash_table_new_full(hash_number, NULL, NULL, g_free);

	EACH_ROW(i, const struct wait, w, p->waits)
		if (idle_kind_is_rest((enum idle_kind)idle[i]) && timed_ns[i] > w->blocked_ns / 2)
			add_look(looks, p, w);
	EACH_ROW(i, const struct wait, w, p->waits) {
		const bool is_sleep = reason[i] == REASON_SLEEP && idle[i] == IDLE_NOT && w->user;
		const int64_t frame = is_sleep ? plumbing_user_parent(pl, w->user) : -1;
		const struct look *l = frame >= 0 ? g_hash_table_lookup(looks, look_key(w->thread, (uint32_t)frame))
						  : NULL;

		if (l && w->count <= l->cnt + l->cnt / 4 && w->blocked_ns <= l->ns / PAUSE_PART)
			idle[i] = IDLE_TIMER;
	}
}
