/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/actors.h"
#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "analyse/reason/idle.h"
#include "analyse/reason/timeouts.h"
#include "base/module.h"
#include "explain/sentence.h"
#include "features/wakers/analysis.h"
#include "profile/limits.h"

/*
 * By the waker's kernel stack: a timer's signal interrupts the wait. setitimer(), alarm(): kernel/time/itimer.c;
 * timer_create(): kernel/time/posix-timers.c, whose name changed in 6.12
 */
static bool ended_by_timer_signal(const struct profile *p, const struct waker *w)
{
	static const char *const of_signals[] = { "it_real_fn", "posix_timer_fn", "posix_timer_event",
						  "posixtimer_send_sigqueue", NULL };

	return waker_is_timer(w) && profile_stack_names(p, w->kernel, of_signals);
}

/*
 * By a thread of its own process that a library uses for time limits, like Ruby's Timeout.timeout(): equivalent to a
 * timer.
 */
static bool ended_by_own_limit(const struct profile *p, const struct wake *wake)
{
	const struct waker *w = profile_get_waker(p, wake->waker);

	if (w->irq || w->pid != profile_thread(p, profile_wait(p, wake->wait)->thread)->pid)
		return false;
	for (uint32_t n = w->user; n; n = profile_get_node(p, n)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, n)->frame);

		if ((f->file && g_str_has_suffix(f->file, "/timeout.rb")) || (f->module && g_str_has_suffix(f->module, "/timeout.rb")))
			return true;
	}
	return false;
}

/* fork() copied the address space: dup_mmap() takes its lock; compilers may inline it. */
static bool ended_by_fork(const struct profile *p, const struct waker *w)
{
	static const char *const of_fork[] = { "dup_mmap", "dup_mm", "copy_process", NULL };

	return profile_stack_names(p, w->kernel, of_fork);
}

/* A PostgreSQL session that releases its locks after a failed statement: src/backend/tcop/postgres.c. */
static bool ended_by_abort(const struct profile *p, const struct waker *w)
{
	static const char *const of_aborts[] = { "AbortCurrentTransaction", NULL };

	return profile_stack_names(p, w->user, of_aborts);
}

#define POLLS_PER_S 20 /* per thread, ended by a timer: a poll loop */
#define POLLS_PER_S_SIGNALLED 4 /* the same for what could be signalled */
#define ABORTS_MIN 2 /* waits ended by a timer's signal */
#define BROADCAST_THREADS 8
#define BROADCASTS_PER_S 10	/* per thread */
#define CALL_PART 10 /* of its time: maximum outside of the reported system call */
#define CANDIDATES_MAX 256 /* names, and as many of the others */

/* A candidate by name: threads of one name in one process name, or an interrupt. */
struct candidate {
	const char *comm;
	const char *program; /* as in findings; NULL: unknown */
	uint32_t pid, tid, threads_cnt;
	uint64_t blocked_ns, most_ns;
	uint64_t weight; /* for comparing candidates; usually blocked_ns */
	int64_t frame;
	const char *place; /* for a GIL's holder; interned */
	const char *call; /* system call that releases a kernel lock, */
	uint64_t call_ns; /* and its part of the time */
	bool is_kind; /* threads of several names */
	bool is_child, is_holder; /* known only at the end: the child that is waited for, the monitor's owner */
};

static void add_to(struct candidate *c, const struct candidate *one)
{
	if (c->tid != one->tid)
		c->threads_cnt++; /* lower bound: the same thread may come again */
	c->blocked_ns += one->blocked_ns;
	c->weight += one->weight;
	c->call_ns += one->call == c->call ? one->blocked_ns : 0;
	if (one->blocked_ns > c->most_ns) {
		c->most_ns = one->blocked_ns;
		c->tid = one->tid;
		c->frame = one->frame;
		c->place = one->place;
	}
}

/* A thread for each task, with a number in its name, in that process; NULL: none. */
static struct candidate *of_kind(GArray *all, const struct candidate *one)
{
	EACH_ROW(i, struct candidate, c, all)
		if (c->pid == one->pid && actors_same_kind(c->comm, one->comm))
			return c;
	return NULL;
}

/*
 * by_function: distinguish threads of one name by function.  Where it is known of a GIL's holder, the threads of a pool
 * are one.
 */
static void count(const struct profile *p, GArray *all, const struct candidate *one, bool by_function)
{
	EACH_ROW(i, struct candidate, c, all) {
		bool is_of_kind = c->comm == one->comm || (one->place && actors_same_kind(c->comm, one->comm));

		if (!is_of_kind || c->pid != one->pid ||
		    (by_function &&
		     (!cause_same_function(p, c->frame, one->frame) || !gil_same_place(c->place, one->place))))
			continue;
		add_to(c, one);
		c->is_kind |= c->comm != one->comm;
		return;
	}
	struct candidate *kind = all->len >= CANDIDATES_MAX && one->pid ? of_kind(all, one) : NULL;

	if (kind) {
		add_to(kind, one);
		kind->is_kind = true;
	} else if (all->len >= CANDIDATES_MAX && one->pid) {
		struct candidate rest = *one;

		rest.pid = rest.tid = 0; /* the rest of the processes of that name */
		rest.threads_cnt = 2;
		count(p, all, &rest, by_function);
	} else if (all->len < 2 * CANDIDATES_MAX) {
		g_array_append_val(all, *one);
	}
}

