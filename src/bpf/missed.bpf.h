/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_MISSED_BPF_H
#define BPF_MISSED_BPF_H

/*
 * Switches that no program saw: what the kernel's own counts still show. A part of offcpu.bpf.c, which includes what
 * this calls.
 */

/* Since when a thread that goes off CPU now has run without a pause, by the scheduler's count of its CPU time. */
static __always_inline __u64 entered_at(struct task_struct *prev, const struct thread_state *st, __u64 earliest,
					__u64 now)
{
	__u64 ran = prev->se.sum_exec_runtime - st->exec_ns;

	return ran < now - earliest ? now - ran : earliest;
}

/*
 * A thread goes off CPU whose switch-in was not seen. Some kernels hide the switches of threads of their own (a
 * hypervisor's agent). The scheduler's count of its CPU time shows how long it ran; that cannot have begun before the
 * last switch seen on this CPU.
 */
static __always_inline void recover_switch_in(struct task_struct *prev, struct thread_state *st,
					      struct scratch *scratch, __u64 now)
{
	__u64 entered = entered_at(prev, st, scratch->last_ns > st->since_ns ? scratch->last_ns : st->since_ns, now);

	if (cfg.want_requests && st->met_ns > st->since_ns)
		entered = st->met_ns;
	if (cfg.want_switches) {
		note_woken(st, &scratch->sched, entered);
		send_missed_switch(prev, scratch, entered);
	}
	if (end_wait(prev, st, false, entered))
		sample_ended(prev, st, scratch, false, scale_now(), entered);
	count_loss(OFFCPU_LOSS_SEQUENCE, now - entered);
	st->since_ns = st->on_ns = entered;
	st->phase = PHASE(MODE_ON_CPU, 0);
}

/* No event so far: it was on CPU all the time if the scheduler's count agrees; or asleep, and then as above. */
static __always_inline void recover_unknown(struct task_struct *prev, struct thread_state *st,
					    struct scratch *scratch, __u64 now)
{
	__u64 csw = switches_of(prev) - 1;	/* the current switch is counted already */

	enter_window(st);
	if (st->has_snap && st->snap_csw == csw && st->snap_mode != MODE_ON_CPU &&
	    prev->se.sum_exec_runtime - st->exec_ns < now - st->from_ns) {
		assume_off_cpu(prev, st, csw);
		recover_switch_in(prev, st, scratch, now);
	} else {
		since_window(st);
		st->on_ns = st->from_ns;
		st->mode = MODE_ON_CPU;
	}
}

/* A thread goes off CPU that was not known to be running. */
static __noinline int recover(struct task_struct *prev, struct thread_state *st, struct scratch *scratch, __u64 now)
{
	if (st->mode == MODE_UNKNOWN)
		recover_unknown(prev, st, scratch, now);
	else
		recover_switch_in(prev, st, scratch, now);
	return 0;
}

/*
 * A thread goes off CPU, and the kernel counts more switches than were seen since its switch-in. Where and how long it
 * waited is unknown. Its CPU time by the scheduler's count is added up to now; the rest gets no class.
 */
static __noinline int miss_switches(struct task_struct *prev, struct thread_state *st, __u64 now)
{
	__u64 entered = entered_at(prev, st, st->since_ns, now);

	count_loss(OFFCPU_LOSS_SEQUENCE, entered - st->since_ns);
	st->since_ns = st->on_ns = entered;
	return 0;
}

#endif
