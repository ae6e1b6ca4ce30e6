/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ACCOUNT_BPF_H
#define BPF_ACCOUNT_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/walk/pages.bpf.h"
#include "bpf/parked.bpf.h"
#include "bpf/select.bpf.h"
#include "bpf/sums.bpf.h"

/*
 * The account of a thread: at every instant it is in one mode, and each event adds the time since the previous event
 * to the class of that mode (docs/semantics.md, "Time of a thread"). What cannot be classified is added to nothing and
 * shows as residual.
 */

/* A thread that is older than the window is observed from the window's start. */
static __always_inline void enter_window(struct thread_state *st)
{
	if (st->from_ns < window.start_ns)
		st->from_ns = window.start_ns;
}

/* Its mode is assumed to have begun then, as nothing else is known; or at the last cut. */
static __always_inline void since_window(struct thread_state *st)
{
	if (st->since_ns < st->from_ns)
		st->since_ns = st->from_ns;
}

/*
 * For sample_is_kept(): the upper bits of a linear congruential generator, with a multiplier of Steele and Vigna,
 * "Computationally easy, spectrally good multipliers" (2021). The helper takes several times as long.
 */
static __always_inline __u32 draw_now(struct scratch *scratch)
{
	__u64 x = scratch->random;

	if (rarely(!x))
		x = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	x = x * 0xd1342543de82ef95ULL + 1;
	scratch->random = x;
	return x >> (64 - SAMPLE_DRAW_BITS);
}

