/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_SNAPSHOT_BPF_H
#define BPF_SNAPSHOT_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/threads.bpf.h"
#include "bpf/walk/stack.bpf.h"
#include "bpf/select.bpf.h"
#include "bpf/running.bpf.h"
#include "bpf/account.bpf.h"
#include "bpf/object.bpf.h"
#include "features/blame/blame.bpf.h"
#include "features/requests/wait.bpf.h"

/*
 * The threads at the edges of the window. Before it, every thread gets its slot (so the scheduler's path never
 * allocates), and every sleeping thread's user stack is read, as it may sleep through the whole window. Just after the
 * start this is repeated for those that moved in between. After the window every thread's account is read with its
 * open wait.
 */

static __always_inline __u64 sleep_bits_now(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

/* It has ended, and was not reaped yet. */
static __always_inline bool is_gone(struct task_struct *task)
{
	return (sleep_bits_now(task) & TASK_DEAD) && !is_on_cpu(task);
}

static __always_inline struct scratch *iter_scratch_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&iter_scratch, &zero);
}

/* The user stack of a sleeping thread, by tables where available; its id or 0. */
static __always_inline __u64 sleeper_stack(struct task_struct *task, struct thread_state *st,
					   struct scratch *scratch, __u8 *ret_by_fp)
{
	const struct space *space = cfg.want_tables ? space_of(st, false) : NULL;	/* or requests them */
	__u32 depth;
	__u64 id;

	*ret_by_fp = !space;
	/* most are walked at the wait's end, and reading here may block on a file system that never answers */
	if (!has_user_stack(task) || (cfg.can_walk && direct_map))
		return 0;
	depth = walk_sleeper(task, space, scratch);
	if (!depth || depth > OFFCPU_MAX_DEPTH)
		return 0;
	id = stack_hash(&scratch->stack, depth, stack_seed(st));
	stack_cross(&scratch->stack, id, depth, st, true, bpf_ktime_get_ns());
	return id;
}

/*
 * A wait that began before its program's tables were loaded, and continues: many processes sleep for seconds right
 * after their start. Its stack cannot change while it sleeps, so it is walked now. The exchange fails if the wait is
 * over, for the next one has another id.
 */
static __always_inline void walk_again(struct task_struct *task, struct thread_state *st,
				       struct scratch *scratch)
{
	__u64 old = st->ustack, id;
	__u8 by_fp;

	if (is_on_cpu(task) || switches_of(task) != st->csw)
		return;
	id = sleeper_stack(task, st, scratch, &by_fp);
	if (!id || by_fp || is_on_cpu(task) || switches_of(task) != st->csw)
		return;
	__sync_val_compare_and_swap(&st->ustack, old, id);
	st->by_fp = 0;
}

/* The current state of a thread without an event. Valid only if end_snapshot() confirms it. */
static __always_inline void begin_snapshot(struct task_struct *task, struct thread_state *st)
{
	__u64 bits = sleep_bits_now(task);

	st->has_snap = 0;
	st->snap_state = state_of(bits);
	st->snap_ustack = 0;
	if (is_on_cpu(task))
		st->snap_mode = MODE_ON_CPU;
	else
		st->snap_mode = bits ? MODE_ASLEEP : MODE_QUEUED;
}

/* One that was asleep may run by now without having been switched out. */
static __always_inline bool runs_as_snapped(const struct task_struct *task, const struct thread_state *st)
{
	return is_on_cpu(task) == (st->snap_mode == MODE_ON_CPU);
}

/* It may have moved, or ended, while it was read; then the second reading or its next event decides. */
static __always_inline void end_snapshot(struct task_struct *task, struct thread_state *st, __u64 csw)
{
	if (thread_of(task) == st && switches_of(task) == csw && runs_as_snapped(task, st)) {
		st->snap_csw = csw;
		st->exec_ns = task->se.sum_exec_runtime;
		st->has_snap = 1;
	}
}

static __always_inline int look_at(struct task_struct *task, bool may_read_user)
{
	struct scratch *scratch = iter_scratch_get();
	struct thread_state *st;
	__u64 csw;

	if (!task || !task->pid || !scratch)
		return 0;
	st = thread_of(task);
	if (is_gone(task)) {
		/* it ended before the window, or its end would have been seen */
		if (st && st->mode == MODE_UNKNOWN)
			st->mode = MODE_DEAD;
		return 0;
	}
	if (!st) {
		st = new_thread(task, false);
		if (!st) {
			count_no_slot();
			return 0;
		}
		identify(task, st);
		draw_first_wait(st);
		select_thread(task, st);
	}
	if (st->selected && st->mode == MODE_ASLEEP && st->by_fp && st->ustack_from == USTACK_BEGUN && may_read_user) {
		walk_again(task, st, scratch);
		return 0;
	}
	csw = switches_of(task);
	if (!st->selected || st->mode != MODE_UNKNOWN ||
	    (st->has_snap && st->snap_csw == csw && !st->snap_by_fp && runs_as_snapped(task, st)))
		return 0;
	begin_snapshot(task, st);
	if (may_read_user)
		st->snap_ustack = sleeper_stack(task, st, scratch, &st->snap_by_fp);
	end_snapshot(task, st, csw);
	return 0;
}

