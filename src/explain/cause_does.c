/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <string.h>

#include "analyse/actors.h"
#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "explain/findings_part.h"
#include "features/wakers/analysis.h"

#define BROUGHT_PART 10	/* of what is passed on: who brings less is somebody else */
#define SLEEP_PART 3 /* of a holder's sleep: shorter waits are not behind it */
#define LEAVES_PART 20	/* of a holder's time: a few stacks may be cut */

bool cause_same_function(const struct profile *p, int64_t a, int64_t b)
{
	if (a < 0 || b < 0)
		return a == b;
	return a == b || profile_get_frame(p, (uint32_t)a)->name == profile_get_frame(p, (uint32_t)b)->name;
}

uint32_t cause_thread(const struct profile *p, uint32_t pid, uint32_t tid)
{
	for (uint32_t i = p->threads->len; i-- > 0;) {
		const struct thread *t = profile_thread(p, i);

		if (t->tid == tid && (!pid || t->pid == pid))
			return i;
	}
	return CAUSE_NONE;
}

/* Whether the function is on the stack. */
bool cause_passes(const struct profile *p, uint32_t node, int64_t function)
{
	for (uint32_t n = node; n; n = profile_get_node(p, n)->parent) {
		if (cause_same_function(p, profile_get_node(p, n)->frame, function))
			return true;
	}
	return false;
}

/*
 * Activity below 1/DOES_MIN of the time that others wait is not what they wait for; with many waiters at a time, the
 * time of each.
 */
#define DOES_MIN 10

/* Several threads may wait for the same one at a time. */
static uint64_t waiters_on_one(const struct finding *row)
{
	bool is_one = row->by.threads_cnt == 1 || reason_family(row->reason) == FAMILY_LOCK;

	return is_one ? MAX(row->threads_cnt, 1) : 1;
}

bool cause_may_hold_kernel_lock(const struct findings *f, uint32_t wait)
{
	const struct wait *w = profile_wait(f->profile, wait);
	const char *entry = plumbing_entry(reasons_plumbing(f->reasons), w->kernel);
	const enum reason reason = reasons_of(f->reasons, wait);
	const enum reason_family family = reason_family(reason);

	/* it lost its CPU while in the program */
	if (w->state == 'R' && entry && (strcmp(entry, "interrupt") == 0 || strcmp(entry, "exit to user mode") == 0))
		return false;
	return family == FAMILY_DISK || family == FAMILY_MEMORY || family == FAMILY_CPU || family == FAMILY_DEVICE ||
	       family == FAMILY_OTHER || reason == REASON_LOCK_KERNEL;
}

uint64_t cause_longest_waiter_ns(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	g_autofree uint64_t *waited_ns = g_new0(uint64_t, (gsize)p->threads->len + 1);
	uint64_t most_ns = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		waited_ns[w->thread] += f->blocked_in[i] == row->id ? w->blocked_ns : 0;
		most_ns = MAX(most_ns, waited_ns[w->thread]);
	}
	return MIN(most_ns, p->info.duration_ns);	/* rows of threads that have ended hold several */
}

static uint64_t on_cpu_ns(const struct profile *p, const bool *is_in)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < p->threads->len; i++)
		ns += is_in[i] ? profile_thread(p, i)->on_cpu_ns : 0;
	return ns;
}

/* By thread: waits of holders outside of the function. */
static uint64_t *outside_new(const struct profile *p, const bool *is_holder, int64_t function)
{
	uint64_t *ns = g_new0(uint64_t, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits)
		if (is_holder[w->thread] && !cause_passes(p, w->user, function))
			ns[w->thread] += wait_off_cpu_ns(w);
	return ns;
}

/*
 * If a function ends by releasing the lock, compilers turn the call into a jump: only its caller is seen, which may
 * sleep between two such calls.  So may a function that its thread hardly leaves, as a script's loop.  A thread that
 * sleeps with the lock makes others wait about as long.
 */
