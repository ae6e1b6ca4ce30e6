/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle_ended.h"

#include <string.h>

#include "analyse/peers.h"
#include "analyse/reason/reasons.h"
#include "analyse/reason/timeouts.h"
#include "base/each.h"
#include "profile/limits.h"

/*
 * A worker runs a loop: it takes a piece of work, does it, and returns to one place to wait for the next.  Time at
 * that place is idle if the wait is for work.  The signs:
 *
 * - Depth.  Of a role's waiting places it is the one with the fewest of the program's functions on the stack, since
 *   the loop calls the functions that do the work.
 * - Who ends the wait.  Work comes from others: another role, another process, the network.  A wait that threads of
 *   the same role end is for something scarce that they share: a pool of connections, a buffer, a turn.
 * - How often a timer ends it: housekeeping a few times a second is idle, a thousand times a second is a poll loop.
 * - What follows: if a broadcast wakes many threads that sleep again at once, they were disturbed, not idle.
 * - How many bring work.  If three or more threads wait for fewer others, which have no idle time, they wait for
 *   answers or lack work because these are too slow.  They are not idle in either case.
 *
 * Without any sign a wait is not idle: a superfluous finding is better than time that nobody sees.
 */
#define SHARE_OF_ROLE 100 /* a place counts if a role spends at least a hundredth of its sleep there */
/* Per thread, ended by a timer: more is a poll loop.  Many servers tick ten times a second. */
#define LOOKS_PER_S_EPOLL 20
#define LOOKS_PER_S_POLL 1.5
#define SLEEPS_PER_S 5
#define TICKS_PER_S 12 /* for a thread that only sleeps and checks: tenths of a second are a common period */
#define RETRIES_PER_S 0.5
#define GROWING_SLOTS 4	/* of durations: each slot is twice as long as the one before */
/* maximum number of the program's functions: housekeeping sleeps in the main function or in one that it calls */
#define SLEEP_DEPTH 2
#define CREW_THREADS 3
#define BROADCAST_THREADS 8
#define BROADCAST_CPU_NS 100000 /* as for storms: with less CPU time after a wakeup, the wakeup was in vain */
#define ANSWERED_SHARE 3 /* of a loop's waiting time: clients also send requests between answers */
#define OWED_SHARE 10 /* the same for a loop whose clients wait for its answers */
#define STANDS_OUT 10	/* times the mean */
#define WORK_NS 200000000 /* average, for a server with all data in memory */
#define RESTS_MIN 3	/* as long: fewer are no habit */

static bool could_be_idle(const struct finder *f, uint32_t i)
{
	const struct rule *rule = f->rule[i];

	if (rule && rule->idle != RULE_IDLE_UNSAID)
		return rule->idle == RULE_IDLE_YES;
	switch ((enum reason)f->reason[i]) {
	case REASON_NETWORK_ACCEPT:
	case REASON_EVENT_LOOP:
	case REASON_POOL_IDLE:
	case REASON_LOCK_CONDITION:
	case REASON_LOCK_SEMAPHORE:
	case REASON_LOCK_OTHER:
	case REASON_SLEEP: return true;
	case REASON_NETWORK_RECEIVE: return ended_is_served(f, i);
	default: return false;
	}
}

/*
 * Who should end it is stopped, and did not end it before. Between two requests nobody should: then it is the client. A
 * loop watches a pipe that its workers have inherited, so for it the answer counts that is owed to its epoll set.
 */
static bool is_for_stopped(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct object *o = profile_wait_object(f->p, w);
	const enum reason reason = (enum reason)f->reason[i];

	return o && !object_is_accepted(o) && reason != REASON_TERMINAL &&
	       (reason != REASON_EVENT_LOOP || o->kind == OBJECT_EPOLL) &&
	       (w->flags & WAIT_OPEN_AT_END || !f->ended[i].upstream_ns) && profile_stopped(f->p, w);
}

/* Whether it waits for an answer on a connection that it made. */
static bool is_question(const struct finder *f, uint32_t i)
{
	const struct object *o = profile_wait_object(f->p, profile_wait(f->p, i));

	return f->reason[i] == REASON_NETWORK_RECEIVE && o && o->kind == OBJECT_SOCKET && !ended_is_served(f, i);
}

