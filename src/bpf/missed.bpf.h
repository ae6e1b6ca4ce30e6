/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_MISSED_BPF_H
#define BPF_MISSED_BPF_H

/*
 * Switches that no program saw: what the kernel's own counts still say.  A part of offcpu.bpf.c, which has what it
 * calls.
 */

/* Since when a thread that goes off CPU now has run without a pause, by the scheduler's count of its CPU time. */
static __always_inline __u64 entered_at(struct task_struct *prev, const struct thread_state *st, __u64 earliest,
					__u64 now)
{
	__u64 ran = prev->se.sum_exec_runtime - st->exec_ns;

	return ran < now - earliest ? now - ran : earliest;
}

/*
 * A thread goes off CPU that was never seen to get it.  It happens: some kernels hide the
 * switches of threads of their own (a hypervisor's agent).  How long it ran the scheduler's
 * own count of its CPU time tells; it cannot have begun before the last switch seen here.
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

/*
 * Without an event so far: was it on CPU all the time, as the scheduler's count of that may say; or asleep, and then
 * as above?
 */
static __always_inline void recover_unknown(struct task_struct *prev, struct thread_state *st,
					    struct scratch *scratch, __u64 now)
{
	__u64 csw = switches_of(prev) - 1;	/* this switch is counted already */

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

/* A thread goes off CPU of which another thing was known than that it ran. */
static __noinline int recover(struct task_struct *prev, struct thread_state *st, struct scratch *scratch, __u64 now)
{
	if (st->mode == MODE_UNKNOWN)
		recover_unknown(prev, st, scratch, now);
	else
		recover_switch_in(prev, st, scratch, now);
	return 0;
}

/*
 * A thread goes off CPU, and by the kernel's count more often than was seen since it got it: where these stood and how
 * long nobody knows.  It is said to have run what the scheduler's count of its CPU time says, up to now; the rest is
 * of no class.
 */
static __noinline int miss_switches(struct task_struct *prev, struct thread_state *st, __u64 now)
{
	__u64 entered = entered_at(prev, st, st->since_ns, now);

	count_loss(OFFCPU_LOSS_SEQUENCE, entered - st->since_ns);
	st->since_ns = st->on_ns = entered;
	return 0;
}

#endif