static bool may_sleep_without(const struct cause_finder *c, const struct finding *row, const struct wait *sleep,
			      const uint64_t *outside_ns)
{
	const struct profile *p = c->f->profile;
	const struct thread *holder = profile_thread(p, sleep->thread);
	bool is_caller = row->by.frame >= 0 && row->frame >= 0 && !cause_same_function(p, row->by.frame, row->frame) &&
			 cause_passes(p, profile_wait(p, row->wait)->user, row->by.frame) &&
			 !cause_passes(p, sleep->user, row->frame);
	bool is_all = outside_ns[sleep->thread] < thread_observed_ns(holder) / LEAVES_PART;

	return (is_caller || is_all) &&
	       finding_percentile_ns(row, 0.5) <
		       sleep->blocked_ns / MAX(sleep->count, 1) / SLEEP_PART;
}

/* The total time that holders can have slept with a lock that one has at a time: longer sleeps are without it. */
static uint64_t one_at_a_time_ns(const struct profile *p, const struct finding *row)
{
	bool is_shared = row->reason == REASON_LOCK_RWLOCK || row->reason == REASON_LOCK_KERNEL;

	return is_shared ? UINT64_MAX : p->info.duration_ns / 20 * 21 * MAX(row->locks_cnt, 1);
}

/*
 * A lock without its own futex word, as Java's, whose waiters park: a thread that releases it in that function waited
 * there for the same lock before, without holding it.
 */
static bool is_before_lock(const struct cause_finder *c, const struct finding *row, uint32_t i, int64_t function)
{
	const struct profile *p = c->f->profile;
	const struct object *o = finding_object(c->f, row);

	return !(o && lock_is_held(o)) && reason_family(row->reason) == FAMILY_LOCK &&
	       reasons_of(c->f->reasons, i) == row->reason && cause_same_function(p, finding_frame(c->f, i), function);
}

/*
 * Kernel threads count as idle in all their waits when analysed by themselves; one that works on a single job is busy.
 */
static bool rests(const struct cause_finder *c, uint32_t i)
{
	static const char *const any_job[] = { "worker_thread", NULL };
	enum idle_kind idle = reasons_idle(c->f->reasons, i);

	if (idle != IDLE_KERNEL)
		return idle;
	return reasons_of(c->f->reasons, i) == REASON_POOL_IDLE ||
	       profile_stack_names(c->f->profile, profile_wait(c->f->profile, i)->kernel, any_job);
}

/* By reason. */
struct doing {
	uint64_t ns[REASON_COUNT], longest_ns[REASON_COUNT];
	uint32_t waits[REASON_COUNT];	/* index + 1 of the longest */
	int64_t frames[REASON_COUNT];	/* function in which it waits */
};

/* True if it is the longest so far. */
static bool doing_add(struct doing *d, enum reason reason, uint64_t ns)
{
	bool is = ns > d->longest_ns[reason];

	d->ns[reason] += ns;
	d->longest_ns[reason] = MAX(d->longest_ns[reason], ns);
	return is;
}

static void take_most(const struct doing *d, struct finding *row)
{
	for (unsigned r = 0; r < REASON_COUNT; r++) {
		row->by.off_cpu_ns += d->ns[r];
		if (d->ns[r] > row->by.does_ns) {
			row->by.does_ns = d->ns[r];
			row->by.does = (enum reason)r;
			row->by.does_frame = d->frames[r];
			row->by.does_wait = d->waits[r];
		}
	}
}

static uint64_t rest_ns(const struct doing *d)
{
	uint64_t ns = 0;

	for (unsigned r = 0; r < REASON_COUNT; r++)
		ns += d->ns[r];
	return ns;
}

/* Within a quarter. */
static bool is_about(uint64_t ns, uint64_t other_ns)
{
	return ns > other_ns - other_ns / 4 && ns < other_ns + other_ns / 4;
}

/*
 * A function that takes the lock and sleeps after it has let it go sleeps for longer than anybody waits, while all else
 * that it does takes about as long as that.
 */
static bool sleeps_afterwards(const struct cause_finder *c, const struct finding *row, const struct doing *d,
			      const bool *is_holder)
{
	const uint64_t waited_ns = cause_longest_waiter_ns(c->f, row), sleeps_ns = d->ns[REASON_SLEEP];
	const uint64_t waits_ns = rest_ns(d) - sleeps_ns - d->ns[REASON_CPU_QUEUE];

	return waits_ns > waited_ns / 4 && is_about(waits_ns + on_cpu_ns(c->f->profile, is_holder), waited_ns) &&
	       sleeps_ns > waited_ns && !is_about(sleeps_ns, waited_ns);
}

