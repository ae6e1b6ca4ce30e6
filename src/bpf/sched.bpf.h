/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_SCHED_BPF_H
#define BPF_SCHED_BPF_H

/*
 * Records each context switch of traced threads (abi/sched_abi.h). A waking is part of the record of the switch that
 * it led to: only then is it known whether it was for that sleep (see split_wait()). A part of offcpu.bpf.c, which
 * includes what this calls.
 */

/* The waker of the thread that gets the CPU, whose wait has not ended yet. */
static __always_inline void note_woken(const struct thread_state *st, struct offcpu_rec_switch *rec, __u64 now)
{
	rec->wake_ns = rec->waker = 0;
	rec->wake_cpu = 0;
	rec->is_new = 0;
	if (st->mode == MODE_NEW) {
		rec->wake_ns = st->since_ns;
		rec->is_new = 1;
		return;
	}
	if (st->mode != MODE_ASLEEP || !st->wake_ns || st->wake_ns < st->on_ns || st->wake_ns > now)
		return;
	rec->wake_ns = st->wake_ns;
	rec->wake_cpu = st->wake_cpu;
	rec->waker = waker_of_wait(st, now);
	if (rec->wake_ns > st->since_ns)
		return;
	rec->wake_ns = st->since_ns;
	rec->wake_cpu = st->out_cpu;
}

/* False: it is not traced. */
static __always_inline bool tell_side(struct offcpu_sched_thread *side, struct task_struct *task, __u8 *ret_state)
{
	struct thread_state *st = may_be_selected(task) && task->pid ? thread_of(task) : NULL;

	if (!st || !(st->selected || st->mode == MODE_DEAD)) {
		__builtin_memset(side, 0, sizeof(*side));
		return false;
	}
	side->pid = st->pid;
	side->tid = st->tid;
	side->prio = task->prio;
	bpf_probe_read_kernel(side->comm, sizeof(side->comm), task->comm);
	if (ret_state)
		*ret_state = st->mode == MODE_DEAD ? 'X' : st->mode == MODE_ASLEEP ? letter_of(st->state) : 'R';
	return true;
}

static __always_inline void send_sched(struct offcpu_rec_switch *rec, __u64 ns)
{
	rec->type = OFFCPU_REC_SWITCH;
	rec->cpu = bpf_get_smp_processor_id();
	rec->ns = ns;
	if (ring_send(rec, sizeof(*rec)))
		count_loss(OFFCPU_LOSS_RING_SWITCH, 0);
}

/* A switch-in that was not reported (bpf/missed.bpf.h); call it after note_woken(). */
static __noinline int send_missed_switch(struct task_struct *task, struct scratch *scratch, __u64 ns)
{
	struct offcpu_rec_switch *rec = &scratch->sched;

	__builtin_memset(&rec->prev, 0, sizeof(rec->prev));
	rec->prev_state = rec->is_preempted = 0;
	if (tell_side(&rec->next, task, NULL))
		send_sched(rec, ns);
	return 0;
}

/* Called after both threads' accounts. The waking in scratch->sched is next's. */
static __noinline int send_switch(unsigned long long *ctx, struct scratch *scratch, __u64 now)
{
	struct offcpu_rec_switch *rec = &scratch->sched;
	bool prev_counts, next_counts;

	rec->prev_state = 0;
	prev_counts = tell_side(&rec->prev, (void *)ctx[1], &rec->prev_state);
	next_counts = tell_side(&rec->next, (void *)ctx[2], NULL);
	if (!prev_counts && !next_counts)
		return 0;
	if (!next_counts)
		rec->wake_ns = rec->waker = 0;
	rec->is_preempted = ctx[0] != 0;
	send_sched(rec, now);
	return 0;
}

#endif