/* What it waits for comes from outside, or from its own clock. */
static bool is_source(const struct finder *f, uint32_t i)
{
	switch ((enum reason)f->reason[i]) {
	case REASON_NETWORK_ACCEPT:
	case REASON_EVENT_LOOP:
	case REASON_SLEEP:
	case REASON_PIPE:
	case REASON_TERMINAL:
	case REASON_DEVICE: return true;
	case REASON_NETWORK_RECEIVE: return ended_is_served(f, i);
	default: return false;
	}
}

static void find_facts(struct finder *f)
{
	const struct profile *p = f->p;

	for (guint r = 0; r < f->roles->rows->len; r++)
		f->facts[r].base_depth = f->facts[r].work_depth = f->facts[r].busy_depth = UINT16_MAX;
	for (uint32_t t = 0; t < p->threads->len; t++)
		f->facts[f->roles->of_thread[t]].on_cpu_ns += profile_thread(p, t)->on_cpu_ns;
	EACH_ROW(i, const struct wait, w, p->waits) {
		struct role_facts *facts = &f->facts[f->roles->of_thread[w->thread]];

		if (!wait_is_asleep(w))
			continue;
		facts->asleep_ns += w->blocked_ns;
		facts->wakings += w->count;
		facts->questions += is_question(f, i) ? w->count : 0;
		facts->sources += is_source(f, i) ? w->count : 0;
	}
	EACH_ROW(i, const struct wait, w, p->waits) {
		struct role_facts *facts = &f->facts[f->roles->of_thread[w->thread]];
		bool could = could_be_idle(f, i), sleeps = f->reason[i] == REASON_SLEEP;

		if (!wait_is_asleep(w) || w->blocked_ns < facts->asleep_ns / SHARE_OF_ROLE)
			continue;
		facts->parks = facts->parks || (could && !sleeps);
		if (!idle_knows_place(f->p, w))
			continue;
		if (could)
			facts->base_depth = MIN(facts->base_depth, f->depth[w->user]);
		else
			facts->work_depth = MIN(facts->work_depth, f->depth[w->user]);
		if (!could || sleeps)
			facts->busy_depth = MIN(facts->busy_depth, f->depth[w->user]);
	}
}

static double per_second(const struct finder *f, const struct wait *w)
{
	uint64_t observed_ns = thread_observed_ns(profile_thread(f->p, w->thread));

	return observed_ns ? (double)w->count * 1e9 / (double)observed_ns : 0.0;
}

/* Whether a timer ends these sleeps.  Without wakers: there are many, of nearly equal length. */
static bool is_timed(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct ended *e = &f->ended[i];
	uint64_t most = 0, all = 0;

	if (ended_sum(e))
		return e->timer_ns > ended_sum(e) / 2;
	for (unsigned s = 0; s < PROFILE_HIST_SLOTS; s++) {
		all += w->hist[s];
		most = MAX(most, (uint64_t)w->hist[s] + (s + 1 < PROFILE_HIST_SLOTS ? w->hist[s + 1] : 0));
	}
	return all >= 50 && most >= all / 20 * 19;
}

/* How often a timer ends them, if that is most of their time: other wakeups between ticks are no looks. */
static double looks_per_second(const struct finder *f, uint32_t i)
{
	const struct ended *e = &f->ended[i];

	if (!is_timed(f, i))
		return 0;
	return per_second(f, profile_wait(f->p, i)) * (e->cnt ? (double)e->timer_cnt / (double)e->cnt : 1.0);
}

/* Never signalled: equivalent to a sleep. */
static bool is_only_timed(const struct ended *e)
{
	return ended_sum(e) && e->timer_ns >= ended_sum(e) - ended_sum(e) / 20;
}

/* The sleeping function is in the file in which the thread began: a library's sleep may be somebody's wait. */
static bool is_own_sleep(const struct finder *f, const struct wait *w)
{
	const char *inner = NULL, *outer = NULL;

	for (uint32_t n = w->user; n; n = profile_get_node(f->p, n)->parent) {
		uint32_t id = profile_get_node(f->p, n)->frame;
		const struct frame *frame = profile_get_frame(f->p, id);

		if (!frame->module || plumbing_frame_is_runtime(f->pl, id))
			continue;
		inner = inner ? inner : frame->module;
		outer = frame->module;
	}
	return inner == outer;
}

static bool is_main(const struct thread *t)
{
	return t->pid == t->tid;
}

