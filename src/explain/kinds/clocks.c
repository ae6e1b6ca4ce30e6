/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <inttypes.h>

#include "analyse/actors.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define TURNS_MIN 4
#define TICK_NS 500000	/* on average: who sleeps for less looks for something again and again */
#define OTHER_SHARE 20	/* of its sleep: so much a clock may wait for beside it, but for an interpreter's lock */
#define ASKS_SHARE 10	/* the same, for what it asks at each turn */
#define OTHER_TURNS 2	/* who waits for others in more than every second turn serves them, unless it asks them itself */
#define SHORT_SHARE 500	/* of its sleep: locks that who asks takes by the way */
#define LOOKS_PER_S 2	/* of a script: one that looks more often waits for something */
#define ON_CPU_SHARE 10	/* of its time */
#define MEANWHILE_MIN 3	/* threads: one or two may get their work from the clock */
#define MEANWHILE_SHARE 10	/* the same: of their time they may do other things */

struct clock {
	uint64_t sleep_ns, asks_ns, other_ns, count, other_cnt, work_cnt;
	uint64_t longest_ns;
	int64_t sleeps_in; /* function in which it sleeps longest; -1: unknown */
	uint64_t hist[PROFILE_HIST_SLOTS];
};

/*
 * A thread that asks for work and sleeps in another function pauses within its work; a client that asks now and then,
 * or a health check, sleeps in a caller of what asks.
 */
static void count_work(const struct findings *f, struct clock *clocks)
{
	const struct profile *p = f->profile;

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct clock *c = &clocks[w->thread];

		if (c->count && c->sleeps_in >= 0 && w->user && pauses_is_of_connection(f, i) &&
		    !cause_passes(p, w->user, c->sleeps_in))
			c->work_cnt += w->count;
	}
}

static struct clock *sleepers_new(const struct findings *f)
{
	const struct profile *p = f->profile;
	struct clock *clocks = g_new0(struct clock, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct clock *c = &clocks[w->thread];

		enum reason reason = reasons_of(f->reasons, i);

		if (!f->blocked_in[i] || reason != REASON_SLEEP) {
			/* an idle sleep, or an unknown wait, is not other work */
			bool is_other = w->blocked_ns && reason != REASON_SLEEP && reason != REASON_LOCK_GIL &&
					!reasons_is_unseen(f->reasons, i);

			*(pauses_is_of_connection(f, i) ? &c->asks_ns : &c->other_ns) += is_other ? w->blocked_ns : 0;
			c->other_cnt += is_other && !pauses_is_question(f, i) ? w->count : 0;
			continue;
		}
		if (w->blocked_ns > c->longest_ns) {
			c->longest_ns = w->blocked_ns;
			c->sleeps_in = finding_frame(f, i);
		}
		c->sleep_ns += w->blocked_ns;
		c->count += w->count;
		for (unsigned s = 0; s < PROFILE_HIST_SLOTS; s++)
			c->hist[s] += w->hist[s];
	}
	count_work(f, clocks);
	return clocks;
}

/* Seven in eight of its sleeps have similar length: in one slot or the next. */
static bool is_regular(const struct clock *c)
{
	uint64_t all = 0, most = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		all += c->hist[i];
		most = MAX(most, c->hist[i] + (i + 1 < PROFILE_HIST_SLOTS ? c->hist[i + 1] : 0));
	}
	return all && most >= all - all / 8;
}

static bool is_clock(const struct clock *c, const struct thread *t)
{
	return c->count >= TURNS_MIN && c->sleep_ns / c->count >= TICK_NS && c->other_ns <= c->sleep_ns / OTHER_SHARE &&
	       c->asks_ns <= c->sleep_ns / ASKS_SHARE &&
	       (c->other_cnt <= c->count / OTHER_TURNS || (c->asks_ns && c->other_ns < c->sleep_ns / SHORT_SHARE)) &&
	       c->work_cnt < TURNS_MIN && t->on_cpu_ns <= thread_observed_ns(t) / ON_CPU_SHARE && is_regular(c);
}

void clocks_find(struct findings *f)
{
	const struct profile *p = f->profile;
	g_autofree struct clock *clocks = sleepers_new(f);

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (!f->blocked_in[i] || !is_clock(&clocks[w->thread], profile_thread(p, w->thread)))
			continue;
		struct finding *row = &g_array_index(f->rows, struct finding, f->blocked_in[i] - 1);
		*(reasons_of(f->reasons, i) == REASON_SLEEP ? &row->clock_ns : &row->beside_clock_ns) += w->blocked_ns;
	}
}

