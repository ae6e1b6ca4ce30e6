/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_CUT_BPF_H
#define BPF_CUT_BPF_H

#include "bpf/account.bpf.h"
#include "features/blame/blame.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/parked.bpf.h"
#include "bpf/snapshot.bpf.h"
#include "bpf/threads.bpf.h"

/*
 * A cut ends a window and begins the next one at one instant, the edge, while all programs go on.  User space names
 * the edge a little ahead of time, in window.stop_ns, with is_cut set.
 *
 * Each thread's account is sent once as of the edge, with its open wait.  One compare-and-exchange sets since_ns, when
 * its mode began, to the edge. Whoever succeeds sends the account. So since_ns >= edge means that the account is sent,
 * or that the thread was born later. All time after the edge is added to the account as usual.  The account is never
 * reset: user space subtracts that of the previous cut (fold/windows.h), and adds the open waits.
 *
 * Two may do it: the thread's first event after the edge, before it changes anything; or the iterator. User space
 * starts the iterator when each CPU was visited after the edge. Every event from before has ended by then.  Both work
 * on a copy.  Each event begins with the same exchange, so it succeeds only if no event came since the copy was begun:
 * the copy is the thread's state as of the edge. A waking does not take part: it writes wake_ns, and a waking after
 * the edge shows that the thread slept until the edge.
 *
 * If user space names the edge too late for a thread, its since_ns is already after the edge and its account is not
 * sent. Nothing is lost or counted twice: the next account includes it, and user space counts such threads.
 */

/* `now` is after a cut whose accounts are being sent, or were just sent. */
static __always_inline bool is_behind_cut(__u64 now)
{
	return cfg.may_cut && is_cut && now >= window.start_ns;
}

/* Copies the thread to scratch->cut, to be sent. False: it was sent already, or is not selected. */
static __always_inline bool copy_thread(const struct thread_state *st, struct scratch *scratch, __u64 edge)
{
	struct thread_state *copy = &scratch->cut;

	if (!st->selected || st->mode == MODE_DEAD || st->since_ns >= edge)
		return false;
	bpf_probe_read_kernel(copy, sizeof(*copy), st);
	if (!copy->selected || copy->since_ns >= edge)
		return false;
	/* a waking writes this first: if it has not changed, the waker read here belongs to it */
	copy->wake_ns = *(volatile const __u64 *)&st->wake_ns;
	copy->memory = 0;	/* only the thread's own CPU writes there */
	return true;
}

/* The open wait at the edge, for scratch->thread. */
static __always_inline void tell_going_on(struct task_struct *task, struct scratch *scratch, __u64 edge)
{
	struct offcpu_rec_thread *rec = &scratch->thread;
	struct thread_state *copy = &scratch->cut;
	struct wait_parts parts;

	if (copy->mode == MODE_ON_CPU) {
		rec->open_on_cpu_ns = edge - copy->since_ns;
		return;
	}
	rec->flags |= OFFCPU_THREAD_OPEN_AT_END;
	forget_stale_waking(task, copy);
	split_wait(copy, edge, false, &parts);
	close_throttled(task, copy, rec, stands_still(task, copy), edge);
	if (is_listed(copy, edge - copy->since_ns)) {
		tell_open(task, copy, scratch, &parts, edge);
		count_open_losses(task, copy, &scratch->thread, edge - copy->since_ns);
		return;
	}
	rec->open_state = letter_of(copy->state);
	rec->open_flags = OFFCPU_OPEN_FILTERED;
	rec->open_blocked_ns = parts.blocked_ns;
	rec->open_runnable_ns = parts.runnable_ns;
	rec->open_preempted_ns = parts.preempted_ns;
}

/*
 * Fills scratch->thread from the copy. runs: it is being switched out, so it ran, whatever was known of it. False: it
 * was not observed before the edge.
 */