/* Name of another process, which is not recorded but ends waits here.  NULL: unknown. */
static const struct waker *waker_of(const struct profile *p, uint32_t tid)
{
	EACH_ROW(i, const struct waker, w, p->wakers)
		if (!w->irq && w->tid == tid)
			return w;
	return NULL;
}

/* Those who held the lock of a wait as it began. */
static void count_holder(const struct cause_finder *c, GArray *all, uint32_t i)
{
	const struct wait *w = profile_wait(c->f->profile, i);
	const struct object *o = profile_wait_object(c->f->profile, w);
	uint32_t pid = profile_thread(c->f->profile, w->thread)->pid;

	if (!o || !o->holder_tid)
		return;
	/*
	 * who is where a lock is private, or has a word in the process's memory, is one of its threads, or of one
	 * that shares it
	 */
	bool is_shared = lock_is_held(o) && !o->is_private && !object_is_gil(o) && o->kind != OBJECT_KERNEL_LOCK;
	uint32_t t = cause_thread(c->f->profile, o->kind == OBJECT_KERNEL_LOCK ? 0 : pid, o->holder_tid);
	t = t == CAUSE_NONE && is_shared ? cause_thread(c->f->profile, 0, o->holder_tid) : t;
	const struct waker *other = t == CAUSE_NONE && is_shared ? waker_of(c->f->profile, o->holder_tid) : NULL;
	if (t == CAUSE_NONE && !other)
		return;
	struct candidate one = {
		.comm = other ? other->comm : profile_thread(c->f->profile, t)->comm,
		.pid = other ? other->pid : profile_thread(c->f->profile, t)->pid,
		.tid = o->holder_tid,
		.threads_cnt = 1,
		.blocked_ns = w->blocked_ns,
		.most_ns = w->blocked_ns,
		.weight = w->blocked_ns,
		.frame = -1,
		.place = object_is_gil(o) && *o->place ? gil_place(c->places, o->place) : NULL,
	};
	count(c->f->profile, all, &one, object_is_gil(o));
}

/* Whether the thread releases the GIL voluntarily, for a blocking call. */
static bool gives_gil_away(const struct profile *p, uint32_t node)
{
	static const char *const functions[] = { "PyEval_SaveThread", "PyEval_ReleaseThread", "_PyThreadState_Detach",
						 "PyThreadState_Swap", NULL };

	return profile_stack_names(p, node, functions);
}

/*
 * A thread waiting for the GIL checks every 5 ms (sys.getswitchinterval()) whether it changed hands, so a timer ends
 * most pieces of the wait.  Then it asks the holder, which releases the GIL at its next instruction: such a release
 * stands for one more interval. All threads of an interpreter may have the same name, so they are distinguished by
 * function.
 */
#define GIL_INTERVAL_NS 5000000

/* The thread behind a waking; for a packet that an interrupt delivered, the sender. */
static uint32_t thread_behind(const struct cause_finder *c, const struct wake *wake)
{
	uint32_t far = far_ends_behind(c->far_ends, wake->wait, wake->waker);

	return far != CAUSE_NONE ? far : c->threads_of_wakers[wake->waker];
}

/* Through a socket it was the other end; where it sent was not seen. */
static void count_far_end(const struct cause_finder *c, GArray *all, const struct wake *wake, uint32_t thread)
{
	const struct thread *t = profile_thread(c->f->profile, thread);
	const struct candidate one = {
		.comm = t->comm, .program = c->f->programs[thread], .pid = t->pid, .tid = t->tid, .threads_cnt = 1,
		.blocked_ns = wake->blocked_ns, .most_ns = wake->blocked_ns, .weight = wake->blocked_ns, .frame = -1,
	};

	count(c->f->profile, all, &one, false);
}

static void count_waker(const struct cause_finder *c, GArray *all, const struct wake *wake, bool is_gil,
			const double *factors)
{
	struct plumbing *pl = reasons_plumbing(c->f->reasons);
	const struct waker *w = profile_get_waker(c->f->profile, wake->waker);
	uint64_t blocked_ns = factors ? (uint64_t)((double)wake->blocked_ns * factors[wake->waker]) : wake->blocked_ns;
	uint32_t thread = c->threads_of_wakers[wake->waker];
	struct candidate one = {
		.comm = w->irq ? w->irq : w->comm,
		.program = thread != CAUSE_NONE ? c->f->programs[thread] : NULL,
		.pid = w->pid,
		.tid = w->tid,
		.threads_cnt = 1,
		.blocked_ns = blocked_ns,
		.most_ns = blocked_ns,
		.weight = blocked_ns,
		.frame = w->user ? plumbing_user_parent(pl, w->user) : -1,
		.call = w->irq ? NULL : plumbing_entry(pl, w->kernel),
		.call_ns = blocked_ns,
	};

	if (is_gil && w->irq)
		return;
	if (is_gil && w->user && !gives_gil_away(c->f->profile, w->user))
		one.weight += wake->count * GIL_INTERVAL_NS;
	count(c->f->profile, all, &one, is_gil || factors);
}

/*
 * The JVM's thread for its operations ends all waits for these, also if a waiting thread passes on a heap lock.
 * CAUSE_NONE: not such a wait.
 */
static uint32_t vm_thread(const struct cause_finder *c, const struct finding *row)
{
	const struct profile *p = c->f->profile;

	for (uint32_t i = 0; reasons_is_anywhere(c->f->reasons, row->wait) && i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == finding_pid(c->f, row) && strcmp(profile_thread(p, i)->comm, "VM Thread") == 0)
			return i;
	return CAUSE_NONE;
}