/* Many threads that a broadcast wakes together, each of which does next to nothing before it sleeps again. */
static bool is_disturbed(const struct finder *f, uint32_t i)
{
	uint32_t role = f->roles->of_thread[profile_wait(f->p, i)->thread];
	const struct role_facts *facts = &f->facts[role];
	const struct ended *e = &f->ended[i];

	return g_array_index(f->roles->rows, struct role, role).threads_cnt >= BROADCAST_THREADS &&
	       e->broadcast_ns > ended_sum(e) / 2 && per_second(f, profile_wait(f->p, i)) >= 1 &&
	       facts->on_cpu_ns < facts->wakings * BROADCAST_CPU_NS;
}

/*
 * The main thread of a program that ended distributed the work and received none: it waited for its threads.  As with
 * a join, their time counts as theirs.
 */
static bool waits_for_its_threads(const struct finder *f, uint32_t i)
{
	const struct thread *t = profile_thread(f->p, profile_wait(f->p, i)->thread);

	return is_main(t) && (t->flags & THREAD_EXITED) && f->ended[i].process_ns > ended_sum(&f->ended[i]) / 2;
}

/* Peers end half of its waits, not counting what they pass on, and others bring no work. */
static bool is_short(const struct ended *e)
{
	uint64_t brought_ns = e->process_ns + e->others_ns, peers_ns = e->peers_ns + (brought_ns ? 0 : e->passed_ns);

	return peers_ns >= (ended_sum(e) - (brought_ns ? e->passed_ns : 0)) / 2;
}

/*
 * Another process ends these waits in memory that both have, and is busy all the time: these threads hand it what they get
 * elsewhere, as often as they wait here, or they are several. One thread that gets its work from there may rest.
 */
static bool is_for_busy_reader(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const uint32_t role = f->roles->of_thread[w->thread];
	const struct ended *e = ended_sum(&f->ended[i]) ? &f->ended[i] : &f->of_object[w->object];

	return w->object && e->busy_ns > ended_sum(e) / 2 &&
	       (f->facts[role].sources >= MAX(w->count / 2, 1) ||
		g_array_index(f->roles->rows, struct role, role).threads_cnt >= CREW_THREADS);
}

/* A worker parked on a condition, semaphore or futex. */
static enum idle_kind parked(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct role_facts *facts = &f->facts[f->roles->of_thread[w->thread]];
	/* a wait that is open at the end counts like others' waits at that place */
	const struct ended *e = ended_sum(&f->ended[i]) || !w->user ? &f->ended[i] : &f->of_place[w->user];
	uint64_t all = ended_sum(e);
	uint16_t depth = f->depth[w->user];

	if (depth > facts->base_depth || is_disturbed(f, i) || is_for_busy_reader(f, i))
		return IDLE_NOT;
	/* a consumer may get nothing for a while, if others at its place do */
	bool is_signalled = !is_only_timed(&f->of_place[w->user]);
	/* a server's main thread waits for its end, and looks whether a signal has come */
	const struct thread *t = profile_thread(f->p, w->thread);
	const bool is_servers = is_main(t) && g_hash_table_contains(f->serving, GUINT_TO_POINTER(t->pid));
	const double sleeps_per_s = is_servers ? TICKS_PER_S : SLEEPS_PER_S;

	if (looks_per_second(f, i) >= (is_signalled ? LOOKS_PER_S_EPOLL : sleeps_per_s))
		return IDLE_NOT;
	/* a thread that keeps scarce things for long ends some of its place's waits, too */
	if (all)
		return is_short(e) || is_short(&f->of_place[w->user]) || depth > facts->work_depth ? IDLE_NOT
		       : waits_for_its_threads(f, i)			   ? IDLE_JOIN
									   : IDLE_POOL;
	return depth < facts->busy_depth ? IDLE_POOL : IDLE_NOT;
}

/* Nobody connects to its process, and most of the time is in waits of such a length, beside short questions. */
static bool is_worker_at_rest(const struct finder *f, const struct wait *w)
{
	uint64_t long_ns = 0, long_cnt = 0;

	for (unsigned s = profile_hist_slot(WORK_NS); s < PROFILE_HIST_SLOTS; s++) {
		long_ns += w->hist[s] * (3ULL << s) / 2;
		long_cnt += w->hist[s];
	}
	if (long_cnt < RESTS_MIN || long_ns < w->blocked_ns / 4 * 3)
		return false;
	return !peers_serves(f->p, profile_thread(f->p, w->thread)->pid);
}

