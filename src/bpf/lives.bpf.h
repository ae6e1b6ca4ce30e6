/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_LIVES_BPF_H
#define BPF_LIVES_BPF_H

/*
 * Births, deaths, names and execs: the identity of each thread. The last part of offcpu.bpf.c, which includes what
 * this calls.
 */

static __always_inline void count_unfollowed(void)
{
	struct scratch *scratch = my_scratch();

	if (scratch)
		__sync_fetch_and_add(&scratch->counts.unfollowed, 1);
}

/* Also for threads born before the window: the scheduler's path never allocates. */
SEC("tp_btf/task_newtask")
int BPF_PROG(handle_newtask, struct task_struct *task, unsigned long clone_flags)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct thread_state *st = new_thread(task, true);
	struct thread_state *pst;
	__u64 now = bpf_ktime_get_ns();

	if (!st) {
		count_no_slot();
		return 0;
	}
	identify(task, st);
	draw_first_wait(st);
	/* The idle task of a CPU that comes up has pid 0; swapper never counts as a thread. */
	pst = thread_of(parent);
	if (pst) {
		st->exec_no = pst->exec_no;
		st->by_descent = pst->by_descent || (cfg.follow_forks && pst->selected);
		/* it still shares the parent's mappings */
		st->tables_epoch = pst->tables_epoch;
		st->tables_generation = pst->tables_generation;
		st->speaks = pst->speaks;
		note_fork(task, st, parent, pst);
	}
	select_thread(task, st);
	if (pst && pst->selected && !st->selected && now >= window.start_ns)
		count_unfollowed();
	st->from_ns = st->since_ns = now;
	st->mode = MODE_NEW;
	st->state = OFFCPU_STATE_R;
	if (now < window.start_ns) {
		/* born before the window: its first event there shows what it was doing */
		st->mode = MODE_UNKNOWN;
		st->from_ns = 0;
	}
	return 0;
}

/* Called when a thread was switched out for the last time, was reaped, and a grace period has passed. */
SEC("tp_btf/sched_process_free")
int handle_free(unsigned long long *ctx)
{
	__u32 slot = forget_thread((void *)ctx[0]);
	struct thread_state *st = thread_in(slot);

	if (st) {
		give_memory_back(st);
		give_request_back(st);
		give_slot(slot);
	}
	return 0;
}

/*
 * A thread gets a name by which a filter may select it. A running thread is checked when it goes off CPU, and so is
 * one that another thread renames; unless it is off CPU already, which may last.
 */
static __always_inline void select_by_name(struct task_struct *task, struct thread_state *st, const char *name)
{
	struct comm comm = {};
	__u64 now;

	bpf_probe_read_kernel_str(comm.name, sizeof(comm.name), name);
	if (st->selected || !is_selected_as(task, st, &comm))
		return;
	set_selected_bit(task);
	if (is_on_cpu(task))
		return;
	now = bpf_ktime_get_ns();
	begin_account(st, now);
	st->mode = MODE_UNKNOWN;
	begin_snapshot(task, st);
	end_snapshot(task, st, switches_of(task));
	st->seen_renames = st->renames;
	st->selected = 1;
}

SEC("tp_btf/task_rename")
int BPF_PROG(handle_rename, struct task_struct *task, const char *comm)
{
	struct thread_state *st = thread_of(task);

	if (!st)
		return 0;
	/* If names matter, use the name before the first rename since selection was last decided */
	if (!cfg.by_comm || st->renames == st->seen_renames)
		copy_comm(st->old_comm, task);
	st->renames++;
	if (cfg.by_comm)
		select_by_name(task, st, comm);
	return 0;
}

/* An exec starts another program in the thread: its account so far is closed under the old name. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(handle_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct thread_state *st = thread_of(task);
	struct scratch *scratch = my_scratch();
	__u64 now = bpf_ktime_get_ns();

	if (!st || !scratch)
		return 0;
	if (now >= window.stop_ns) {
		if (!is_cut) {
			close_early(task, st, scratch, true);
			return 0;
		}
		cut_exec(task, scratch, now);
	}
	request_exec(st, now);
	if (now >= window.start_ns && st->selected) {
		if (st->mode == MODE_UNKNOWN) {
			enter_window(st);
			since_window(st);
		}
		close_stretch(st, now);
		send_thread(task, st, now, OFFCPU_END_EXEC, true);
	}
	identify(task, st);
	empty_account(st);
	st->exec_no++;
	st->forked_space = 0;
	st->tables_epoch = st->tables_generation = 0;
	if (cfg.follow_exec && cfg.command_pid == st->pid)
		st->by_descent = 1;
	select_thread(task, st);
	st->mode = MODE_ON_CPU;
	note_kernels_counts(task, st);
	st->from_ns = st->since_ns = st->on_ns = now;
	st->seen_ustack = 0;
	if (now < window.start_ns) {
		st->mode = MODE_UNKNOWN;
		st->from_ns = 0;
	}
	return 0;
}

#endif