/* The holder as a waker, which has its place of release; NULL: it never released. */
static const struct candidate *as_waker(const GArray *wakers, const struct candidate *holder)
{
	const struct candidate *best = NULL;

	EACH_ROW(i, const struct candidate, c, wakers) {
		if (c->comm != holder->comm || c->pid != holder->pid)
			continue;
		/* threads of one name may be distinguished by function: prefer its own, if known */
		bool is_own = c->tid == holder->tid, best_is_own = best && best->tid == holder->tid;
		if (!best || (is_own == best_is_own ? c->weight > best->weight : is_own))
			best = c;
	}
	return best;
}

static const struct candidate *most(const GArray *all)
{
	const struct candidate *best = NULL;

	EACH_ROW(i, const struct candidate, c, all)
		if (!best || c->weight > best->weight)
			best = c;
	return best;
}

/*
 * Short-lived processes of one program that hold a kernel lock in turns, like a script that reads files of /proc:
 * counted together.  NULL: others have more.
 */
static const struct candidate *most_of_program(const struct finding *row, const GArray *wakers)
{
	const struct candidate *best = row->reason == REASON_LOCK_KERNEL ? most(wakers) : NULL, *of_program = NULL;
	uint64_t most_ns = 0;

	for (guint i = 0; best && i < wakers->len; i++) {
		const struct candidate *c = &g_array_index(wakers, struct candidate, i);
		uint64_t sum_ns = 0;

		if (c->comm == best->comm || !c->pid || (of_program && c->comm == of_program->comm))
			continue;
		for (guint k = 0; k < wakers->len; k++)
			sum_ns += g_array_index(wakers, struct candidate, k).comm == c->comm
					  ? g_array_index(wakers, struct candidate, k).blocked_ns
					  : 0;
		if (sum_ns > MAX(most_ns, best->blocked_ns)) {
			most_ns = sum_ns;
			of_program = c;
		}
	}
	return of_program;
}

/*
 * The holder.  For kernel locks and rwlocks it is known only without readers; of readers at most the last to begin,
 * which may have ended.  So it must be known for most of the time, and release the lock sometimes: otherwise releasers
 * say more.
 */
static const struct candidate *most_held(const struct findings *f, const struct finding *row, const GArray *holders,
					 const GArray *wakers)
{
	const struct object *o = finding_object(f, row);
	const struct candidate *best = most(holders);
	uint64_t known_ns = 0;

	if (!o || (o->kind != OBJECT_KERNEL_LOCK && o->kind != LOCK_RWLOCK) || !wakers->len)
		return best;
	for (guint i = 0; i < holders->len; i++)
		known_ns += g_array_index(holders, struct candidate, i).blocked_ns;
	return best && known_ns >= row->time_ns / 2 && as_waker(wakers, best) ? best : NULL;
}

/* If each thread has a number in its name, all of the kind are counted together. */
static void count_kind(const GArray *wakers, struct finding_by *by)
{
	uint64_t blocked_ns = 0;

	for (guint i = 0; by->tid && i < wakers->len; i++) {
		const struct candidate *c = &g_array_index(wakers, struct candidate, i);

		blocked_ns += c->tid && c->pid == by->pid && actors_same_kind(c->comm, by->comm) ? c->blocked_ns : 0;
	}
	if (!by->is_kind && by->blocked_ns >= blocked_ns / 2)
		return;
	by->is_kind = true;
	by->blocked_ns = blocked_ns;
	by->threads_cnt = MAX(by->threads_cnt, 2);
}

/* Processes of one name or kind, such as short-lived children or a server's backends, are counted together. */
static void count_program(const GArray *wakers, const struct candidate *best, struct finding_by *by)
{
	uint64_t blocked_ns = 0;
	bool is_kind = false;

	EACH_ROW(i, const struct candidate, c, wakers) {
		bool is_other = c->pid != best->pid && c->pid && best->pid && c->comm != best->comm && c->program &&
				c->program == best->program && actors_same_kind(c->comm, best->comm);

		is_kind = is_kind || is_other;
		blocked_ns += c->comm == by->comm || is_other ? c->blocked_ns : 0;
	}
	if (by->blocked_ns >= blocked_ns / 2 && (by->pid || by->threads_cnt == 1))
		return;
	by->is_program = true;
	by->comm = is_kind ? best->program : by->comm;
	by->blocked_ns = blocked_ns;
}

static bool is_signalled(enum reason reason)
{
	return reason == REASON_LOCK_CONDITION || reason == REASON_LOCK_SEMAPHORE;
}

static unsigned polls_per_s(enum reason reason)
{
	return is_signalled(reason) ? POLLS_PER_S_SIGNALLED : POLLS_PER_S;
}

/* Wakings that end a finding's waits. */
struct wakings {
	uint64_t woken_ns, timer_ns, peers_ns, fork_ns, broadcast_ns, broadcast_cnt, aborts_ns, signals_ns;
	uint64_t asks_ns, asked_ns;	/* by askers, and by other threads: see askers_new() */
};

bool *finding_waiters_new(const struct findings *f, const struct finding *row)
{
	bool *waits = g_new0(bool, (gsize)f->profile->threads->len + 1);

	for (uint32_t i = 0; i < f->profile->waits->len; i++)
		if (f->blocked_in[i] == row->id)
			waits[profile_wait(f->profile, i)->thread] = true;
	return waits;
}