/* Reading this iterator's file looks at every thread; user space reads it twice. */
SEC("iter.s/task")
int look_at_thread(struct bpf_iter__task *ctx)
{
	return look_at(ctx->task, true);
}

/* Before Linux 5.18 (376040e47334, bpf_copy_from_user_task): without user stacks. */
SEC("iter/task")
int look_at_thread_plain(struct bpf_iter__task *ctx)
{
	return look_at(ctx->task, false);
}

/* Has the thread not run since its last switch-out that we saw? */
static __always_inline bool stands_still(struct task_struct *task, const struct thread_state *st)
{
	return !is_on_cpu(task) && switches_of(task) == (st->mode == MODE_UNKNOWN ? st->snap_csw : st->csw);
}

/* Its switches as of its last event: while the number is the same it has not moved. */
static __always_inline __u64 csw_of(const struct thread_state *st)
{
	return st->mode == MODE_UNKNOWN ? st->snap_csw : st->csw;
}

static __always_inline bool is_noted(const struct thread_state *st)
{
	return st->end_noted && st->end_csw == csw_of(st);
}

/* Drops stacks that were noted for another wait. */
static __always_inline void forget_stale_stacks(struct thread_state *st)
{
	if (!is_noted(st))
		st->end_ustack = st->end_kstack = st->end_object = 0;
}

/*
 * Right after the window, or a cut: the longer it takes, the more threads have moved on. Once for each wait, so not
 * repeated after a pause, nor at the next cut.
 */
static __always_inline void note_stacks(struct task_struct *task, struct thread_state *st, struct scratch *scratch)
{
	__u8 from = st->mode == MODE_UNKNOWN ? begins_ustack(task, st) : st->ustack_from;

	if (is_noted(st))
		return;
	st->end_noted = true;
	st->end_csw = csw_of(st);
	st->end_ustack = st->end_kstack = st->end_object = 0;
	if (st->mode == MODE_ON_CPU || !stands_still(task, st))
		return;
	if (from == USTACK_LATE && plain(task)->mm)
		st->end_ustack = sleepers_user_stack(NULL, task, st, scratch, window.stop_ns);
	else if (from == USTACK_LATE)
		st->ustack_from = USTACK_NONE;
	if (cfg.want_kstack)
		st->end_kstack = kernel_stack(task, st, scratch, window.stop_ns);
	look_at_futex(task, st, scratch, true);
	look_at_target(task, st, scratch);
	if (!stands_still(task, st)) {
		st->end_ustack = st->end_kstack = st->target = 0;
		if (!st->futex.noted)
			st->futex.cnt = 0;
	}
	st->end_object = object_of_sleep(st, scratch);
}

/*
 * A waking from before an open sleep belongs to an earlier one, unless the thread has been on CPU since: it was still
 * running when the waking came, and fell asleep later (split_wait() knows that a sleep ended).
 */
static __always_inline void forget_stale_waking(struct task_struct *task, struct thread_state *st)
{
	__u64 bits = sleep_bits_now(task);
	bool sleeps_on = stands_still(task, st) && bits && bits != TASK_WAKING;

	if (st->mode == MODE_ASLEEP && st->wake_ns < st->since_ns && (st->woken_late || sleeps_on))
		st->wake_ns = 0;
}

/* Fills in the open wait of scratch->thread, with the noted stacks. */
static __always_inline void tell_open(struct task_struct *task, struct thread_state *st, struct scratch *scratch,
				      const struct wait_parts *parts, __u64 end)
{
	struct offcpu_rec_thread *rec = &scratch->thread;

	rec->open_state = letter_of(st->state);
	rec->open_flags = (st->open_at_start || began_at_cut(st) ? OFFCPU_OPEN_AT_START : 0) |
			  (st->is_throttled ? OFFCPU_KEY_THROTTLED : 0);
	rec->open_ustack = st->ustack_from == USTACK_LATE ? st->end_ustack : begun_ustack(st);
	rec->open_kstack = st->end_kstack;
	rec->open_waker = waker_of_wait(st, end);
	rec->open_object = st->mode == MODE_ASLEEP ? st->end_object : 0;
	rec->open_blocked_ns = parts->blocked_ns;
	rec->open_runnable_ns = parts->runnable_ns;
	rec->open_preempted_ns = parts->preempted_ns;
}