/*
 * A script's stack may not show the function that holds a lock. While one thread waits, the lock is held by its peers or
 * by another thread; so what these are in for much longer than for all else together they did meanwhile. A single holder
 * may also rest with the lock; of many some rest without it.
 */
static void find_overlap(const struct cause_finder *c, struct finding *row, const bool *is_holder)
{
	const struct profile *p = c->f->profile;
	const bool is_one = row->by.threads_cnt == 1 && !row->by.is_program;
	g_autofree bool *is_in = g_memdup2(is_holder, (gsize)p->threads->len * sizeof(*is_holder) + 1);
	struct doing d = { 0 };

	if (!row->by.tid || row->locks_cnt > 1 || row->reason == REASON_LOCK_GIL ||
	    row->by.blocked_ns <= row->time_ns / 2)
		return;
	EACH_ROW(i, const struct thread, t, p->threads)
		is_in[i] |= row->by.is_program && t->comm == row->by.comm;
	uint64_t all_ns = on_cpu_ns(p, is_in);

	EACH_ROW(i, const struct wait, w, p->waits) {
		const enum reason reason = reasons_of(c->f->reasons, i);
		const bool rests = reasons_is_idle(c->f->reasons, i);

		if (!is_in[w->thread] || c->f->blocked_in[i] == row->id || (rests && !is_one))
			continue;
		all_ns += wait_off_cpu_ns(w);
		if (!rests && doing_add(&d, reason, w->blocked_ns)) {
			d.waits[reason] = i + 1;
			d.frames[reason] = finding_frame(c->f, i);
		}
	}
	take_most(&d, row);
	if (all_ns - row->by.does_ns > cause_longest_waiter_ns(c->f, row) / 2)
		row->by.does_ns = 0;
}

/*
 * What lock holders, or those who end the waits, are off CPU for: all their waits except the finding's own, and for
 * holders only those below the function that releases the lock.  computes_in: the function in which they were
 * preempted longest; -1: none.
 */