/*
 * A loop that waits for an answer is woken by the next requests of its clients, too: those say nothing about who answers.
 * Nor does who polls for all threads of gRPC and hands that on, or its timer, which looks for signals.  NULL: there are
 * none, or nobody answers.
 */
static bool *askers_new(const struct cause_finder *c, const struct finding *row)
{
	const struct profile *p = c->f->profile;
	const struct object *o = finding_object(c->f, row);
	const bool is_shared = finding_is_by(c->f, row, "grpc-*");
	bool has_answers = false;

	if ((!o || o->kind != OBJECT_EPOLL || row->reason != REASON_NETWORK_RECEIVE) && !is_shared)
		return NULL;
	bool *asks = g_new0(bool, (gsize)p->wakes->len + 1);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (c->f->blocked_in[wake->wait] != row->id)
			continue;
		const bool answers = idle_is_asked(p, profile_wait(p, wake->wait), by);

		asks[i] = !answers && (by->pid || is_shared);
		has_answers |= answers;
	}
	if (!has_answers)
		g_clear_pointer(&asks, g_free);
	return asks;
}

static struct wakings count_wakings(const struct cause_finder *c, struct finding *row, GArray *wakers,
				    bool *is_holder)
{
	const struct profile *p = c->f->profile;
	bool is_gil = row->reason == REASON_LOCK_GIL;
	g_autofree double *factors = reason_family(row->reason) == FAMILY_LOCK && !is_gil ?
					     held_factors_new(c->f, row, c->threads_of_wakers) : NULL;
	g_autofree bool *waits_too = finding_waiters_new(c->f, row), *asks = askers_new(c, row);
	const bool has_bringers = cause_is_brought(c, row, waits_too);
	const uint32_t vm = vm_thread(c, row);
	struct wakings sum = { 0 };

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *w = profile_get_waker(p, wake->waker);

		if (c->f->blocked_in[wake->wait] != row->id ||
		    (has_bringers && c->threads_of_wakers[wake->waker] != CAUSE_NONE &&
		     waits_too[c->threads_of_wakers[wake->waker]] && cause_is_passed_on(c, wake)))
			continue;
		uint32_t thread = vm != CAUSE_NONE && !w->irq ? vm : thread_behind(c, wake);
		const bool is_limit = row->reason == REASON_NETWORK_RECEIVE && ended_by_own_limit(p, wake);
		const bool is_asker = asks && asks[i];

		if (thread != c->threads_of_wakers[wake->waker])
			count_far_end(c, wakers, wake, thread);
		else if (!is_limit && !is_asker)
			count_waker(c, wakers, wake, is_gil, factors);
		*(is_asker ? &sum.asks_ns : &sum.asked_ns) += is_asker || w->pid ? wake->blocked_ns : 0;
		sum.woken_ns += wake->blocked_ns;
		row->woken_cnt += wake->count;
		if (waker_is_broadcast(p, w)) {
			sum.broadcast_ns += wake->blocked_ns;
			sum.broadcast_cnt += wake->count;
		}
		sum.aborts_ns += ended_by_abort(p, w) ? wake->blocked_ns : 0;
		if (ended_by_timer_signal(p, w)) {
			sum.signals_ns += wake->blocked_ns;
			row->signalled_cnt += wake->count;
		} else if (is_limit || waker_is_timer(w)) {
			sum.timer_ns += wake->blocked_ns;
			row->timed_out_cnt += wake->count;
		}
		if (row->reason == REASON_LOCK_KERNEL && ended_by_fork(p, w))
			sum.fork_ns += wake->blocked_ns;
		if (thread == CAUSE_NONE || is_asker)
			continue;
		is_holder[thread] = true;
		sum.peers_ns += waits_too[thread] ? wake->blocked_ns : 0;
	}
	/* the answer was waited for also until a request came */
	const double more = sum.asks_ns ? (double)sum.asks_ns / (double)sum.asked_ns : 0;

	EACH_ROW(i, struct candidate, one, wakers)
		one->blocked_ns += (uint64_t)((double)one->blocked_ns * more);
	return sum;
}

static void judge_wakings(const struct profile *p, struct finding *row, const struct wakings *sum)
{
	uint64_t seconds = thread_observed_ns(profile_thread(p, profile_wait(p, row->wait)->thread)) / 1000000000;

	row->is_poll_loop = row->reason != REASON_LOCK_GIL && sum->timer_ns > sum->woken_ns / 2 &&
			    row->timed_out_cnt > polls_per_s(row->reason) * row->threads_cnt * MAX(seconds, 1);
	row->is_own_limit = row->is_poll_loop && is_signalled(row->reason) && profile_is_of_machine(p) &&
			    row->timed_out_cnt > row->woken_cnt / 10 * 9;
	row->is_aborted = row->signalled_cnt >= ABORTS_MIN && sum->aborts_ns > (sum->woken_ns - sum->signals_ns) / 2;
	row->is_fork = sum->fork_ns > sum->woken_ns / 2;
	row->by.is_peer = sum->peers_ns > sum->woken_ns / 2;
	row->tells_all = !finding_has_own_locks(row) && sum->broadcast_ns > sum->woken_ns / 2;
	/* once per thread is how a program ends its threads, and rarely how an answer is broadcast */
	row->is_broadcast = row->tells_all && row->threads_cnt >= BROADCAST_THREADS &&
			    sum->broadcast_cnt >= BROADCASTS_PER_S * MAX(seconds, 1) * row->threads_cnt;
}