static __always_inline bool fill_cut(struct task_struct *task, struct scratch *scratch, __u64 edge, bool runs,
				     bool has_execed)
{
	struct thread_state *copy = &scratch->cut;

	enter_window(copy);
	if (copy->from_ns >= edge)
		return false;
	forget_stale_stacks(copy);
	if (copy->mode == MODE_UNKNOWN && runs) {
		since_window(copy);
		copy->mode = MODE_ON_CPU;
	} else if (copy->mode == MODE_UNKNOWN) {
		know_mode(task, copy);
	}
	fill_thread(&scratch->thread, task, copy, edge, OFFCPU_END_CUT, has_execed);
	tell_going_on(task, scratch, edge);
	return true;
}

/* was: since_ns of the copy. True: the caller is to send it. */
static __always_inline bool take_cut(struct thread_state *st, __u64 was, __u64 edge)
{
	return __sync_val_compare_and_swap(&st->since_ns, was, edge) == was;
}

/* An event of the thread after the edge. True: scratch->thread is to be sent. */
static __noinline int cut_event(struct task_struct *task, struct scratch *scratch, __u64 edge, bool runs,
				bool has_execed)
{
	struct thread_state *st = thread_of(task), *copy = &scratch->cut;
	__u64 was;

	if (!st || !copy_thread(st, scratch, edge))
		return false;
	was = copy->since_ns;
	copy->end_noted = true;
	copy->end_csw = csw_of(copy);
	copy->end_ustack = copy->end_kstack = OFFCPU_STACK_LOST;	/* until send_cut() */
	copy->end_object = 0;
	if (!fill_cut(task, scratch, edge, runs, has_execed) || !take_cut(st, was, edge))
		return false;
	cut_request(st, &scratch->thread);
	return true;
}

#define NOT_LISTED ~0ULL

/* A switch after the edge. NULL: the thread is not selected. */
static __noinline int cut_switch(struct task_struct *prev, struct task_struct *next, struct scratch *scratch, __u64 now)
{
	__u64 edge = window.stop_ns;

	if (now < edge)
		return 0;	/* the window is over by now */
	if (prev && cut_event(prev, scratch, edge, true, false))
		send_account(scratch);
	if (next && cut_event(next, scratch, edge, false, false)) {
		scratch->cut_rec = scratch->thread;
		scratch->has_cut = 1;
		scratch->ustack = NOT_LISTED;
	}
	return 0;
}

/* An exec after the edge: the account is sent under the old name. */
static __always_inline void cut_exec(struct task_struct *task, struct scratch *scratch, __u64 now)
{
	__u64 edge = window.stop_ns;

	if (now >= edge && cut_event(task, scratch, edge, true, true))
		send_account(scratch);
}

/* Sends the account of the thread that was switched in, with the stacks that its wait was just listed under. */
static __noinline int send_cut(struct scratch *scratch)
{
	struct offcpu_rec_thread *rec = &scratch->thread;

	scratch->has_cut = 0;
	*rec = scratch->cut_rec;
	if (scratch->ustack != NOT_LISTED) {
		rec->open_ustack = scratch->ustack;
		rec->open_kstack = scratch->kstack;
		rec->open_object = scratch->listed_object;
	} else if (rec->open_state && !(rec->open_flags & OFFCPU_OPEN_FILTERED)) {
		count_loss(OFFCPU_LOSS_KSTACK, rec->open_blocked_ns + rec->open_runnable_ns + rec->open_preempted_ns);
	}
	send_account(scratch);
	return 0;
}

/* What the iterator noted of a wait is valid until the wait ends. */
static __always_inline void keep_noted(struct thread_state *st, const struct thread_state *copy)
{
	if (copy->by_fp || !copy->end_noted)
		return;
	st->end_ustack = copy->end_ustack;
	st->end_kstack = copy->end_kstack;
	st->end_object = copy->end_object;
	st->end_csw = copy->end_csw;
	st->end_noted = true;
}

/*
 * Did it sleep all through this window, and has nothing changed since its account was sent at the previous cut? Then
 * its account and stacks are the same, and no waking came.
 */
