/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_STORMS_STORM_BPF_H
#define FEATURES_STORMS_STORM_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/threads.bpf.h"
#include "features/wakers/waker.bpf.h"
#include "features/storms/abi.h"

/*
 * Wakeup storms: one event makes many threads runnable, and most of them sleep again at once.
 *
 * A burst is a sequence of wakings by one thread from one place in its program, without a sleep or long pause in
 * between; or by one interrupt. No event wakes a thread twice: answering one client repeatedly is no storm. Each woken
 * thread notes its burst. At the STORM_MIN-th waking the burst becomes a storm: its waker is recorded, and the burst
 * gets a place in a table. When a woken thread sleeps again it looks its burst up there, and adds its running time to
 * the waker's sum.
 *
 * The call's first argument distinguishes one call (a broadcast) from a loop over waiters: it is a lock's address or a
 * file, and does not change during one call.
 */

#define BURST_GAP_NS 1000000
#define MADE_OUT_NS 20000000	/* the same after recording the waker, which takes long with cold caches */
#define STORM_PLACES 1024

/* Marks a burst as a storm. */
struct storm_place {
	__u64 burst;
	__u64 waker;
};

MAP(storm_places, ARRAY, __u32, struct storm_place, STORM_PLACES);

/* By the waker's id; read when the window is over. */
MAP(storms, HASH, __u64, struct storm_sum, 4096);

/* Bursts of a CPU's interrupts: soft and hard ones. */
struct irq_bursts {
	struct burst burst[2];
};

MAP(irq_bursts, PERCPU_ARRAY, __u32, struct irq_bursts, 1);

static __always_inline struct storm_place *storm_place_of(__u64 burst)
{
	__u32 at = (burst * STACK_MIX) >> 54;	/* 10 bits: STORM_PLACES */

	return bpf_map_lookup_elem(&storm_places, &at);
}

/* The burst that the current waking continues or begins, identified by `who`, `place` and `call`. */
static __always_inline struct burst *burst_now(unsigned long long *ctx, struct task_struct *task, struct burst *now)
{
	struct irq_note *note = my_irq_note();
	struct irq_bursts *of_irqs;
	struct thread_state *wst;
	struct pt_regs *regs;
	__u32 zero = 0, hard;

	if (!note)
		return NULL;
	hard = in_hard_interrupt(note) || (!note->served && on_interrupt_stack(number_of(ctx, &note->addr)));
	if (hard || note->served) {
		of_irqs = bpf_map_lookup_elem(&irq_bursts, &zero);
		now->who = (1ULL << 63) | (__u64)bpf_get_smp_processor_id() << 1 | hard;
		now->place = hard ? note->hard_cnt : note->soft_cnt;
		now->call = 0;
		now->is_irq = true;
		return of_irqs ? &of_irqs->burst[hard] : NULL;
	}
	wst = thread_of(task);
	if (!wst)
		return NULL;
	now->who = wst->tno;
	now->place = task->nvcsw;
	now->preempted_cnt = task->nivcsw;
	now->call = 0;
	regs = task->flags & PF_KTHREAD ? NULL : (struct pt_regs *)bpf_task_pt_regs(task);
	if (regs) {
		now->place = mix(mix(now->place, regs->REG_IP), regs->REG_SP);
		now->call = argument(regs, 1);
	}
	return &wst->burst;
}

/* Counts a waking of a storm; true: it was one. */
static __always_inline bool storm_count(const struct burst *b, __u32 woken_cnt, __u32 call_cnt)
{
	struct storm_sum *sum = bpf_map_lookup_elem(&storms, &b->waker);

	if (!sum)
		return false;
	if (woken_cnt == STORM_MIN)
		__sync_fetch_and_add(&sum->event_cnt, 1);
	__sync_fetch_and_add(&sum->woken_cnt, woken_cnt);
	if (call_cnt)
		__sync_fetch_and_add(&sum->call_cnt, call_cnt);
	if (b->cnt > sum->most_cnt)
		sum->most_cnt = b->cnt;
	return true;
}

static __always_inline void storm_begin(const struct burst *b)
{
	struct storm_place *place = storm_place_of(b->id);
	struct storm_sum empty = {};

	if (!storm_count(b, STORM_MIN, b->call_cnt)) {
		bpf_map_update_elem(&storms, &b->waker, &empty, BPF_NOEXIST);
		if (!storm_count(b, STORM_MIN, b->call_cnt)) {
			count_loss(OFFCPU_LOSS_STORM_MAP, 0);
			return;
		}
	}
	if (place) {
		/* a reader that finds the burst also sees its waker */
		*(volatile __u64 *)&place->burst = 0;
		*(volatile __u64 *)&place->waker = b->waker;
		*(volatile __u64 *)&place->burst = b->id;
	}
}