/* A command whose answer takes long waits for work (BRPOP). */
static bool is_for_work(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct ended *e = ended_sum(&f->ended[i]) ? &f->ended[i] : &f->of_object[w->object];

	return peer_is_memory_server(profile_upstream(f->p, w)) && e->cnt > e->timer_cnt &&
	       (e->upstream_ns / (e->cnt - e->timer_cnt) >= WORK_NS || is_worker_at_rest(f, w)) &&
	       !profile_find_limit(f->p, LIMIT_OWED, profile_thread(f->p, w->thread)->pid, 0);
}

/*
 * What serves this loop stalls now and then, and answers soon between. A server in memory must have been seen at work, or
 * it holds back what there is no work for.
 */
static bool is_held_up(const struct finder *f, uint32_t i, const struct ended *e)
{
	const struct wait *w = profile_wait(f->p, i);

	if (!peer_is_memory_server(profile_upstream(f->p, w)))
		return idle_has_stalls(f->p, w, false) &&
		       e->upstream_ns / MAX(e->upstream_cnt, 1) < w->max_ns / STANDS_OUT &&
		       peers_serves(f->p, profile_thread(f->p, w->thread)->pid);
	const uint32_t server = profile_wait_object(f->p, w)->pid;
	const enum server_does does = profile_server_does(f->p, server);
	struct server_held held;

	profile_server_held(f->p, server, &held);
	return (does == SERVER_WORKS || does == SERVER_WORKS_AT_TIMES) && idle_has_stalls(f->p, w, held.seen) &&
	       !idle_only_listens(f->p, w);
}

/*
 * Mostly waits for answers: it has nothing else to do, but is not idle.  A wait that is open at the end counts like
 * earlier ones.
 */
static bool is_answered(const struct finder *f, uint32_t i)
{
	uint32_t object = profile_wait(f->p, i)->object;
	const struct ended *e = object && !ended_sum(&f->ended[i]) ? &f->of_object[object] : &f->ended[i];
	uint32_t pid = profile_thread(f->p, profile_wait(f->p, i)->thread)->pid;

	return (e->upstream_ns > ended_sum(e) / ANSWERED_SHARE && !idle_only_listens(f->p, profile_wait(f->p, i))) ||
	       (e->upstream_ns > ended_sum(e) / OWED_SHARE &&
		(profile_find_limit(f->p, LIMIT_OWED, pid, 0) || is_held_up(f, i, e)));
}

/*
 * It watches pipes that another program writes to, as a server does that started a helper for a request. Of several
 * descriptors the pipe may be only the first.
 */
static bool is_for_output(const struct finder *f, uint32_t i)
{
	const struct object *o = profile_wait_object(f->p, profile_wait(f->p, i));
	const struct ended *e = &f->ended[i];
	const char *name = o && o->kind == OBJECT_EPOLL ? o->name + strspn(o->name, "0123456789 ") : "";
	bool is_poll = o && o->kind == OBJECT_POLL && g_str_has_prefix(o->name, "pipe and ");

	return (is_poll || g_str_has_prefix(name, "pipe (fd") || g_str_has_prefix(name, "pipes (fd")) &&
	       e->others_ns - MIN(e->tcp_ns, e->others_ns) > ended_sum(e) / 2;
}

/*
 * poll() and select() of a few descriptors that are ended by a reader: it waits for room, as rsync does for the helper
 * that transfers its data.  A server's set has many clients, of which one may be slow: of it only a connection that it
 * made itself counts, which is full as the window ends.
 */
static bool is_for_room(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct object *o = profile_wait_object(f->p, w);

	if (!o || o->kind != OBJECT_EPOLL)
		return o && (o->kind == OBJECT_SOCKET || o->kind == OBJECT_PIPE || o->kind == OBJECT_POLL) &&
		       f->ended[i].room_ns > ended_sum(&f->ended[i]) / 2;
	const struct ended *e = ended_sum(&f->ended[i]) ? &f->ended[i] : &f->of_object[w->object];

	return strcmp(o->operation, OBJECT_SENDS) == 0 &&
	       (e->room_ns > ended_sum(e) / 2 ||
		(w->flags & WAIT_OPEN_AT_END && w->max_ns >= f->p->info.duration_ns / 2));
}