/* Whether it waits for something exclusive that somebody holds and releases.  RCU has no holder. */
static bool is_exclusive(const struct findings *f, const struct finding *row)
{
	if (row->reason == REASON_LOCK_CONDITION)	/* a barrier's word may be a mutex */
		return false;
	if (row->object && lock_is_held(profile_get_object(f->profile, row->object - 1)))
		return true;
	return row->reason == REASON_LOCK_MUTEX || row->reason == REASON_LOCK_RWLOCK ||
	       (row->reason == REASON_LOCK_KERNEL && finding_rule(f, row) && !finding_is_by(f, row, "rcu"));
}

bool finding_is_held(const struct findings *f, const struct finding *row)
{
	if (!is_exclusive(f, row) || (!row->by.pid && !row->by.is_program && !row->by.is_holder))
		return false;
	if (!row->object || !object_is_lock(profile_get_object(f->profile, row->object - 1)))
		return true;
	/* a waker outside of a private lock's process ends the wait by a signal */
	return row->by.is_holder || !row->pid || !row->by.pid || row->by.pid == row->pid ||
	       !profile_get_object(f->profile, row->object - 1)->is_private;
}

/* The next thread in the ring has the lock and waits for its own. */
static void find_by_of_deadlock(const struct cause_finder *c, struct finding *row)
{
	const struct wait *w = profile_wait(c->f->profile, row->deadlock_next - 1);
	const struct thread *t = profile_thread(c->f->profile, w->thread);

	row->frame = finding_frame(c->f, row->deadlock - 1);	/* both sides of the ring, not the longer one twice */
	row->by = (struct finding_by){
		.comm = t->comm,
		.pid = t->pid,
		.tid = t->tid,
		.threads_cnt = 1,
		.blocked_ns = row->time_ns,
		.is_holder = true,
		.frame = -1,
		.does = reasons_of(c->f->reasons, row->deadlock_next - 1),
		.does_frame = finding_frame(c->f, row->deadlock_next - 1),
		.does_wait = row->deadlock_next,
		.does_ns = w->blocked_ns,
		.off_cpu_ns = w->blocked_ns,
	};
}

/*
 * Whether its waits for a lock take nearly the whole window and are open at the end or end only by a timer.  A JVM
 * checks a monitor once a second.
 */
static bool never_let_go(const struct cause_finder *c, const struct finding *row)
{
	const struct profile *p = c->f->profile;
	bool is_lock = row->reason == REASON_LOCK_MUTEX || row->reason == REASON_LOCK_RWLOCK;
	uint64_t ended_cnt = 0;

	if (!is_lock || !p->info.has_wakers || (!finding_fills_window(p, row->max_ns) && !finding_waits_always(p, row)))
		return false;
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (c->f->blocked_in[i] == row->id && !(profile_wait(p, i)->flags & WAIT_OPEN_AT_END))
			ended_cnt += profile_wait(p, i)->count;
	return row->woken_cnt == row->timed_out_cnt && ended_cnt == row->timed_out_cnt;
}

static bool is_unnamed(const struct profile *p, int64_t frame)
{
	return frame >= 0 && !profile_get_frame(p, (uint32_t)frame)->name;
}

/*
 * Marks holders: threads of its name; for Python, whose threads share a name, the exact thread.  Functions without
 * names cannot be told apart: there it marks those of its threads that ended such a wait, as the caller did.
 */
static void mark_holders(const struct cause_finder *c, const struct finding *row, const struct candidate *holder,
			 bool *is_holder)
{
	const struct profile *p = c->f->profile;
	const bool is_nameless = is_unnamed(p, holder->frame);

	EACH_ROW(i, const struct thread, t, p->threads) {
		if (t->comm == holder->comm && t->pid == holder->pid)
			is_holder[i] |= !is_nameless && (row->reason != REASON_LOCK_GIL || t->tid == holder->tid);
		else if (is_nameless)
			is_holder[i] = false;
	}
}

/*
 * A private lock whose holder is none of the process's threads: fork() copied it while another thread held it, which
 * does not exist in the copy (or it ended with the lock).  Nobody can release it.
 */
static void find_lost_holder(const struct cause_finder *c, struct finding *row)
{
	const struct profile *p = c->f->profile;
	const struct wait *w = profile_wait(p, row->wait);
	const struct object *o = profile_wait_object(p, w);
	uint32_t pid = profile_thread(p, w->thread)->pid;

	if (!row->never_let_go || !(w->flags & WAIT_OPEN_AT_END) || !o || !lock_is_held(o) || object_is_gil(o) ||
	    !o->is_private || !o->holder_tid || cause_thread(p, pid, o->holder_tid) != CAUSE_NONE ||
	    !deadlock_knows_all(p, pid))
		return;
	row->deadlock = row->wait + 1;
	row->by = (struct finding_by){ .comm = "", .tid = o->holder_tid, .threads_cnt = 1, .blocked_ns = row->time_ns,
				       .is_holder = true, .frame = -1, .does_frame = -1 };
	EACH_ROW(i, const struct thread, t, p->threads) {
		if (t->tid != o->holder_tid)
			continue;
		row->by.comm = t->comm;
		row->by.pid = t->pid;
	}
}

