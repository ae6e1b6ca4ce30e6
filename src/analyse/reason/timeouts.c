/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/timeouts.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/reason/reasons.h"
#include "features/wakers/analysis.h"

#define TIMEOUTS_MIN 3	/* fewer prove nothing */
#define ENDED_SHARE 10	/* of its waits' time: the rest may end otherwise */
#define NONE UINT32_MAX

/* For a wait: blocked time ended by threads whose own waits time out, the one with most of it, and its waker. */
struct ended {
	uint64_t all_ns, by_ns, by_cnt, most_ns;
	uint32_t by, waker;
};

void timeouts_add(struct timeouts *t, const struct profile *p, const struct wake *wake)
{
	t->cnt += wake->count;
	t->ns += wake->blocked_ns;
	if (!t->longest || profile_wait(p, wake->wait)->blocked_ns > profile_wait(p, t->longest - 1)->blocked_ns)
		t->longest = wake->wait + 1;
	if (!waker_is_timer(profile_get_waker(p, wake->waker)))
		return;
	t->timed_out_cnt += wake->count;
	t->timed_out_ns += wake->blocked_ns;
}

bool timeouts_are_all(const struct timeouts *t)
{
	return t->timed_out_cnt >= TIMEOUTS_MIN && t->timed_out_ns >= t->ns - t->ns / 20;
}

static struct timeouts *timeouts_new(const struct profile *p, const uint8_t *reason)
{
	struct timeouts *all = g_new0(struct timeouts, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wake, wake, p->wakes)
		if (reason_is_parked((enum reason)reason[wake->wait]))
			timeouts_add(&all[profile_wait(p, wake->wait)->thread], p, wake);
	return all;
}

static void add_ended(const struct profile *p, struct ended *e, const struct wake *wake, uint32_t by,
		      const struct timeouts *timeouts)
{
	const struct thread *t = profile_thread(p, profile_wait(p, wake->wait)->thread);

	e->all_ns += wake->blocked_ns;
	if (by == NONE || by == profile_wait(p, wake->wait)->thread || profile_thread(p, by)->pid != t->pid ||
	    !timeouts_are_all(&timeouts[by]))
		return;
	e->by_ns += wake->blocked_ns;
	e->by_cnt += wake->count;
	if (wake->blocked_ns < e->most_ns)
		return;
	e->most_ns = wake->blocked_ns;
	e->by = by;
	e->waker = wake->waker;
}

static const char *function_of(const struct profile *p, struct plumbing *pl, uint32_t node)
{
	int64_t frame = node ? plumbing_user_parent(pl, node) : -1;

	return frame >= 0 ? profile_get_frame(p, (uint32_t)frame)->name : NULL;
}

/* By thread: index + 1 of the thread that ends nearly all its waits, more often than its own time out; 0: none. */
static uint32_t *asked_new(const struct profile *p, const uint8_t *reason, const uint32_t *threads,
			   const struct timeouts *timeouts)
{
	g_autofree struct ended *ended = g_new0(struct ended, (gsize)p->threads->len + 1);
	uint32_t *asked = g_new0(uint32_t, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wake, wake, p->wakes)
		add_ended(p, &ended[profile_wait(p, wake->wait)->thread], wake, threads[wake->waker], timeouts);
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		uint32_t asker = profile_wait(p, wake->wait)->thread, by = threads[wake->waker];
		const struct ended *e = by != NONE ? &ended[by] : NULL;

		if (e && e->by_ns && e->by == asker && reason_is_parked((enum reason)reason[wake->wait]) &&
		    e->by_ns >= e->all_ns - e->all_ns / ENDED_SHARE &&
		    e->by_cnt > timeouts[asker].timed_out_cnt + timeouts[asker].timed_out_cnt / 2)
			asked[asker] = by + 1;
	}
	return asked;
}

uint32_t *timeouts_asked_new(const struct profile *p, const uint8_t *reason)
{
	g_autofree uint32_t *threads = actors_threads_of_wakers(p);
	g_autofree struct timeouts *timeouts = timeouts_new(p, reason);

	return asked_new(p, reason, threads, timeouts);
}

/* Whether the thread has a reported wait, so that it is never at rest. */
static bool waits_openly(const struct profile *p, uint32_t thread, const uint8_t *idle)
{
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (profile_wait(p, i)->thread == thread && profile_wait(p, i)->state != ON_CPU_STATE && idle[i])
			return false;
	return true;
}

/* The same, but for what the JVM makes of a lambda, which is nobody's function. */
static unsigned depth_of(const struct profile *p, const struct timeouts_input *in, uint32_t user)
{
	unsigned depth = in->depth[user];

	for (uint32_t n = user; n && depth; n = profile_get_node(p, n)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		depth -= name && strstr(name, "$$Lambda");
	}
	return depth;
}

static bool is_owed(const struct profile *p, const struct timeouts_input *in, const struct ended *e, uint32_t wait,
		    const struct timeouts *t)
{
	const struct wait *w = profile_wait(p, wait), *own = profile_wait(p, t->longest - 1);
	const char *waits_in = function_of(p, in->pl, own->user);

	if (!e->by_ns || e->by_ns < e->all_ns - e->all_ns / ENDED_SHARE)
		return false;
	if (e->by_cnt > t->timed_out_cnt + t->timed_out_cnt / 2)
		return true;
	return depth_of(p, in, w->user) >= 2 && waits_in &&
	       waits_in == function_of(p, in->pl, profile_get_waker(p, e->waker)->user);
}

void timeouts_find(const struct profile *p, const struct timeouts_input *in, uint8_t *idle)
{
	g_autofree uint32_t *threads = actors_threads_of_wakers(p);
	g_autofree struct timeouts *timeouts = timeouts_new(p, in->reason);
	g_autofree struct ended *ended = g_new0(struct ended, (gsize)p->waits->len + 1);
	g_autofree uint32_t *asked = asked_new(p, in->reason, threads, timeouts);

	EACH_ROW(i, const struct wake, wake, p->wakes)
		if (idle[wake->wait] == IDLE_POOL)
			add_ended(p, &ended[wake->wait], wake, threads[wake->waker], timeouts);
	for (uint32_t t = 0; t < p->threads->len; t++)
		asked[t] = asked[t] && waits_openly(p, asked[t] - 1, idle) ? asked[t] : 0;
	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct rule *rule = in->rule[i];
		bool is_by_evidence = !rule || rule->idle == RULE_IDLE_UNSAID;

		if (idle[i] != IDLE_POOL || !is_by_evidence || in->reason[i] == REASON_POOL_IDLE ||
		    !reason_is_parked((enum reason)in->reason[i]))
			continue;
		if (asked[profile_wait(p, i)->thread] ||
		    (ended[i].by_ns && is_owed(p, in, &ended[i], i, &timeouts[ended[i].by])))
			idle[i] = IDLE_NOT;
	}
}