/* Threads of its own process notify it by a pipe, as with an epoll set. */
static bool has_own_pipe(const struct finder *f, const struct wait *w)
{
	static const char from[] = "pipe from ";
	const struct object *o = profile_wait_object(f->p, w);
	const char *own = profile_thread(f->p, w->thread)->process;

	return o && g_str_has_prefix(o->name, from) && g_str_has_prefix(o->name + strlen(from), own);
}

/* It runs nothing but shared libraries, from its start on. */
static bool is_librarys_thread(const struct profile *p, const struct wait *w)
{
	uint32_t n = w->user;

	while (n && profile_get_frame(p, profile_get_node(p, n)->frame)->module &&
	       strstr(profile_get_frame(p, profile_get_node(p, n)->frame)->module, ".so"))
		n = profile_get_node(p, n)->parent;
	return w->user && !n && idle_knows_place(p, w);
}

static enum idle_kind loop(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct role_facts *facts = &f->facts[f->roles->of_thread[w->thread]];
	const struct object *o = profile_wait_object(f->p, w);
	/* a server of datagrams may have a clock of its own beside them */
	bool is_epoll = g_str_has_prefix(plumbing_syscall(f->pl, w), "epoll") || has_own_pipe(f, w) ||
			(o && object_serves_datagrams(o));

	if (is_for_room(f, i) || ended_is_udp_question(f, w))
		return IDLE_NOT;
	if (ended_is_for_next_request(f, i))
		return IDLE_CLIENT;
	/* the helper that it started for a request */
	if (is_for_output(f, i) && f->ended[i].begun_ns > ended_sum(&f->ended[i]) / 2)
		return IDLE_NOT;
	if (idle_knows_place(f->p, w) && f->depth[w->user] > facts->base_depth)
		return IDLE_NOT;
	if (is_answered(f, i) && !is_for_work(f, i))
		return IDLE_NOT;
	/* a library's loop wakes for the program's timers and does not poll; its own thread's is not the program's either */
	bool is_of_library = (f->rule[i] && f->rule[i]->protocol) || is_librarys_thread(f->p, w);

	/* polling a single client or peer has a time limit per answer */
	if (!is_of_library && (is_epoll ? looks_per_second(f, i) >= LOOKS_PER_S_EPOLL
					: is_timed(f, i) && per_second(f, w) >= LOOKS_PER_S_POLL))
		return IDLE_NOT;
	return IDLE_LOOP;
}

/* Between two requests of its client, if that is the thread's outermost place. */
static enum idle_kind served(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct role_facts *facts = &f->facts[f->roles->of_thread[w->thread]];

	if (!ended_is_served(f, i))
		return IDLE_NOT;
	/* an incomplete stack does not show where the thread waits */
	if (!idle_knows_place(f->p, w))
		return profile_find_limit(f->p, LIMIT_BACKLOG, profile_thread(f->p, w->thread)->pid, 0) ? IDLE_NOT
													 : IDLE_CLIENT;
	if (f->depth[w->user] > facts->work_depth)
		return IDLE_NOT;
	/* a stack without functions of the program cannot be compared */
	return facts->base_depth && f->depth[w->user] > facts->base_depth ? IDLE_NOT : IDLE_CLIENT;
}

/* A program that a recorded command starts is part of its work; the command itself may be a server. */
static bool is_child_of_command(const struct finder *f, const struct thread *t)
{
	return f->is_command && t->start_ns > f->first_start_ns;
}

/*
 * A thread that is created for a task and ends with it does no housekeeping; neither does a process that another waits
 * for.
 */
static bool is_for_one_task(const struct finder *f, const struct thread *t)
{
	return (!is_main(t) || g_hash_table_contains(f->waited_for, GUINT_TO_POINTER(t->pid)) ||
		is_child_of_command(f, t)) &&
	       (t->flags & THREAD_EXITED) && !(t->flags & THREAD_OPEN_AT_START);
}

/* What it tries each time fails, and goes on failing until somebody does something. */
static bool is_refused(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct thread *t = profile_thread(f->p, w->thread);
	struct limit_fails fails;

	return limit_fails_read(profile_find_limit(f->p, LIMIT_FAILS, t->pid, t->tid), &fails) &&
	       limit_fails_is_hard(&fails) && limit_fails_is_as_often(&fails, per_second(f, w));
}