void cause_find_doing(const struct cause_finder *c, struct finding *row, const bool *is_holder, bool is_lock,
		       int64_t *computes_in)
{
	const struct profile *p = c->f->profile;
	struct doing d = { 0 }, at_rest = { 0 };
	int64_t function = row->by.frame >= 0 ? row->by.frame : row->frame;
	/* a kernel lock has the system call's object, like other waits of its holder in that call: a file */
	const uint32_t own = row->object && object_is_lock(profile_get_object(p, row->object - 1))
				     ? c->locks[row->object]
				     : 0;
	const bool is_of_file = is_lock && finding_is_file_lock(c->f, row);
	const bool is_of_kernel = is_lock && row->reason == REASON_LOCK_KERNEL && !finding_is_file_lock(c->f, row);

	bool is_unsure = false;
	uint64_t before_ns = 0;
	uint32_t before = 0;	/* index + 1 of the longest of these waits */

	if (is_lock && function < 0)
		return;
	g_autofree uint64_t *outside_ns = is_lock ? outside_new(p, is_holder, function) : NULL;

	EACH_ROW(i, const struct wait, w, p->waits) {
		enum reason reason = reasons_of(c->f->reasons, i);
		bool is_own = own && w->object && c->locks[w->object] == own;

		if (!is_holder[w->thread] || is_own || c->f->blocked_in[i] == row->id ||
		    (is_of_kernel && !cause_may_hold_kernel_lock(c->f, i)) ||
		    (is_lock && !cause_passes(p, w->user, function)) ||
		    /* a thread that waits for work has released the lock before */
		    (is_lock && !is_of_file && reason == REASON_POOL_IDLE) ||
		    (!is_lock && rests(c, i) && row->reason != REASON_CHILD_EXIT))
			continue;
		if (is_lock && is_before_lock(c, row, i, function)) {
			before_ns += w->blocked_ns;
			before = !before || w->blocked_ns > profile_wait(p, before - 1)->blocked_ns ? i + 1 : before;
			continue;
		}
		if (is_lock && reason == REASON_SLEEP && may_sleep_without(c, row, w, outside_ns)) {
			is_unsure = true;
			continue;
		}
		/* a holder that waits for a client's next request has likely released it, if it does anything else */
		struct doing *one = is_lock && reasons_idle(c->f->reasons, i) == IDLE_CLIENT ? &at_rest : &d;
		if (w->blocked_ns && (!is_lock || held_may_be_over(row, w)) && doing_add(one, reason, w->blocked_ns)) {
			one->waits[reason] = i + 1;
			one->frames[reason] = plumbing_user_parent(reasons_plumbing(c->f->reasons), w->user);
		}
		enum reason why = reason == REASON_CPU_THROTTLED ? reason : REASON_CPU_QUEUE;

		/* where it was preempted shows what it computes */
		if (w->state == 'R' && doing_add(&d, why, w->runnable_ns + w->preempted_ns))
			d.frames[why] = *computes_in = plumbing_user_parent(reasons_plumbing(c->f->reasons), w->user);
	}
	if (is_lock && (d.ns[REASON_SLEEP] > one_at_a_time_ns(p, row) || sleeps_afterwards(c, row, &d, is_holder))) {
		d.ns[REASON_SLEEP] = 0;
		is_unsure = true;
	}
	take_most(&d, row);
	/* a thread that computes longer than it sleeps, or waits for a CPU, probably computes with the lock */
	const bool may_be_without = row->by.does == REASON_SLEEP || (is_unsure && row->by.does == REASON_CPU_QUEUE);
	if (row->by.does_ns < row->by.blocked_ns / DOES_MIN / waiters_on_one(row) ||
	    (is_lock && may_be_without && row->by.does_ns < on_cpu_ns(p, is_holder)))
		row->by.does_ns = 0;
	if (!row->by.does_ns && rest_ns(&at_rest) >= row->by.blocked_ns / DOES_MIN / waiters_on_one(row))
		take_most(&at_rest, row);
	if (!row->by.does_ns && before_ns >= row->by.blocked_ns / DOES_MIN / waiters_on_one(row) && before) {
		/* nothing else: it queues itself, like a writer behind readers */
		row->by.does = row->reason;
		row->by.does_ns = row->by.off_cpu_ns = before_ns;
		row->by.does_wait = before;
		row->by.does_frame = finding_frame(c->f, before - 1);
	}
	if (is_lock && !row->by.does_ns && !is_unsure)
		find_overlap(c, row, is_holder);
}

/*
 * A peer or child that runs longer than it waits computes the result, if it runs for most of that time. How long a
 * lock's holder ran while holding it is unknown.
 */
void cause_find_running(const struct cause_finder *c, struct finding *row, const bool *is_holder, int64_t computes_in)
{
	uint64_t ran_ns = on_cpu_ns(c->f->profile, is_holder);

	if (ran_ns <= row->by.off_cpu_ns || ran_ns < row->by.blocked_ns / 2 / waiters_on_one(row))
		return;
	row->by.does = REASON_ON_CPU;
	row->by.does_ns = ran_ns;
	row->by.does_frame = computes_in;
	row->by.does_wait = 0;
}

/*
 * A loop at the far end that only forwards waits for nothing itself: looks at the threads of its process that wake it,
 * if it waits for them.
 */
void cause_find_passed_on(const struct cause_finder *c, struct finding *row)
{
	const struct profile *p = c->f->profile;
	uint32_t loop = row->by.tid && row->by.threads_cnt == 1 ? cause_thread(p, row->by.pid, row->by.tid)
								: CAUSE_NONE;
	g_autofree bool *is_worker = g_new0(bool, (gsize)p->threads->len + 1);
	uint64_t for_them_ns = 0;
	int64_t unused;

	for (guint i = 0; loop != CAUSE_NONE && i < p->wakes->len; i++) {
		const struct wake *wake = profile_wake(p, i);
		uint32_t thread = c->threads_of_wakers[wake->waker];

		if (profile_wait(p, wake->wait)->thread != loop || thread == CAUSE_NONE || thread == loop ||
		    profile_thread(p, thread)->pid != row->by.pid)
			continue;
		is_worker[thread] = true;
		for_them_ns += wake->blocked_ns;
	}
	if (for_them_ns < row->by.blocked_ns / 2)
		return;
	cause_find_doing(c, row, is_worker, false, &unused);
	/* run-queue time alone is not reported by name */
	row->by.does_ns = row->by.does_wait ? row->by.does_ns : 0;
	row->by.is_passed_on = row->by.does_ns;
}

