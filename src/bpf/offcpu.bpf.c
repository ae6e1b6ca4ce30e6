/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tracer.  sched_switch and sched_waking are the core and need neither kprobes nor
 * fentry; task_newtask, task_rename and sched_process_exec keep the per-thread state right.
 *
 * A thread's stacks are walked when it is switched in again: they have not changed, the wait's
 * length is known, and the thread still stands in its own __schedule().  The user stack is walked when the thread is
 * switched out where user memory cannot be read later (bpf/walk/pages.bpf.h), or where the wait will be listed anyway.
 */
#include "bpf/visit_cpu.bpf.h"	/* first */
#include "bpf/maps.bpf.h"
#include "bpf/threads.bpf.h"
#include "bpf/walk/stack.bpf.h"
#include "bpf/select.bpf.h"
#include "bpf/running.bpf.h"
#include "bpf/account.bpf.h"
#include "bpf/object.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/snapshot.bpf.h"
#include "bpf/cut.bpf.h"
#include "features/wakers/chain.bpf.h"
#include "features/wakers/waker.bpf.h"
#include "features/blame/blame.bpf.h"
#include "features/storms/storm.bpf.h"
#include "features/requests/wait.bpf.h"
#include "features/requests/socket.bpf.h"
#include "features/oncpu/oncpu.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline bool in_window(__u64 now)
{
	__u64 start_ns = window.start_ns, stop_ns = window.stop_ns;

	return now >= start_ns && now < stop_ns;
}

/* sched_switch's prev_state; before Linux 5.18 (fa2c3254d7cf) it is read from the task. */
static __always_inline __u64 sleep_bits(unsigned long long *ctx, struct task_struct *prev)
{
	if (cfg.has_prev_state)
		return ctx[3];	/* an unsigned int; the kernel zeroes the upper half */
	if (bpf_core_field_exists(prev->__state))
		return prev->__state;
	return BPF_CORE_READ((struct task_struct___old *)prev, state);
}

/*
 * Did the thread leave the run queue?  A pending signal keeps it there though prev_state
 * names a sleep (until Linux 6.12), and delayed dequeue keeps a sleeper there (since 6.12).
 */
static __always_inline bool left_queue(struct task_struct *prev)
{
	if (!on_rq_of(prev))
		return true;
	return bpf_core_field_exists(prev->se.sched_delayed) && prev->se.sched_delayed;
}

#include "bpf/ended.bpf.h"
#include "bpf/sched.bpf.h"
#include "bpf/missed.bpf.h"

/* An exec sets the name first, and ends later (handle_exec()). */
static __always_inline bool is_in_exec(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve);
}

/* Its control group, which shows as another css_set, or its name has changed, where that decides about selection. */
static __always_inline bool has_changed(struct task_struct *task, const struct thread_state *st)
{
	return (cfg.by_cgroup && st->css != plain(task)->cgroups) ||
	       (cfg.by_comm && st->renames != st->seen_renames && !is_in_exec(task));
}

/* A thread goes off CPU that has_changed(): does a filter select it now? */
static __noinline int reselect(struct task_struct *prev, struct thread_state *st, __u64 now)
{
	bool was_renamed = st->renames != st->seen_renames, selected = is_selected(prev, st);

	st->css = plain(prev)->cgroups;
	st->seen_renames = st->renames;
	if (selected == st->selected)
		return 0;
	if (st->selected) {
		st->account.on_cpu_ns += now - st->since_ns;
		send_thread(prev, st, now, OFFCPU_END_LEFT, cfg.by_comm && was_renamed);
	}
	begin_account(st, now);
	st->selected = selected;
	st->mode = MODE_ON_CPU;
	note_kernels_counts(prev, st);
	st->csw--;	/* the current switch is counted already */
	return 0;
}

/* A global function: its stack is apart from the switch's, which Linux 6.1 limits to 512 bytes with all callees. */
__noinline int sum_stretch(struct thread_state *st)
{
	struct offcpu_wait_key key = { .flags = OFFCPU_KEY_ONCPU };
	struct wait_parts parts = { 0 };
	struct kept_wait stretch;

	if (!st)
		return 0;
	key.ustack = hist_key(st);
	key.tno = st->tno;
	if (is_second_half(st->since_ns + st->ran_ns))
		key.flags |= OFFCPU_KEY_SECOND;
	parts.runnable_ns = st->ran_ns;
	sample_keep_alone(&parts, &stretch);
	if (!sum_wait(st, &key, &stretch))
		count_loss(OFFCPU_LOSS_WAIT_MAP, st->ran_ns);
	return 0;
}