/* A pause before it retries what failed is not idle, unless it has time. */
static bool is_retry(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct thread *t = profile_thread(f->p, w->thread);
	bool is_known = f->rule[i] && g_str_has_prefix(f->rule[i]->name, RULES_RETRY);
	uint64_t failed_cnt = profile_failed_connects(f->p, t->pid, is_known ? 0 : t->tid);

	if (is_refused(f, i))
		return true;
	/* it cannot get more processes or descriptors */
	if (is_main(t) &&
	    (profile_find_limit(f->p, LIMIT_TASKS, t->pid, 0) || profile_find_limit(f->p, LIMIT_FILES, t->pid, 0)))
		return per_second(f, w) >= RETRIES_PER_S;
	return per_second(f, w) >= RETRIES_PER_S && failed_cnt >= (is_known ? 1 : MAX(w->count / 2, 1));
}

/*
 * Growing pauses, each twice as long as the previous: a back-off. Periods are constant, and random pauses cluster
 * around a mean.
 */
static bool grows(const struct wait *w)
{
	unsigned at = 0, slots = 0;

	while (at < PROFILE_HIST_SLOTS && !w->hist[at])
		at++;
	for (unsigned s = at; s < PROFILE_HIST_SLOTS && w->hist[s] && (s == at || w->hist[s] <= w->hist[s - 1]); s++)
		slots++;
	return slots >= GROWING_SLOTS;
}

/*
 * A duty of housekeeping has one thread.  Several of one kind pause in their work, or look whether something has come,
 * if they sleep in what their loop calls, in a process that serves nobody, or if they are many and sleep often.
 */
static bool is_of_workers(const struct finder *f, const struct wait *w)
{
	const struct thread *t = profile_thread(f->p, w->thread);
	const guint cnt = g_array_index(f->roles->rows, struct role, f->roles->of_thread[w->thread]).threads_cnt;

	if (is_main(t) || cnt < 2)
		return false;
	return (f->depth[w->user] > 1 && !g_hash_table_contains(f->serving, GUINT_TO_POINTER(t->pid))) ||
	       (cnt >= CREW_THREADS && per_second(f, w) >= LOOKS_PER_S_POLL);
}

static enum idle_kind timer(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct role_facts *facts = &f->facts[f->roles->of_thread[w->thread]];

	if (rule_is_shell_sleep(f->rule[i]))
		return per_second(f, w) < LOOKS_PER_S_POLL ? IDLE_TIMER : IDLE_NOT;
	if (f->ranks && is_main(profile_thread(f->p, w->thread)) &&
	    strcmp(profile_thread(f->p, w->thread)->process, f->ranks) == 0)
		return IDLE_NOT;
	if (facts->parks || !idle_knows_place(f->p, w) || is_for_one_task(f, profile_thread(f->p, w->thread)) ||
	    is_retry(f, i))
		return IDLE_NOT;
	/* it sleeps all the time, in a deeper call */
	if (!is_main(profile_thread(f->p, w->thread)) && w->count == 1 && wait_is_all_along(w) &&
	    f->depth[w->user] <= SLEEP_DEPTH + 2)
		return IDLE_TIMER;
	if (f->depth[w->user] > MIN(facts->base_depth, SLEEP_DEPTH) || f->depth[w->user] >= facts->work_depth ||
	    is_of_workers(f, w))
		return IDLE_NOT;
	/* a worker that asks for its work and pauses in between */
	if (facts->questions >= w->count / 2 && facts->questions && (per_second(f, w) >= LOOKS_PER_S_POLL || grows(w)))
		return IDLE_NOT;
	return per_second(f, w) < TICKS_PER_S && is_own_sleep(f, w) ? IDLE_TIMER : IDLE_NOT;
}

/* What the process's child, which is not recorded, waits for is no work that may come: it is stuck there. */
static bool is_child_stuck(const struct profile *p, uint32_t pid)
{
	char there[1];
	struct limit_child c;

	return limit_child_read(profile_find_limit(p, LIMIT_CHILD, pid, 0), &c, there, sizeof(there)) &&
	       (c.does == CHILD_FILE_LOCK || c.does == CHILD_STOPPED || limit_child_is_unanswered(p, &c));
}

/*
 * It waits for any child during the whole window, and several processes of one kind are in the recording: a master of
 * workers, whose time counts as theirs.
 */