static bool waits_for(const struct findings *f, const struct finding *one, const struct finding *sleep)
{
	/* who reads what another thread sends now and then has its work from that one's clock */
	bool is_other = finding_is_held(f, one) ||
			(one->by.pid && !one->by.is_peer && reason_is_parked(one->reason) &&
			 one->time_ns >= sleep->time_ns / OTHER_SHARE);

	return is_other && one->by.does_ns && one->by.does == REASON_SLEEP && one->by.does_frame >= 0 &&
	       one->by.does_frame == sleep->frame && (!sleep->pid || one->by.pid == sleep->pid);
}

/* No recorded process began before it, so nobody recorded waits for its end. */
static bool is_first(const struct profile *p, uint32_t thread)
{
	for (uint32_t i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->start_ns < profile_thread(p, thread)->start_ns)
			return false;
	return true;
}

/* Number of its waits that are about as long as the longest. */
static uint64_t long_cnt(const struct finding *row)
{
	uint64_t cnt = 0;

	for (unsigned s = profile_hist_slot(row->max_ns), i = s ? s - 1 : 0; i <= s; i++)
		cnt += row->hist[i];
	return cnt;
}

/* A script's child `sleep`, or its wait for that, unless a command was recorded, whose time it takes. */
static bool is_scripts_pause(const struct findings *f, const struct finding *row)
{
	return (row->is_shells_sleep ||
		(row->has_sleep && is_first(f->profile, profile_wait(f->profile, row->wait)->thread))) &&
	       !profile_is_of_command(f->profile) &&
	       (double)long_cnt(row) * 1e9 < LOOKS_PER_S * (double)f->profile->info.duration_ns;
}

bool clocks_is_all(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);
	const bool is_clock = row->clock_ns && row->clock_ns >= row->time_ns - row->time_ns / 10 &&
			      !(rule && rule->advice);

	return (is_clock || is_scripts_pause(f, row)) &&
	       !row->may_be_meant && !row->waited_ns && !row->leads_ns && !row->backlog && !row->limit.limit &&
	       !row->loop && !row->queue_tasks;
}

void clocks_find_waited_for(struct findings *f)
{
	EACH_FIRST(i, row, f, FINDINGS_TOLD_MAX) {
		for (guint k = 0; row->reason == REASON_SLEEP && k < f->rows->len; k++) {
			const struct finding *lock = &g_array_index(f->rows, struct finding, k);

			if (waits_for(f, lock, row))
				row->waited_ns = MAX(row->waited_ns, lock->time_ns);
		}
	}
}

/* Of a thread: its waits for work, and the part of these that the clock ends. */
struct meanwhile {
	uint64_t ns, by_clock_ns;
	uint32_t longest;	/* wait + 1 */
};

static struct meanwhile *meanwhile_new(const struct findings *f, const struct finding *clock)
{
	const struct profile *p = f->profile;
	struct meanwhile *of = g_new0(struct meanwhile, (gsize)p->threads->len + 1);
	g_autofree bool *ticks = finding_waiters_new(f, clock);
	g_autofree uint32_t *threads = actors_threads_of_wakers(p);

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct meanwhile *m = &of[w->thread];

		if (reasons_idle(f->reasons, i) != IDLE_POOL || f->programs[w->thread] != clock->process)
			continue;
		m->ns += w->blocked_ns;
		if (!m->longest || w->blocked_ns > profile_wait(p, m->longest - 1)->blocked_ns)
			m->longest = i + 1;
	}
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		struct meanwhile *m = &of[profile_wait(p, wake->wait)->thread];

		if (reasons_idle(f->reasons, wake->wait) == IDLE_POOL && threads[wake->waker] != UINT32_MAX &&
		    ticks[threads[wake->waker]])
			m->by_clock_ns += wake->blocked_ns;
	}
	return of;
}

/*
 * Threads that wait nearly all the time for what a clock does when it wakes may be workers without work, or wait for
 * answers of which each takes that sleep: their stacks are the same.
 */
bool clocks_append_meanwhile(GString *s, const struct findings *f, const struct finding *clock)
{
	const struct profile *p = f->profile;
	g_autofree struct meanwhile *of = meanwhile_new(f, clock);
	const struct meanwhile *most = NULL;
	uint32_t cnt = 0;

	EACH_ROW(i, const struct thread, t, p->threads) {
		const struct meanwhile *m = &of[i];
		uint64_t observed_ns = thread_observed_ns(t);

		if (!m->longest || m->ns < observed_ns - observed_ns / MEANWHILE_SHARE ||
		    m->by_clock_ns < m->ns / 2)
			continue;
		cnt++;
		most = !most || m->ns > most->ns ? m : most;
	}
	if (cnt < MEANWHILE_MIN)
		return false;
	g_string_append_printf(s, " It ends the waits of %" PRIu32 " threads, which wait", cnt);
	sentence_function(s, f, finding_frame(f, most->longest - 1), " in ");
	g_string_append(s, " nearly all the time: if they wait for its answers, that sleep is what is slow.");
	return true;
}