static __always_inline void close_stretch(struct thread_state *st, __u64 now)
{
	st->account.on_cpu_ns += now - st->since_ns;
	st->ran_ns = now - st->since_ns;
	if (cfg.hist_oncpu)
		sum_stretch(st);
}

static __noinline int end_thread(struct task_struct *prev, struct thread_state *st, __u64 now)
{
	st->mode = MODE_DEAD;
	if (cfg.want_storms)
		storm_switch_out(st, false, true);
	send_thread(prev, st, now, OFFCPU_END_EXIT, false);
	st->selected = 0;
	return 0;
}

static __always_inline void begin_any_wait(struct task_struct *prev, struct thread_state *st, __u64 bits, bool preempt,
					   const struct task_struct *next)
{
	bool is_queued = preempt || !bits || !left_queue(prev);

	st->mode = is_queued ? MODE_QUEUED : MODE_ASLEEP;
	st->state = is_queued ? OFFCPU_STATE_R : state_of(bits);
	if (is_queued)
		note_preempted(prev, st, next);
}

/* Optional records of a switch-out. */
static __always_inline void note_switch_out(struct task_struct *prev, struct thread_state *st, struct task_struct *next)
{
	bool is_asleep = st->mode == MODE_ASLEEP;

	if (cfg.want_switches)
		st->out_cpu = bpf_get_smp_processor_id();
	if (cfg.want_events && is_asleep) {
		st->by_pid = st->by_tid = 0;
		st->by_comm[0] = 0;
	} else if (cfg.want_events) {
		st->by_pid = next->tgid;
		st->by_tid = next->pid;
		copy_comm(st->by_comm, next);
	}
	if (cfg.want_storms)
		storm_switch_out(st, is_asleep, is_asleep);
}

/* A thread that no filter selects. */
static __always_inline void pass_by(unsigned long long *ctx, struct task_struct *prev, struct thread_state *st,
				    struct scratch *scratch, __u64 bits, __u64 now)
{
	if (!cfg.chain_depth)
		return;
	st->exec_ns = prev->se.sum_exec_runtime;
	other_out(st, scratch, !ctx[0] && bits && left_queue(prev), now);
}

static __always_inline void switch_out(unsigned long long *ctx, struct task_struct *prev, struct scratch *scratch,
				       __u64 scale, __u64 now)
{
	struct thread_state *st = thread_of(prev);
	__u64 bits, csw;

	if (rarely(!st)) {
		count_unknown_thread(prev);
		return;
	}
	bits = sleep_bits(ctx, prev);
	csw = switches_of(prev);
	if (rarely(st->subject_mode != SUBJECT(MODE_ON_CPU))) {
		if (st->selected) {
			recover(prev, st, scratch, now);
		} else if (!has_changed(prev, st)) {
			pass_by(ctx, prev, st, scratch, bits, now);
			return;
		}
	} else if (rarely(csw != st->csw + 1)) {
		miss_switches(prev, st, now);
	}
	if (has_changed(prev, st)) {
		reselect(prev, st, now);
		if (!st->selected) {
			pass_by(ctx, prev, st, scratch, bits, now);
			return;
		}
	}
	request_switch_out(prev, st, bits & TASK_DEAD, now);
	close_stretch(st, now);
	st->account.switches++;
	st->since_ns = now;
	if (mostly(is_plain_sleep(bits) && !ctx[0] && left_queue(prev))) {
		st->phase = PHASE(MODE_ASLEEP, OFFCPU_STATE_S);
	} else if (bits & TASK_DEAD) {
		end_thread(prev, st, now);
		return;
	} else {
		begin_any_wait(prev, st, bits, ctx[0], (void *)ctx[2]);
	}
	note_switch_out(prev, st, (void *)ctx[2]);
	st->csw = csw;
	st->exec_ns = prev->se.sum_exec_runtime;
	draw_sleep(st, scratch, now);
	begin_user_stack(ctx, prev, st, scratch, scale, now);
	note_futex(prev, st, scratch);
	if (cfg.want_objects && rarely(st->tcp.sock))
		begin_tcp_wait(st);
}