/* A parent waits for its child's whole process; otherwise for the thread that ends the wait, or all of its kind. */
void cause_mark_helpers(const struct cause_finder *c, struct finding *row, bool *is_holder)
{
	const struct profile *p = c->f->profile;
	bool are_many = row->by.threads_cnt > 1 || row->by.is_program;
	uint32_t cnt = 0;

	for (uint32_t i = 0; are_many && i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		is_holder[i] = is_holder[i] &&
			       (row->by.is_program ? t->comm == row->by.comm || c->f->programs[i] == row->by.comm :
						     t->pid == row->by.pid && actors_same_kind(t->comm, row->by.comm));
		cnt += is_holder[i];
	}
	if (are_many) {
		row->by.threads_cnt = MAX(cnt, 2);
		return;
	}
	memset(is_holder, 0, p->threads->len * sizeof(*is_holder));
	for (uint32_t i = 0; row->by.tid && i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		is_holder[i] = t->pid == row->by.pid && (t->tid == row->by.tid || row->reason == REASON_CHILD_EXIT);
	}
}

/* The function that parks the thread, such as a library's queue; 0: unknown. */
static uint32_t parking_node(const struct cause_finder *c, uint32_t user)
{
	struct plumbing *pl = reasons_plumbing(c->f->reasons);

	for (uint32_t n = user; n; n = profile_get_node(c->f->profile, n)->parent) {
		enum runtime_level level = plumbing_frame_level(pl, profile_get_node(c->f->profile, n)->frame);

		if (level != RUNTIME_LIBC && level != RUNTIME_ENTRY)
			return n;
	}
	return 0;
}

bool cause_is_passed_on(const struct cause_finder *c, const struct wake *wake)
{
	const struct profile *p = c->f->profile;
	const uint32_t at = parking_node(c, profile_wait(p, wake->wait)->user);
	const uint32_t frame = at ? profile_get_node(p, at)->frame : 0;

	return at && plumbing_frame_level(reasons_plumbing(c->f->reasons), frame) == RUNTIME_LIBRARY &&
	       cause_passes(p, profile_get_waker(p, wake->waker)->user, frame);
}

uint32_t cause_runner(const struct cause_finder *c, const struct finding *row)
{
	const struct profile *p = c->f->profile;
	uint64_t all_ns = 0, most_ns = 0;
	uint32_t most = CAUSE_NONE;

	if (!finding_is_by(c->f, row, "ocaml-master-lock") || !row->pid)
		return CAUSE_NONE;
	EACH_ROW(i, const struct thread, t, p->threads) {
		uint64_t ns = t->pid == row->pid ? t->on_cpu_ns + t->preempted_ns : 0;

		all_ns += ns;
		if (ns <= most_ns)
			continue;
		most_ns = ns;
		most = i;
	}
	return most_ns > all_ns / 2 ? most : CAUSE_NONE;
}

bool cause_is_brought(const struct cause_finder *c, const struct finding *row, const bool *waits_too)
{
	uint64_t brought_ns = 0, passed_ns = 0;

	EACH_ROW(i, const struct wake, wake, c->f->profile->wakes) {
		uint32_t by = c->threads_of_wakers[wake->waker];

		if (row->reason != REASON_LOCK_CONDITION || c->f->blocked_in[wake->wait] != row->id || by == CAUSE_NONE)
			continue;
		if (waits_too[by])
			passed_ns += cause_is_passed_on(c, wake) ? wake->blocked_ns : 0;
		else
			brought_ns += wake->blocked_ns;
	}
	return passed_ns && brought_ns > passed_ns / BROUGHT_PART;
}