/* The child of most waits, else whoever ends them: a kill from outside ends such a wait, too. */
static uint32_t child_of(const struct cause_finder *c, const struct finding *row, uint32_t pid, uint32_t tid)
{
	const struct object *o = finding_object(c->f, row);

	if (row->reason != REASON_CHILD_EXIT)
		return CAUSE_NONE;
	if (o && o->kind == OBJECT_CHILD && o->pid)
		return cause_thread(c->f->profile, o->pid, o->pid);
	return tid ? cause_thread(c->f->profile, pid, tid) : CAUSE_NONE;
}

/* A candidate of which nothing is known but that it ends these waits. */
static struct candidate candidate_of(const struct thread *t, const struct finding *row)
{
	return (struct candidate){ .comm = t->comm,
				   .pid = t->pid,
				   .tid = t->tid,
				   .threads_cnt = 1,
				   .blocked_ns = row->time_ns,
				   .most_ns = row->time_ns,
				   .weight = row->time_ns,
				   .frame = -1 };
}

/* The holder of a file lock according to the kernel, at the recording's end. */
static uint32_t file_holder_of(const struct cause_finder *c, const struct finding *row)
{
	const struct profile *p = c->f->profile;
	uint32_t holder = finding_is_file_lock(c->f, row) ? profile_file_lock_holder(p, finding_pid(c->f, row)) : 0;

	return holder ? cause_thread(p, holder, holder) : CAUSE_NONE;
}

/* The monitor's owner according to the JVM, for most of these threads, at the recording's end. */
static uint32_t monitor_holder_of(const struct cause_finder *c, const struct finding *row)
{
	const struct profile *p = c->f->profile;
	const struct wait *w = profile_wait(p, row->wait);
	const struct thread *waiter = profile_thread(p, w->thread);
	uint32_t holder = wait_is_for_monitor(p, w) ? profile_monitor_holder(p, waiter->pid, waiter->tid) : 0;

	return holder ? cause_thread(p, waiter->pid, holder) : CAUSE_NONE;
}

/* No other process has that end of the pipe: "pipe to tar and 1 more". */
static bool reads_alone(const struct object *o, uint32_t pid)
{
	return o && o->kind == OBJECT_PIPE && o->pid == pid && !g_str_has_suffix(o->name, " more");
}

/* It waits for room in a pipe that only its parent reads, whose only thread waits for its exit. */
static void find_deadlock_of_child(const struct cause_finder *c, struct finding *row)
{
	const struct profile *p = c->f->profile;
	const struct wait *parent = profile_wait(p, row->wait);
	const struct wait *child = row->by.does_ns && row->by.does_wait ? profile_wait(p, row->by.does_wait - 1) : NULL;
	const struct object *o = child ? profile_wait_object(p, child) : NULL;
	const struct rule *rule = child ? reasons_rule(c->f->reasons, row->by.does_wait - 1) : NULL;
	const struct thread *t = profile_thread(p, parent->thread);

	if (!reads_alone(o, t->pid) || !rule || strcmp(rule->name, "pipe-write") != 0 ||
	    !(parent->flags & child->flags & WAIT_OPEN_AT_END) ||
	    MIN(parent->blocked_ns, child->blocked_ns) < deadlock_long_ns(p) || !deadlock_is_alone(p, t->pid) ||
	    !deadlock_knows_all(p, t->pid))
		return;
	row->deadlock = row->wait + 1;
	row->deadlock_next = row->by.does_wait;
}

/* Threads that end others' waits only after their own waits timed out may not be signalled when they get work. */
static void find_timeouts(const struct cause_finder *c, struct finding *row, const bool *is_holder)
{
	const struct profile *p = c->f->profile;
	struct timeouts sum = { 0 };

	if (reasons_is_anywhere(c->f->reasons, row->wait) || !row->by.tid || row->by.is_peer ||
	    row->pid != row->by.pid || !reason_is_parked(row->reason))
		return;
	EACH_ROW(i, const struct wake, wake, p->wakes)
		if (is_holder[profile_wait(p, wake->wait)->thread] &&
		    reason_is_parked(reasons_of(c->f->reasons, wake->wait)))
			timeouts_add(&sum, p, wake);
	if (!timeouts_are_all(&sum))
		return;
	row->by.timeouts_cnt = sum.timed_out_cnt;
	row->by.timeout_ns = sum.timed_out_ns / sum.timed_out_cnt;
}

/*
 * If the holder waits in the function in which others wait for the lock, it took the lock there.  If that function
 * ends by releasing, compilers turn the call into a jump, and only the caller is seen.
 */
static void find_taker(const struct profile *p, struct finding *row)
{
	if (row->by.does_ns && row->by.does_wait && row->by.frame >= 0 && row->frame >= 0 &&
	    cause_same_function(p, row->by.does_frame, row->frame) &&
	    !cause_same_function(p, row->by.frame, row->frame) &&
	    cause_passes(p, profile_wait(p, row->by.does_wait - 1)->user, row->by.frame))
		row->by.frame = row->frame;
}