static __always_inline bool is_pause(const struct burst *b, __u64 now)
{
	return now - b->last_ns > (b->cnt == STORM_MIN ? MADE_OUT_NS : BURST_GAP_NS);
}

/* st's thread is being woken: in an open burst, or the first of one. NULL: the waker is not known. */
static __always_inline struct burst *storm_waking(unsigned long long *ctx, struct task_struct *p,
						  struct thread_state *st, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct burst is = {}, *b;

	if (task == p)
		return NULL;
	b = burst_now(ctx, task, &is);
	if (!b)
		return NULL;
	if (!b->cnt || b->who != is.who || b->place != is.place || st->burst_id == b->id ||
	    (is_pause(b, now) && b->preempted_cnt == is.preempted_cnt && !is.is_irq)) {
		b->who = is.who;
		b->place = is.place;
		b->id = mix(mix(STACK_MIX, is.who), now);
		b->cnt = b->call_cnt = 0;
		b->waker = 0;
	}
	b->is_new_call = !b->cnt || b->call != is.call;
	b->call_cnt += b->is_new_call;
	b->call = is.call;
	b->preempted_cnt = is.preempted_cnt;
	b->last_ns = now;
	b->cnt++;
	st->burst_id = b->id;
	return b;
}

/* When the waker is known, if it is wanted: counts the waking if the burst is a storm. Returns its waker, or 0. */
static __always_inline __u64 storm_woken(struct burst *b, __u64 waker)
{
	if (b->cnt < STORM_MIN)
		return waker;
	if (b->cnt == STORM_MIN) {
		b->waker = waker;
		if (waker)
			storm_begin(b);
	} else if (b->waker) {
		storm_count(b, 1, b->is_new_call);
	}
	return waker ? waker : b->waker;
}

/* Was it woken since it last got the CPU? If it is only now going to sleep, the waker was quicker than the sleeper. */
static __always_inline bool woken_since_on(const struct thread_state *st)
{
	return st->wake_ns >= st->on_ns;
}

/* The waker, if it was a storm and the thread one of the first, for which no waker was recorded yet. */
static __always_inline __u64 storm_waker(const struct thread_state *st, __u64 waker)
{
	const struct storm_place *place;

	if (waker || st->burst_id == st->burst_over || st->mode != MODE_ASLEEP || !woken_since_on(st))
		return waker;
	place = storm_place_of(st->burst_id);
	return place && place->burst == st->burst_id ? place->waker : 0;
}

/* It gets the CPU after a delay. */
static __always_inline void storm_delay(struct thread_state *st, __u64 delay_ns)
{
	if (st->burst_id != st->burst_over)
		st->burst_delay_ns += delay_ns;
}

/* What a thread did since it was woken by a burst, if that was a storm. */
static __always_inline void storm_end(const struct thread_state *st, bool is_asleep)
{
	struct storm_place *place = storm_place_of(st->burst_id);
	__u64 waker = place && place->burst == st->burst_id ? place->waker : 0;
	struct storm_sum *sum = waker ? bpf_map_lookup_elem(&storms, &waker) : NULL;

	if (!sum)
		return;
	__sync_fetch_and_add(&sum->ended_cnt, 1);
	__sync_fetch_and_add(&sum->cpu_ns, st->burst_ran_ns);
	__sync_fetch_and_add(&sum->delay_ns, st->burst_delay_ns);
	if (!is_asleep || st->burst_ran_ns > STORM_AGAIN_NS)
		return;
	__sync_fetch_and_add(&sum->again_cnt, 1);
	__sync_fetch_and_add(&sum->again_ns, st->burst_ran_ns);
}

/* The thread goes off CPU; is_over: it sleeps or exits. A global function: the verifier checks it once. */
__noinline int storm_switch_out(struct thread_state *st, bool is_asleep, bool is_over)
{
	if (!cfg.want_storms || !st || st->burst_id == st->burst_over)
		return 0;
	if (!woken_since_on(st)) {
		st->burst_ran_ns += st->ran_ns;
		if (!is_over)
			return 0;
		storm_end(st, is_asleep);
		st->burst_over = st->burst_id;
	} else if (!is_over) {
		return 0;
	}
	st->burst_ran_ns = st->burst_delay_ns = 0;
	return 0;
}

#endif