static bool is_master(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct object *o = profile_wait_object(f->p, w);

	if (f->reason[i] != REASON_CHILD_EXIT || !o || o->kind != OBJECT_CHILD || o->pid || !wait_is_all_along(w))
		return false;
	return f->has_several && !is_child_stuck(f->p, profile_thread(f->p, w->thread)->pid);
}

/* It waits for an answer while connections to its process wait to be accepted. */
static bool keeps_others_waiting(const struct finder *f, uint32_t i)
{
	uint32_t pid = profile_thread(f->p, profile_wait(f->p, i)->thread)->pid;

	return f->reason[i] == REASON_NETWORK_RECEIVE && !ended_is_served(f, i) &&
	       (profile_find_limit(f->p, LIMIT_BACKLOG, pid, 0) || profile_find_limit(f->p, LIMIT_CYCLE, pid, 0));
}

/* In a recording of the whole machine: slept all the time, or was already waiting for a child at the start. */
static enum idle_kind at_rest(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct thread *t = profile_thread(f->p, w->thread);

	if (is_master(f, i))
		return IDLE_MACHINE;
	/* what a rule excludes (a database's row lock) is never idle, however long it takes */
	if (!f->is_whole || (f->rule[i] && f->rule[i]->idle == RULE_IDLE_NO) || keeps_others_waiting(f, i))
		return IDLE_NOT;
	switch ((enum reason)f->reason[i]) {
	case REASON_CHILD_EXIT:
		return (t->flags & THREAD_OPEN_AT_START) && t->on_cpu_ns < thread_observed_ns(t) / 100 ? IDLE_MACHINE
												       : IDLE_NOT;
	case REASON_NETWORK_RECEIVE:
	case REASON_PIPE:
	case REASON_TERMINAL:
	case REASON_EVENT_LOOP:
	case REASON_LOCK_CONDITION:
	case REASON_LOCK_SEMAPHORE:
	case REASON_LOCK_OTHER:
	case REASON_SLEEP:
	case REASON_DEVICE:
	case REASON_STOPPED: return wait_is_all_along(w) ? IDLE_MACHINE : IDLE_NOT;
	default: return IDLE_NOT;
	}
}

static enum idle_kind by_rule(const struct finder *f, uint32_t i)
{
	switch ((enum reason)f->reason[i]) {
	case REASON_NETWORK_RECEIVE: return IDLE_CLIENT;
	case REASON_NETWORK_ACCEPT:
	case REASON_EVENT_LOOP: return IDLE_LOOP;
	case REASON_SLEEP: return IDLE_TIMER;
	default: return IDLE_POOL;
	}
}

static enum idle_kind by_evidence(const struct finder *f, uint32_t i)
{
	const struct rule *rule = f->rule[i];

	switch ((enum reason)f->reason[i]) {
	case REASON_NETWORK_ACCEPT: return IDLE_LOOP;
	case REASON_POOL_IDLE: return IDLE_POOL;
	case REASON_EVENT_LOOP: return loop(f, i);
	case REASON_LOCK_CONDITION:
	case REASON_LOCK_SEMAPHORE:
	case REASON_LOCK_OTHER: return parked(f, i);
	case REASON_SLEEP: return timer(f, i);
	case REASON_NETWORK_RECEIVE: return served(f, i);
	case REASON_CHILD_EXIT:
		return rule && g_str_has_prefix(rule->name, "join") &&
				       is_main(profile_thread(f->p, profile_wait(f->p, i)->thread))
			       ? IDLE_JOIN
			       : IDLE_NOT;
	default: return IDLE_NOT;
	}
}

static enum idle_kind decide(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct rule *rule = f->rule[i];
	enum idle_kind kind = IDLE_NOT;

	/* If requests were recorded, the sender waits for whatever this thread waits for. */
	if (w->state == 'R' || f->p->info.has_requests)
		return IDLE_NOT;
	if (profile_thread(f->p, w->thread)->flags & THREAD_KERNEL)
		return IDLE_KERNEL;
	if (f->reason[i] == REASON_EVENT_LOOP && profile_silent_peer(f->p, w))
		return IDLE_NOT;
	if (is_for_stopped(f, i))
		return IDLE_NOT;
	if (rule && rule->idle == RULE_IDLE_YES)
		return by_rule(f, i);
	if (!rule || rule->idle == RULE_IDLE_UNSAID)
		kind = by_evidence(f, i);
	return kind ? kind : at_rest(f, i);
}