/* Without wakings or a lock: what is known from the recording's end.  NULL: nothing. */
static const struct candidate *found_at_end(const struct cause_finder *c, struct finding *row, bool is_known,
					    bool *is_holder, struct candidate *ret)
{
	const uint32_t monitor = row->never_let_go ? monitor_holder_of(c, row) : CAUSE_NONE;
	const uint32_t child = is_known || monitor != CAUSE_NONE ? CAUSE_NONE : child_of(c, row, 0, 0);
	uint32_t at = monitor != CAUSE_NONE ? monitor : child;

	if (at == CAUSE_NONE && !is_known)
		at = file_holder_of(c, row);
	if (at == CAUSE_NONE && !is_known) {	/* the other end of a socket whose answers were not recorded */
		at = far_ends_thread(c->far_ends, row->wait);
		if (at != CAUSE_NONE)
			is_holder[at] = true;
	}
	if (at == CAUSE_NONE)
		return NULL;
	*ret = candidate_of(profile_thread(c->f->profile, at), row);
	ret->is_child = child != CAUSE_NONE;
	ret->is_holder = monitor != CAUSE_NONE;
	row->never_let_go = row->never_let_go && !ret->is_holder;
	return ret;
}

/* A lock that is released in several system calls is held in one of them, but which is unknown. */
static void find_call(const struct cause_finder *c, struct finding *row, const struct candidate *lets_go)
{
	if (row->reason == REASON_LOCK_KERNEL && lets_go && !finding_is_file_lock(c->f, row) &&
	    lets_go->call_ns >= lets_go->blocked_ns / CALL_PART * (CALL_PART - 1))
		row->by.call = lets_go->call;
}

/*
 * flock(1) waits for another one, which started a program with the lock: that program is in the recording. With
 * several waiters, its time is less than theirs.
 */
static bool is_queue_of_commands(const struct cause_finder *c, const struct finding *row,
				 const struct candidate *holder)
{
	const struct profile *p = c->f->profile;
	const struct thread *waiter = profile_thread(p, profile_wait(p, row->wait)->thread);
	const struct wait *does = row->by.does_wait ? profile_wait(p, row->by.does_wait - 1) : NULL;
	const struct object *o = does ? profile_wait_object(p, does) : NULL;

	return finding_is_file_lock(c->f, row) && holder->comm == waiter->comm && row->by.does_ns &&
	       row->by.does == REASON_CHILD_EXIT && row->time_ns / 3 <= row->by.does_ns / 2 && o &&
	       o->kind == OBJECT_CHILD && o->pid && cause_thread(p, o->pid, o->pid) != CAUSE_NONE;
}

/*
 * On a whole machine: a reader of what a shell and its programs print, or of commands given to a shell, waits like a
 * parent for a child: their own time is in the recording, too.
 */
static bool is_pipe_of_shell(const struct cause_finder *c, const struct finding *row)
{
	const struct profile *p = c->f->profile;
	const struct object *o = finding_object(c->f, row);
	uint32_t writer = o && o->kind == OBJECT_PIPE && o->pid ? cause_thread(p, o->pid, o->pid) : CAUSE_NONE;
	const char *own = profile_thread(p, profile_wait(p, row->wait)->thread)->process;

	return row->reason == REASON_PIPE && profile_is_of_machine(p) && writer != CAUSE_NONE &&
	       g_str_has_prefix(o->name, "pipe from ") && (sentence_is_shell(own) || sentence_is_shell(profile_thread(p, writer)->process));
}

/*
 * It reads another program's output immediately, and the writer's wait is a finding itself; but nothing else covers a
 * writer that computes or rests.
 */
static bool is_of_slower_writer(const struct cause_finder *c, const struct finding *row)
{
	return (finding_is_by(c->f, row, "pipe-read") || finding_is_by(c->f, row, "message-queue")) && row->pid &&
	       row->by.pid && row->by.pid != row->pid && row->by.blocked_ns > row->time_ns / 2 && row->by.does_ns &&
	       row->by.does != REASON_ON_CPU && !profile_is_of_command(c->f->profile) && finding_cause(c->f, row) &&
	       finding_waits_always(c->f->profile, row);
}

static struct finding_by by_of(const struct candidate *best, bool is_holder, const struct candidate *lets_go)
{
	return (struct finding_by){
		.comm = best->comm,
		.pid = best->pid,
		.tid = best->tid,
		.threads_cnt = best->threads_cnt,
		.blocked_ns = best->blocked_ns,
		.is_kind = best->is_kind,
		.is_holder = is_holder,
		.frame = best->frame >= 0 || !lets_go ? best->frame : lets_go->frame,
		.does_frame = -1,
		.place = best->place,
	};
}

/*
 * Interrupts wait for nothing, although others may end some of these waits.  A stack does not tell what a thread does
 * with or without the GIL.
 */
static void find_what_they_do(const struct cause_finder *c, struct finding *row, const bool *is_holder, bool is_held)
{
	int64_t computes_in = -1;

	cause_find_doing(c, row, is_holder, is_held, &computes_in);
	if (!is_held)
		cause_find_running(c, row, is_holder, computes_in);
	if (!row->by.does_ns && finding_ends_far(c->f, row))
		cause_find_passed_on(c, row);
}