static __always_inline __u64 switches_of(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Its wait, or stretch on the CPU, was cut there: the part before belongs to the previous window. */
static __always_inline bool began_at_cut(const struct thread_state *st)
{
	return cfg.may_cut && (st->since_ns == window.cut_ns || st->since_ns == window.stop_ns);
}

/*
 * Splits an off-CPU stretch of [st->since_ns, now). Asleep, it is blocked up to the waking. The waker may be quicker
 * than the sleeper: it can run between the sleeper's leaving the run queue and its sched_switch event. So a waking
 * seen since the thread last got the CPU, with none after, ended this sleep right at its beginning.
 */
static __always_inline void split_wait(const struct thread_state *st, __u64 now, bool ended,
				       struct wait_parts *parts)
{
	__u64 total = now - st->since_ns;
	__u64 wake = st->wake_ns;

	parts->blocked_ns = parts->runnable_ns = parts->preempted_ns = 0;
	switch (st->mode) {
	case MODE_ASLEEP:
		if (wake >= st->since_ns && wake <= now) {
			parts->blocked_ns = wake - st->since_ns;
			parts->runnable_ns = now - wake;
		} else if (wake && wake >= st->on_ns && wake < st->since_ns) {
			parts->runnable_ns = total;
		} else {
			parts->blocked_ns = total;
			if (ended)
				count_loss(OFFCPU_LOSS_NO_WAKE, total);
		}
		break;
	case MODE_QUEUED:
		parts->preempted_ns = total;
		break;
	case MODE_NEW:
		parts->runnable_ns = total;
		break;
	}
}

/*
 * A thread without an event in the window was in the state that its first event or the snapshot shows, from the
 * window's start. If it was on a run queue at the start it counts as runnable: its waking was not seen. csw: its
 * number of switches when it was last seen standing still.
 */
static __always_inline void assume_off_cpu(struct task_struct *task, struct thread_state *st, __u64 csw)
{
	bool snap = st->has_snap && st->snap_csw == csw;
	bool woken_before = st->wake_ns && st->wake_ns < st->from_ns && st->prewake_csw == csw;

	if (st->wake_ns < st->from_ns)
		st->wake_ns = 0;
	st->open_at_start = st->began_off_cpu = 1;
	since_window(st);
	st->state = snap ? st->snap_state : OFFCPU_STATE_S;
	/* one that was on a run queue in the snapshot can still be woken, without having slept */
	if (!woken_before && (snap ? st->snap_mode == MODE_ASLEEP : st->wake_ns != 0)) {
		st->mode = MODE_ASLEEP;
	} else {
		st->mode = MODE_NEW;
		if (!woken_before)
			st->state = OFFCPU_STATE_R;
	}
	st->ustack_from = begins_ustack(task, st);
	if (st->ustack_from != USTACK_BEGUN)
		return;
	st->ustack = snap ? st->snap_ustack : 0;
	if (!snap)
		count_loss(OFFCPU_LOSS_SNAPSHOT, 0);
}

/*
 * With the waker's stacks a waking costs several times as much, in vain for most short sleeps: a sleep is kept if it
 * takes longer than a bar that is drawn. It may still pass the bar by waiting for a CPU after its waking, so wakers
 * are recorded from a quarter of the bar on. The rest is counted.
 */
#define WAKERS_FROM 4
#define WAKER_SURE_NS 1000000ULL	/* the waker of a sleep this long is always walked: see calls_again() */

/* For a thread that already waits when it is first seen. Not with draw_now(): this code may be preempted. */
static __always_inline void draw_first_wait(struct thread_state *st)
{
	if (cfg.may_sample)
		st->draw = bpf_get_prandom_u32() >> (32 - SAMPLE_DRAW_BITS);
}

static __always_inline void draw_sleep(struct thread_state *st, struct scratch *scratch, __u64 now)
{
	if (!cfg.may_sample && !cfg.want_wakers)
		return;
	st->draw = draw_now(scratch);
	if (!cfg.want_wakers)
		return;
	st->walk_waker_ns = now + (st->draw * WAKER_SURE_NS >> SAMPLE_DRAW_BITS);
	if (cfg.may_sample) {
		__u64 from_ns = sample_bar_ns(scale_ns, st->draw) / WAKERS_FROM;

		st->take_waker_ns = now + (from_ns > wakers_from_ns ? from_ns : wakers_from_ns);
	}
}

static __always_inline bool skips_waker(const struct thread_state *st, __u64 now)
{
	/* a storm needs each of its wakers */
	return cfg.may_sample && !cfg.want_storms && now < st->take_waker_ns;
}

/* The waker of the sleep that began at st->since_ns; by the same signs as split_wait(). */
static __always_inline __u64 waker_of_wait(const struct thread_state *st, __u64 now)
{
	if (!cfg.want_wakers || st->mode != MODE_ASLEEP || !st->wake_ns || st->wake_ns < st->on_ns ||
	    st->wake_ns > now)
		return 0;
	if (st->waker == WAKER_SKIPPED) {
		/* or it was woken while going to sleep */
		count_loss(OFFCPU_LOSS_WAKER_SKIPPED, st->wake_ns > st->since_ns ? st->wake_ns - st->since_ns : 0);
		return 0;
	}
	return st->waker;
}

static __always_inline bool is_listed(const struct thread_state *st, __u64 total)
{
	if (total < cfg.min_ns || total > cfg.max_ns)
		return false;
	return !cfg.state_mask || (cfg.state_mask & 1U << (st->state & 7));
}

static __always_inline void add_parts(struct offcpu_state_total *total, const struct wait_parts *parts)
{
	total->count++;
	total->preempted_ns += parts->preempted_ns;
	total->blocked_ns += parts->blocked_ns;
	total->runnable_ns += parts->runnable_ns;
}

_Static_assert(OFFCPU_STATE_COUNT == 7 && __builtin_offsetof(struct offcpu_account, filtered) ==
						  __builtin_offsetof(struct offcpu_account, state[OFFCPU_STATE_COUNT]),
	       "three bits of a state stay within the account");

static __always_inline struct offcpu_state_total *total_of(struct offcpu_account *account, __u64 state)
{
	state &= 7;
	barrier_var(state);	/* clang knows the bound, the verifier does not */
	return &account->state[state];
}

#define OPEN_OFFSET __builtin_offsetof(struct offcpu_rec_thread, open_ustack)

/*
 * Ends the observation of a thread at `now`: everything but its open wait is in st->account. by_old_name: an exec or a
 * rename has just changed the name; the account is sent under the old one.
 */
static __always_inline __u64 service_cgroup(struct task_struct *task)
{
	return cfg.want_services ? plain(task)->cgroups->dfl_cgrp->kn->id : 0;
}

static __always_inline void fill_thread(struct offcpu_rec_thread *rec, struct task_struct *task,
					struct thread_state *st, __u64 now, __u8 end, bool by_old_name)
{
	struct task_struct *leader = plain(task)->group_leader;

	rec->type = OFFCPU_REC_THREAD;
	rec->tno = st->tno;
	rec->pid = st->pid;
	rec->tid = st->tid;
	rec->start_ns = st->start_ns;
	rec->proc_start_ns = st->proc_start_ns;
	rec->from_ns = st->from_ns;
	rec->to_ns = now;
	rec->account = st->account;
	rec->throttled_runnable_ns = st->throttled_runnable_ns;
	rec->throttled_preempted_ns = st->throttled_preempted_ns;
	rec->cgroup_id = service_cgroup(task);
	copy_comm(rec->process, leader);
	if (by_old_name) {
		__builtin_memcpy(rec->comm, st->old_comm, OFFCPU_COMM_LEN);
		if (leader == plain(task))	/* always true after an exec */
			__builtin_memcpy(rec->process, st->old_comm, OFFCPU_COMM_LEN);
	} else {
		copy_comm(rec->comm, task);
	}
	rec->flags = (task->flags & PF_KTHREAD ? OFFCPU_THREAD_KERNEL : 0) |
		     (st->began_off_cpu ? OFFCPU_THREAD_OPEN_AT_START : 0);
	rec->end = end;
	rec->open_state = 0;
	rec->open_flags = 0;
	__builtin_memset((char *)rec + OPEN_OFFSET, 0, sizeof(*rec) - OPEN_OFFSET);
}

/* The thread continues as another row. */
static __always_inline void empty_account(struct thread_state *st)
{
	__builtin_memset(&st->account, 0, sizeof(st->account));
	st->began_off_cpu = 0;
	st->throttled_runnable_ns = st->throttled_preempted_ns = 0;
}

/* A filter begins or ceases to select it: it gets a new row. */
static __always_inline void begin_account(struct thread_state *st, __u64 now)
{
	empty_account(st);
	st->tno = __sync_fetch_and_add(&last_tno, 1) + 1;
	st->from_ns = st->since_ns = st->on_ns = now;
}

static __always_inline void send_thread(struct task_struct *task, struct thread_state *st, __u64 now,
					__u8 end, bool by_old_name)
{
	struct scratch *scratch = my_scratch();

	if (!scratch)
		return;
	fill_thread(&scratch->thread, task, st, now, end, by_old_name);
	send_account(scratch);
}

#endif