/* It listens for notifications; a wait that is open at the end counts like others at its place. */
static bool is_listener(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct ended *e = ended_sum(&f->ended[i]) ? &f->ended[i] : &f->of_place[w->user];

	return f->reason[i] == REASON_NETWORK_RECEIVE && w->user && e->notice_ns > ended_sum(e) / 2;
}

static void find_listeners(struct finder *f)
{
	for (uint32_t i = 0; i < f->p->waits->len; i++)
		if (is_listener(f, i))
			f->idle[i] = IDLE_POOL;
}

static enum reason reason_of_loop(const struct finder *f, uint32_t i)
{
	const struct wait *w = profile_wait(f->p, i);
	const struct object *o = profile_wait_object(f->p, w);

	if (is_for_room(f, i))
		return o->kind == OBJECT_PIPE ? REASON_PIPE : REASON_NETWORK_SEND;
	if (is_answered(f, i) || profile_silent_peer(f->p, w) || is_for_stopped(f, i) || ended_is_udp_question(f, w))
		return REASON_NETWORK_RECEIVE;
	return is_for_output(f, i) ? REASON_PIPE : REASON_EVENT_LOOP;
}

void idle_find(const struct profile *p, struct plumbing *pl, const struct rule *const *rule,
	       const struct rule *const *loop, uint8_t *reason, uint8_t *ret_idle, bool *ret_kept)
{
	struct finder f = {
		.p = p,
		.pl = pl,
		.rule = rule,
		.reason = reason,
		.idle = ret_idle,
		.roles = roles_new(p, pl),
		.waited_for = idle_waited_for_new(p, reason),
		.serving = idle_serving_new(p, reason),
		.has_several = idle_has_several(p),
		.ranks = idle_ranks_of(p),
		.is_whole = profile_is_of_machine(p),
		.is_command = profile_is_of_command(p),
		.first_start_ns = idle_first_start_ns(p),
	};

	f.facts = g_new0(struct role_facts, (gsize)f.roles->rows->len + 1);
	f.depth = ended_depths_new(p, pl);
	f.ended = g_new0(struct ended, (gsize)p->waits->len + 1);
	f.of_object = g_new0(struct ended, (gsize)p->objects->len + 1);
	f.of_place = g_new0(struct ended, (gsize)p->nodes->len + 1);
	ended_find(&f);
	find_facts(&f);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		if (profile_wait(p, i)->state == ON_CPU_STATE)
			continue;
		ret_idle[i] = (uint8_t)decide(&f, i);
		if (ret_idle[i] == IDLE_NOT && reason[i] == REASON_EVENT_LOOP)
			reason[i] = (uint8_t)reason_of_loop(&f, i);
		/* it waits for its children, whose time counts as theirs */
		if (ret_idle[i] == IDLE_LOOP && f.ended[i].children_ns > ended_sum(&f.ended[i]) / 2)
			ret_idle[i] = IDLE_JOIN;
	}
	find_listeners(&f);
	looks_find(p, pl, reason, ret_idle);
	torn_find(p, &(struct torn_input){ f.roles, rule, reason }, ret_idle);
	withheld_find(p, &(struct withheld_input){ pl, rule, reason }, ret_idle);
	const struct starved_input found = { f.roles, f.depth, rule, reason };
	starved_find(p, &found, ret_idle);
	taken_find(p, reason, ret_idle);
	fed_find(p, reason, ret_idle);
	relays_find(p, rule, reason, ret_idle);
	timeouts_find(p, &(struct timeouts_input){ pl, f.depth, rule, reason }, ret_idle);
	turns_find(p, rule, reason, ret_idle, ret_kept);
	receivers_find(p, &found, ret_idle);
	bystanders_find(p, rule, reason, ret_idle);
	unlooked_find(p, &(struct torn_input){ f.roles, rule, reason }, ret_idle);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		if (loop[i] || (ret_idle[i] && is_for_stopped(&f, i)))
			ret_idle[i] = IDLE_NOT;
		if (ret_idle[i] == IDLE_POOL && reason_is_signalled((enum reason)reason[i]))
			reason[i] = REASON_POOL_IDLE;
	}
	g_hash_table_unref(f.waits_for);
	g_hash_table_unref(f.waited_for);
	g_hash_table_unref(f.serving);
	g_free(f.facts);
	g_free(f.depth);
	g_free(f.ended);
	g_free(f.of_object);
	g_free(f.of_place);
	roles_free(f.roles);
}