static __always_inline bool slept_through(struct task_struct *task, const struct thread_state *st, __u64 since)
{
	bool is_known = st->mode != MODE_UNKNOWN;
	__u8 from = is_known ? st->ustack_from : begins_ustack(task, st);
	__u64 bits = sleep_bits_now(task);

	if (!st->selected || st->since_ns != since || st->from_ns >= since || st->wake_ns >= since)
		return false;
	if (is_known ? st->mode != MODE_ASLEEP || st->by_fp
		     : !st->has_snap || st->snap_mode != MODE_ASLEEP || st->snap_by_fp)
		return false;
	return bits && bits != TASK_WAKING && !(bits & TASK_DEAD) && is_noted(st) && stands_still(task, st) &&
	       (!cfg.want_kstack || st->end_kstack) && (from != USTACK_LATE || st->end_ustack);
}

enum still { STILL_NOT, STILL_TOLD, STILL_NO_ROOM };

/* Most of 10,000 threads sleep: sending all of their accounts took most of a cut's time. */
static __always_inline enum still tell_still(struct task_struct *task, struct thread_state *st, __u64 edge)
{
	struct offcpu_rec_still *rec;
	__u64 since = window.cut_ns;

	if ((cfg.requests_beside && st->request) || !slept_through(task, st, since))
		return STILL_NOT;
	rec = ring_reserve(sizeof(*rec));
	if (!rec)
		return STILL_NO_ROOM;
	rec->type = OFFCPU_REC_STILL;
	rec->tno = st->tno;
	rec->cgroup_id = service_cgroup(task);
	copy_comm(rec->comm, task);
	copy_comm(rec->process, plain(task)->group_leader);
	/* else its own event has just sent it */
	if (take_cut(st, since, edge))
		bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	else
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
	return STILL_TOLD;
}

/*
 * User space forgets what crossed long ago, such as stacks of processes that have ended. The next user of a forgotten
 * id must send it again. So at a cut `crossed` is emptied, then each CPU forgets its shared caches, then each thread
 * its ids that have crossed. A running thread may meanwhile copy an id from where it is not forgotten yet; but that is
 * a use, and user space keeps what was used. Kernel stacks stay known: their number is limited.
 */
static __always_inline void forget_crossed(struct thread_state *st)
{
	struct memory *m = memory_of(st);

	st->seen_ustack = st->seen_waker = st->seen_object = 0;
	if (cfg.chain_depth)
		((struct chained_thread *)st)->chain.seen = 0;
	for (int i = 0; i < SEEN_TARGETS; i++)
		st->targets[i].file = 0;
	for (int i = 0; m && i < WALKS; i++)
		m->walks[i].id = 0;
}

/* Runs after the edge, when each CPU was visited. */
SEC("iter/task")
int cut_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct scratch *scratch = iter_scratch_get();
	struct offcpu_rec_thread *rec;
	struct thread_state *st;
	__u64 edge = window.stop_ns, was;
	enum still still;

	if (!task || !task->pid || !scratch)
		return 0;
	st = thread_of(task);
	if (!st)
		return 0;
	if (forgets_crossed)
		forget_crossed(st);
	still = tell_still(task, st, edge);
	if (still != STILL_NOT)
		return still == STILL_NO_ROOM;	/* user space empties the ring and continues from here */
	if (!copy_thread(st, scratch, edge) || (st->mode == MODE_UNKNOWN && is_gone(task)))
		return 0;
	was = scratch->cut.since_ns;
	note_stacks(task, &scratch->cut, scratch);
	if (!fill_cut(task, scratch, edge, false, false))
		return 0;
	rec = ring_reserve(sizeof(*rec));
	if (!rec)
		return 1;	/* as above */
	if (!take_cut(st, was, edge)) {
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
		return 0;
	}
	cut_request(st, &scratch->thread);
	bpf_probe_read_kernel(rec, sizeof(*rec), &scratch->thread);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	keep_noted(st, &scratch->cut);
	blame_cut(task, &scratch->cut, &scratch->thread, cpu_of(task), edge);
	return 0;
}

#endif