/* It is listed, so missing stacks are losses. */
static __always_inline void count_open_losses(struct task_struct *task, struct thread_state *st,
					      struct offcpu_rec_thread *rec, __u64 total)
{
	if (cfg.want_kstack && !rec->open_kstack) {
		rec->open_kstack = OFFCPU_STACK_LOST;
		count_loss(OFFCPU_LOSS_KSTACK, total);
	}
	if (st->ustack_from == USTACK_LATE && !rec->open_ustack && plain(task)->mm) {
		rec->open_ustack = OFFCPU_STACK_LOST;
		count_loss(OFFCPU_LOSS_USTACK, total);
	}
}

/* Closes the wait of a thread that is off CPU as the window ends. */
static __always_inline void close_wait(struct task_struct *task, struct thread_state *st,
				       struct scratch *scratch, __u64 end, bool may_blame)
{
	struct offcpu_rec_thread *rec = &scratch->thread;
	struct wait_parts parts;

	rec->flags |= OFFCPU_THREAD_OPEN_AT_END;
	forget_stale_waking(task, st);
	split_wait(st, end, false, &parts);
	if (may_blame)
		blame_open(task, st, &parts, end);
	close_throttled(task, st, rec, stands_still(task, st), end);
	if (!is_listed(st, end - st->since_ns)) {
		add_parts(&rec->account.filtered, &parts);
		return;
	}
	if (!lists_open_wait(st, end)) {
		add_parts(&rec->account.filtered, &parts);
		if (may_be_open_request(st, end)) {
			tell_open(task, st, scratch, &parts, end);
			rec->open_flags |= OFFCPU_OPEN_FILTERED;
		}
		return;
	}
	add_parts(total_of(&rec->account, st->state), &parts);
	tell_open(task, st, scratch, &parts, end);
	count_open_losses(task, st, rec, end - st->since_ns);
}

/* Without an event in the window its mode was the initial one throughout. */
static __always_inline void know_mode(struct task_struct *task, struct thread_state *st)
{
	since_window(st);
	if (st->has_snap && st->snap_mode == MODE_ON_CPU)
		st->mode = MODE_ON_CPU;
	else
		assume_off_cpu(task, st, st->has_snap ? st->snap_csw : switches_of(task));
}

/*
 * Sends the thread's account as of the window's end, once: the iterator may reach a thread that is just dying.
 * has_execed: it is just doing that. False: it was not sent, and is in scratch->thread.
 */
static __always_inline bool close_account(struct task_struct *task, struct thread_state *st, struct scratch *scratch,
					  bool may_blame, bool has_execed)
{
	__u64 end = window.stop_ns;

	enter_window(st);
	if (st->from_ns >= end || __sync_lock_test_and_set(&st->is_closed, 1))
		return true;
	forget_stale_stacks(st);
	if (st->mode == MODE_UNKNOWN)
		know_mode(task, st);
	fill_thread(&scratch->thread, task, st, end, OFFCPU_END_WINDOW, has_execed);
	if (st->mode == MODE_ON_CPU)
		scratch->thread.account.on_cpu_ns += end - st->since_ns;
	else
		close_wait(task, st, scratch, end, may_blame);
	/* After a pause (the ring was full) only those are sent that were not sent before. */
	if (ring_send(&scratch->thread, sizeof(scratch->thread)))
		return false;
	st->mode = MODE_DEAD;
	return true;
}

/* Runs when all programs of the window have ended, which wrote what this reads. */
SEC("iter/task")
int close_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct scratch *scratch = iter_scratch_get();
	struct thread_state *st;

	if (!task || !task->pid || !scratch)
		return 0;
	st = thread_of(task);
	if (!st || !st->selected || st->mode == MODE_DEAD)
		return 0;
	if (st->mode == MODE_UNKNOWN && (leaves_quiet || is_gone(task)))
		return 0;
	note_stacks(task, st, scratch);
	if (close_account(task, st, scratch, true, false))
		return 0;
	st->is_closed = 0;
	return 1;	/* user space empties the ring and continues from here */
}

/*
 * After the window, before the iterator has reached it, a thread dies or becomes another program. The holder of its
 * CPU at the window's end stays unknown: on Linux 6.1 the verifier refuses to follow blame from here.
 */
static __always_inline void close_early(struct task_struct *task, struct thread_state *st, struct scratch *scratch,
					bool has_execed)
{
	if (!st->selected || st->mode == MODE_DEAD || close_account(task, st, scratch, false, has_execed))
		return;
	st->mode = MODE_DEAD;
	send_account(scratch);
}

/* A dying thread is in no list of threads, while it may still wait for a CPU to run its last instructions. */
static __noinline int close_dying(struct task_struct *task, struct scratch *scratch)
{
	struct thread_state *st = thread_of(task);

	if (st)
		close_early(task, st, scratch, false);
	return 0;
}

#endif
