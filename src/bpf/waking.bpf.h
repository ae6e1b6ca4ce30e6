/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WAKING_BPF_H
#define BPF_WAKING_BPF_H

/* sched_waking: when a sleeper was woken, and by whom. A part of offcpu.bpf.c, which includes what this calls. */

/* Records p's waker: of every thread, or only in a storm. The large code for a waker is in one place. */
static __always_inline void note_waker(unsigned long long *ctx, struct task_struct *p, struct thread_state *st,
				       __u64 now)
{
	struct burst *burst = cfg.want_storms && st->selected ? storm_waking(ctx, p, st, now) : NULL;
	struct thread_state *wst = NULL;
	struct scratch *scratch;
	__u64 waker = 0;

	if (!cfg.only_storms || (burst && burst->cnt == STORM_MIN))
		waker = waker_now(ctx, p, st, &wst, now);
	if (burst)
		waker = storm_woken(burst, waker);
	scratch = my_scratch();	/* looked up again, not kept: the stack is full */
	if (scratch)
		compare_callers(st, scratch, waker, now);
	if (cfg.chain_depth && waker && scratch) {
		st->waker_tno = wst ? wst->tno : 0;
		waker = chain_now(p, st, wst, waker, scratch, now);
	}
	st->waker = waker;
}

static __always_inline void skip_waker(struct task_struct *p, struct thread_state *st)
{
	st->waker = WAKER_SKIPPED;
	if (cfg.chain_depth)
		skip_chain(p, st);
}

/* Notes the time of the waking. True: it is within the window, or before. */
static __always_inline bool note_waking(struct thread_state *st, __u64 now)
{
	if (now >= window.stop_ns && !is_cut) {
		st->woken_late = 1;
		return false;
	}
	/* Written first: the line comes from another CPU's cache, and is thus fetched once, for writing. */
	st->wake_ns = now;
	barrier();
	return true;
}

/* The sleeper may be woken before the window: then only later switches show whether it ran. */
static __always_inline bool note_early_waking(struct task_struct *p, struct thread_state *st, __u64 now)
{
	if (now >= window.start_ns)
		return false;
	st->prewake_csw = switches_of(p);
	return true;
}

/*
 * A freezer (control groups version 1, suspend) holds sleepers where they sleep. If its event comes meanwhile the
 * thread is woken by the thaw: then it waited for the thaw, and not for its event.
 */
static __always_inline void note_thaw(struct task_struct *p, struct thread_state *st)
{
	if (bpf_core_field_exists(p->__state) && p->__state == TASK_FROZEN && st->mode == MODE_ASLEEP)
		st->state = OFFCPU_STATE_T;
}

SEC("tp_btf/sched_waking")
int handle_waking(unsigned long long *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct thread_state *st;
	__u64 now;

	if (!may_be_selected(p))
		return 0;
	st = thread_of(p);
	if (!st)
		return 0;
	now = bpf_ktime_get_ns();
	if (!note_waking(st, now))
		return 0;
	note_thaw(p, st);
	if (cfg.want_switches)
		st->wake_cpu = bpf_get_smp_processor_id();
	if (!note_early_waking(p, st, now) && cfg.want_wakers) {
		if (skips_waker(st, now))
			skip_waker(p, st);
		else if (st->selected || (cfg.chain_depth && chains_since_ns))
			note_waker(ctx, p, st, now);
	}
	if (cfg.want_blame || cfg.has_quota)
		note_queue(p, st);
	return 0;
}

#endif