static void find_by(const struct cause_finder *c, struct finding *row)
{
	const struct profile *p = c->f->profile;
	g_autoptr(GArray) holders = g_array_new(FALSE, FALSE, sizeof(struct candidate));
	g_autoptr(GArray) wakers = g_array_new(FALSE, FALSE, sizeof(struct candidate));
	g_autofree bool *is_holder = g_new0(bool, (gsize)p->threads->len + 1);
	bool is_lock = row->object && lock_is_held(profile_get_object(p, row->object - 1)),
	     is_held = is_exclusive(c->f, row);
	struct wakings sum;

	for (uint32_t i = 0; i < p->waits->len; i++) {
		if (c->f->blocked_in[i] == row->id)
			count_holder(c, holders, i);
	}
	sum = count_wakings(c, row, wakers, is_holder);
	const struct candidate *holder = most_held(c->f, row, holders, wakers),
			       *waker = most_of_program(row, wakers) ?: most(wakers),
			       *best = is_lock && holder ? holder : waker;
	row->never_let_go = !holder && never_let_go(c, row);
	row->nobody_works = work_nobody(c->f, row);
	find_lost_holder(c, row);
	struct candidate at_end = { 0 };
	const struct candidate *found = found_at_end(c, row, best, is_holder, &at_end);
	best = found ? found : best;
	holder = at_end.is_holder ? found : holder;
	const uint32_t runner = cause_runner(c, row);
	if (runner != CAUSE_NONE) {
		at_end = candidate_of(profile_thread(p, runner), row);
		best = holder = &at_end;
	}
	if ((!best && sentence_is_for_workers(c->f, row) && !row->nobody_works) ||
	    ((!best || !best->pid) && finding_is_by(c->f, row, "*queue-full")))
		work_find_meanwhile(c->f, row);
	if (!best || row->deadlock)
		return;
	const struct candidate *lets_go = as_waker(wakers, best);
	/* the others only pass it on */
	if (is_held && best->pid && best->blocked_ns > row->time_ns / 2 && !is_unnamed(p, best->frame))
		memset(is_holder, 0, p->threads->len * sizeof(*is_holder));
	if (holder || (is_held && best->pid))
		mark_holders(c, row, holder ? holder : best, is_holder);
	row->by = by_of(best, best == holder, lets_go);
	if (is_held)
		find_call(c, row, lets_go);
	if (best->place)
		gil_find(c->places, row);
	if (!is_held && best != holder)
		count_kind(wakers, &row->by);
	if ((!is_held || row->reason == REASON_LOCK_KERNEL) && best != holder && !row->by.is_kind)
		count_program(wakers, best, &row->by);
	judge_wakings(p, row, &sum);
	row->by.are_peers = row->by.is_peer && !finding_has_own_locks(row) &&
			    (row->by.threads_cnt > 1 || wakers->len > 2);
	if (!is_held)
		cause_mark_helpers(c, row, is_holder);
	uint32_t child = child_of(c, row, best->pid, best->tid);
	row->is_told_elsewhere = child != CAUSE_NONE && c->f->programs[child] != row->process && !row->loop;
	if (best->pid && row->reason != REASON_LOCK_GIL)
		find_what_they_do(c, row, is_holder, is_held);
	row->is_told_elsewhere = row->is_told_elsewhere || is_queue_of_commands(c, row, best) ||
				 is_of_slower_writer(c, row) ||
				 (child != CAUSE_NONE && row->by.does == REASON_CPU_QUEUE && finding_mostly_does(row));
	if (is_held)
		find_taker(p, row);
	else
		find_timeouts(c, row, is_holder);
	row->is_for_one_job = row->is_told_elsewhere && row->by.does_ns && row->by.does == REASON_ON_CPU &&
			      row->max_ns > p->info.duration_ns / 2 && !profile_is_of_machine(p);
	if (at_end.is_child)
		find_deadlock_of_child(c, row);
	if (sentence_is_for_workers(c->f, row))
		work_find(c->f, row);
	/* a library's function says nothing about who releases */
	if (row->by.frame >= 0 && plumbing_frame_is_runtime(reasons_plumbing(c->f->reasons), (uint32_t)row->by.frame))
		row->by.frame = -1;
}

static void find_cause_of(const struct cause_finder *c, struct finding *row)
{
	const uint32_t other = row->reason == REASON_PIPE ? deadlock_of_pipes(c->f->profile, row->wait) : 0;

	if (other) {
		row->deadlock = row->wait + 1;
		row->deadlock_next = other;
	}
	if (row->deadlock)
		find_by_of_deadlock(c, row);
	else if (reason_family(row->reason) != FAMILY_CPU)
		find_by(c, row);
	locked_take_over(c->f, row);
	row->is_told_elsewhere = row->is_told_elsewhere || (!row->deadlock && is_pipe_of_shell(c, row));
}

/* Whom it waits for may be far down in the list of a whole machine. */
static void find_causes_behind(const struct cause_finder *c, struct finding *row)
{
	struct finding *next = finding_cause(c->f, row);

	for (unsigned i = 0; i < FINDING_HOPS_MAX && next && !next->by.comm; i++, next = finding_cause(c->f, next))
		find_cause_of(c, next);
}

void findings_find_causes(struct findings *f, const uint32_t *locks)
{
	const uint32_t rows = MIN(f->rows->len, FINDINGS_WITH_CAUSES);
	struct cause_finder c = {
		.f = f,
		.locks = locks,
		.threads_of_wakers = actors_threads_of_wakers(f->profile),
	};

	c.far_ends = far_ends_new(f->profile, c.threads_of_wakers);
	c.places = gil_places_new(f);
	for (uint32_t r = 0; r < rows; r++)
		find_cause_of(&c, &g_array_index(f->rows, struct finding, r));
	for (uint32_t r = 0; r < rows; r++)
		find_causes_behind(&c, &g_array_index(f->rows, struct finding, r));
	gil_places_free(c.places);
	far_ends_free(c.far_ends);
	g_free(c.threads_of_wakers);
}
