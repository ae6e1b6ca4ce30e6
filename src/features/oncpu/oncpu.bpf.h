/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_ONCPU_ONCPU_BPF_H
#define FEATURES_ONCPU_ONCPU_BPF_H

#include "features/oncpu/abi.h"
#include "bpf/maps.bpf.h"
#include "bpf/walk/stack.bpf.h"
#include "bpf/threads.bpf.h"

/*
 * Samples of running threads, by a timer on each CPU (perf's software event cpu-clock), if requested. A sample is a
 * thread and its stacks, like those of a wait: same walker, ids and records. User space converts samples to time: they
 * divide each thread's account, which is exact (profile/profile.h).
 *
 * The timer interrupts a thread anywhere, so walks are not cached: the next one begins elsewhere. Their memory is
 * separate from that of the programs at the scheduler's tracepoints, which an interrupt may find in use.
 */

MAP(oncpu_sums, HASH, struct oncpu_key, struct oncpu_sum, ONCPU_SUMS_MAX);

struct oncpu_scratch {
	struct oncpu_cost cost;	/* first, as user space reads it */
	struct oncpu_key key;
	struct oncpu_sum one;
	struct walk_state walk;
	struct offcpu_rec_stack stack;
	struct language_scratch language;
	struct context_scratch context;
};
_Static_assert(__builtin_offsetof(struct oncpu_scratch, stack) - __builtin_offsetof(struct oncpu_scratch, walk) ==
	       __builtin_offsetof(struct walk_and_stack, stack), "");

MAP(oncpu_scratches, PERCPU_ARRAY, __u32, struct oncpu_scratch, 1);

const volatile __u64 oncpu_slice_ns = 1000000000;
/* Interval of samples on a CPU; user space sets it together with the timers. */
volatile __u64 oncpu_period_ns RARELY_WRITTEN = 0;

/* A global function: the verifier checks it once. */
__noinline __u64 oncpu_walk(struct thread_state *st, struct oncpu_scratch *scratch, __u64 now)
{
	bool crossed_now;
	__u32 depth;

	if (!st || !scratch)
		return 0;
	struct user_walk w = { .stack = &scratch->stack, .at = &scratch->walk };

	know_seed(st, w.at);
	if (cfg.want_tables)
		w.space = space_of(st, w.at->in_parents) ?: made_space(st, w.at->task, MADE_FOR_SAMPLES);
	depth = walk_in_full(&w);
	return user_stack_id(st, w.stack, depth, w.at->met_gap ? stack_seed(st) : w.at->seed, now, &crossed_now);
}

/* The running thread's user stack; OFFCPU_STACK_LOST: it could not be walked. */
static __always_inline __u64 oncpu_user_stack(void *ctx, struct task_struct *task, struct thread_state *st,
					      struct oncpu_scratch *scratch, __u64 now)
{
	bool crossed_now;
	__u64 id;

	if (!plain(task)->mm || (task->flags & PF_KTHREAD))
		return 0;
	know_tables(task, st);
	if (!cfg.can_walk || !begin_walk(&scratch->walk, task, false))
		return user_stack_id(st, &scratch->stack, kernels_own_walk(ctx, &scratch->stack), stack_seed(st), now,
				     &crossed_now) ?: OFFCPU_STACK_LOST;
	scratch->walk.in_parents = is_in_parents(task, st);
	id = oncpu_walk(st, scratch, now);
	lacked_table(st, scratch->walk.met_gap);
	if (rarely(st->speaks) && id) {
		scratch->walk.thread_pointer = thread_pointer(plain(task));
		if (st->speaks & SPACE_HAS_LANGUAGE)
			id = language_stack(st, &scratch->walk, &scratch->language, id, now);
		if (st->speaks & SPACE_HAS_CONTEXT)
			id = context_stack(st, &scratch->walk, &scratch->context, id, now);
	}
	return id ?: OFFCPU_STACK_LOST;
}

/* For a thread interrupted in the kernel: its stack without the interrupt's frames. */
static __always_inline __u64 oncpu_kernel_stack(void *ctx, struct thread_state *st, struct oncpu_scratch *scratch,
						__u64 now)
{
	struct offcpu_rec_stack *stack = &scratch->stack;
	long bytes = bpf_get_stack(ctx, stack->ip, cfg.max_depth * sizeof(__u64), 0);
	__u32 depth;
	__u64 id;

	if (bytes <= 0) {
		count_loss(OFFCPU_LOSS_KSTACK, 0);
		return OFFCPU_STACK_LOST;
	}
	depth = (__u32)bytes / sizeof(__u64);
	if (depth > OFFCPU_MAX_DEPTH)
		return OFFCPU_STACK_LOST;
	stack->end = depth >= cfg.max_depth ? OFFCPU_WALK_CUT : OFFCPU_WALK_COMPLETE;
	stack->is_exact = 1;
	id = stack_hash(stack, depth, 0);
	stack_cross(stack, id, depth, st, false, now);
	return id;
}

static __always_inline void oncpu_add(struct oncpu_scratch *scratch)
{
	struct oncpu_sum *sum = bpf_map_lookup_elem(&oncpu_sums, &scratch->key);

	if (!sum) {
		scratch->one.samples = scratch->one.weight_ns = 0;
		bpf_map_update_elem(&oncpu_sums, &scratch->key, &scratch->one, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&oncpu_sums, &scratch->key);
	}
	if (!sum) {
		count_loss(OFFCPU_LOSS_ONCPU_MAP, 0);
		return;
	}
	/* not atomic: a thread is on one CPU at a time */
	sum->samples++;
	sum->weight_ns += oncpu_period_ns;
}

SEC("perf_event")
int sample_on_cpu(struct oncpu_context *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now = bpf_ktime_get_ns();
	struct oncpu_scratch *scratch;
	struct thread_state *st;

	if (now < window.start_ns || (now >= window.stop_ns && !is_behind_cut(now)) || !task->pid ||
	    !may_be_selected(task))
		return 0;
	st = thread_of(task);
	scratch = bpf_map_lookup_elem(&oncpu_scratches, (const void *)&small_keys[0]);
	if (!st || !scratch || !st->selected)
		return 0;
	scratch->key.ustack = scratch->key.kstack = 0;
	if (cfg.want_ustack)
		scratch->key.ustack = oncpu_user_stack(ctx, task, st, scratch, now);
	if (cfg.want_kstack && !ran_in_user_mode(ctx))
		scratch->key.kstack = oncpu_kernel_stack(ctx, st, scratch, now);
	scratch->key.tno = st->tno;
	scratch->key.slice = cfg.may_cut ? is_second_half(now) : (now - window.start_ns) / oncpu_slice_ns;
	oncpu_add(scratch);
	scratch->cost.runs++;
	scratch->cost.ns += bpf_ktime_get_ns() - now;
	return 0;
}

#endif