/* The first event of a thread in the window is a switch-in. */
static __noinline int meet(struct task_struct *next, struct thread_state *st)
{
	enter_window(st);
	assume_off_cpu(next, st, switches_of(next));
	note_kernels_counts(next, st);
	return 0;
}

static __always_inline void switch_in(struct task_struct *next, struct thread_state *st, struct scratch *scratch,
				      __u64 scale, __u64 now)
{
	if (!st->selected) {
		if (cfg.chain_depth)
			other_in(st, chain_of(st), now);
		return;
	}
	if (st->mode == MODE_UNKNOWN)
		meet(next, st);
	if (cfg.want_switches)
		note_woken(st, &scratch->sched, now);
	if (st->mode == MODE_ON_CPU) {
		count_loss(OFFCPU_LOSS_SEQUENCE, now - st->since_ns);
		note_kernels_counts(next, st);
	} else if (end_wait(next, st, true, now)) {
		sample_ended(next, st, scratch, true, scale, now);
	}
	st->phase = PHASE(MODE_ON_CPU, 0);
	st->since_ns = st->on_ns = now;
}

/* Prefetches next's lines that are in no cache, or in another CPU's, while prev is handled. */
static __always_inline void fetch_early(const struct thread_state *st)
{
	__u64 wake = st->wake_ns, since = st->since_ns, on_cpu = st->account.on_cpu_ns;

	barrier_var(wake);
	barrier_var(since);
	barrier_var(on_cpu);
}

/* Prefetches what listing the ending wait will need, which is in no cache after a long wait. */
static __always_inline void fetch_listed_early(const struct task_struct *next, const struct thread_state *st, __u64 now)
{
	if (now - st->since_ns < COLD_NS)
		return;
	fetch_sum_early(st);
	fetch_stack_early(next);
}

/* pid 0 is swapper, which is never a thread. */
static __always_inline bool is_thread(struct task_struct *task)
{
	return may_be_selected(task) && task->pid;
}

SEC("tp_btf/sched_switch")
int handle_switch(unsigned long long *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool prev_counts = is_thread(prev), next_counts = is_thread(next);
	struct scratch *scratch = my_scratch();
	struct thread_state *next_st = NULL;
	__u64 now, scale;

	if (!scratch)
		return 0;
	/* where all threads are selected, one of the two always is */
	if (!prev_counts && !next_counts && !cfg.want_blame) {
		if (is_open)
			scratch->counts.switches++;
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (cfg.want_blame)
		blame_note(prev, next, now);
	scale = scale_now();
	if (rarely(!in_window(now))) {
		if (!is_behind_cut(now)) {
			if (prev_counts && now >= window.stop_ns && (sleep_bits(ctx, prev) & TASK_DEAD))
				close_dying(prev, scratch);
			return 0;
		}
		cut_switch(prev_counts ? prev : NULL, next_counts ? next : NULL, scratch, now);
		if (scratch->has_cut)
			blame_cut(next, &scratch->cut, &scratch->cut_rec, bpf_get_smp_processor_id(), window.stop_ns);
		scale = 0;	/* a wait that was cut is listed in both windows */
	}
	scratch->counts.switches++;
	if (next_counts) {
		next_st = thread_of(next);
		if (mostly(next_st))
			fetch_early(next_st);
		else
			count_unknown_thread(next);
		if (next_st && cfg.want_waits && is_sure_to_be_listed(next_st, scale))
			fetch_listed_early(next, next_st, now);
	}
	if (prev_counts)
		switch_out(ctx, prev, scratch, scale, now);
	if (next_st)
		switch_in(next, next_st, scratch, scale, now);
	if (cfg.want_switches)
		send_switch(ctx, scratch, now);
	if (rarely(scratch->has_cut))
		send_cut(scratch);
	scratch->last_ns = now;
	return 0;
}

#include "bpf/waking.bpf.h"
#include "features/network/connect.bpf.h"
#include "bpf/lives.bpf.h"
