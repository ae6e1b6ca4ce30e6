/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_SELECT_BPF_H
#define BPF_SELECT_BPF_H

#include "bpf/cgroups.bpf.h"
#include "bpf/walk/pages.bpf.h"
#include "bpf/threads.bpf.h"

/*
 * Which threads are selected. Decided when a thread is first seen and again at exec; and when it next leaves the CPU
 * after a rename or a move to another cgroup. Never per event; always by the thread's own properties, not the current
 * task's.
 */

/* The number of `pid` in the tracer's pid namespace; 0: none. */
static __always_inline __u32 pid_nr(struct pid *pid)
{
	unsigned int level = BPF_CORE_READ(pid, level);

	for (unsigned int i = 0; i <= 32; i++) {
		struct upid upid;

		if (i > level)
			break;
		/* numbers[] is a flexible array with one element per level */
		if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]))
			break;
		if (BPF_CORE_READ(upid.ns, ns.inum) == cfg.pidns_inum)
			return upid.nr;
	}
	return 0;
}

/* TASK_* bits to enum offcpu_state; `bits` as sched_switch gives them. */
static __always_inline __u8 state_of(__u64 bits)
{
	if (!bits)
		return OFFCPU_STATE_R;
	if (bits & (TASK_STOPPED | TASK_FROZEN))
		return OFFCPU_STATE_T;
	if (bits & TASK_TRACED)
		return OFFCPU_STATE_t;
	if (bits & TASK_PARKED)
		return OFFCPU_STATE_P;
	if (bits & TASK_INTERRUPTIBLE)
		return OFFCPU_STATE_S;
	if ((bits & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == (TASK_UNINTERRUPTIBLE | TASK_NOLOAD))
		return OFFCPU_STATE_I;
	/* Includes TASK_KILLABLE (0x102) and TASK_RTLOCK_WAIT (0x1000). */
	return OFFCPU_STATE_D;
}

/* True for most sleeps: TASK_INTERRUPTIBLE decides the state, unless bits outside this mask are set. */
static __always_inline bool is_plain_sleep(__u64 bits)
{
	return (bits & (TASK_INTERRUPTIBLE | TASK_STOPPED | TASK_TRACED | TASK_PARKED | TASK_DEAD)) ==
	       TASK_INTERRUPTIBLE;
}

const volatile char state_letters[OFFCPU_STATE_COUNT + 1] = OFFCPU_STATE_LETTERS;

/* The letters of docs/semantics.md. */
static __always_inline __u8 letter_of(__u32 state)
{
	state &= 7;
	barrier_var(state);	/* clang knows the bound, the verifier does not */
	return state_letters[state];
}

struct comm {
	char name[OFFCPU_COMM_LEN];
} __attribute__((aligned(8)));

/*
 * fnmatch() with * and ?, bounded: both strings are at most 31 bytes.  A global function: the verifier checks it once.
 */
__noinline int glob_matches(const struct comm *whose)
{
	__u32 c = 0, g = 0, star = ~0U, mark = 0;
	const char *comm = whose ? whose->name : NULL;

	if (!comm)
		return false;

	for (int step = 0; step < 512; step++) {
		char have, want;

		if (c >= OFFCPU_COMM_LEN || !comm[c & (OFFCPU_COMM_LEN - 1)])
			break;
		have = comm[c & (OFFCPU_COMM_LEN - 1)];
		want = comm_glob[g & (2 * OFFCPU_COMM_LEN - 1)];
		if (want == '*') {
			star = g++;
			mark = c;
		} else if (want && (want == '?' || want == have)) {
			g++;
			c++;
		} else if (star != ~0U) {
			g = star + 1;
			c = ++mark;
		} else {
			return false;
		}
	}
	for (int i = 0; i < 2 * OFFCPU_COMM_LEN; i++) {
		if (comm_glob[g & (2 * OFFCPU_COMM_LEN - 1)] != '*')
			break;
		g++;
	}
	return !comm_glob[g & (2 * OFFCPU_COMM_LEN - 1)];
}

#define ANCESTORS_MAX 16

/*
 * Is it one of the selected processes, or a descendant of one? Listing their children beforehand would miss a fork
 * between that and the first event here. A global function, which takes no pointer to a task: the verifier checks it
 * once.
 */
__noinline int is_chosen_or_forked(__u64 parent)
{
	const struct task_struct *task = (const void *)parent;

	for (int i = 0; i < ANCESTORS_MAX; i++, task = BPF_CORE_READ(task, real_parent)) {
		__u32 pid;

		if (!task)
			return false;
		pid = cfg.pidns_inum ? pid_nr(BPF_CORE_READ(task, group_leader, thread_pid)) :
				       BPF_CORE_READ(task, tgid);
		if (pid && bpf_map_lookup_elem(&filter_tgids, &pid))
			return true;
		if (pid <= 1)
			return false;
	}
	return false;
}

static __always_inline bool is_of_chosen_process(struct task_struct *task, struct thread_state *st)
{
	if (st->by_descent || bpf_map_lookup_elem(&filter_tgids, &st->pid))
		return true;
	if (cfg.by_ancestry && is_chosen_or_forked((__u64)BPF_CORE_READ(task, real_parent)))
		st->by_descent = 1;	/* its ancestor may end */
	return st->by_descent;
}

/* comm: its current name, or the one it is about to get. */
static __always_inline bool is_selected_as(struct task_struct *task, struct thread_state *st, const struct comm *comm)
{
	bool kernel = task->flags & PF_KTHREAD;

	/* what is outside our pid namespace is not ours to trace */
	if (cfg.pidns_inum && !st->pid)
		return false;
	if (cfg.self_tgid && st->pid == cfg.self_tgid)
		return false;
	if (kernel ? !cfg.want_kernel : !cfg.want_user)
		return false;
	if (cfg.follow_exec)
		return st->by_descent;
	if (cfg.by_tgid && !is_of_chosen_process(task, st))
		return false;
	if (cfg.by_tid && !st->by_descent && !bpf_map_lookup_elem(&filter_tids, &st->tid))
		return false;
	if (cfg.by_comm && !glob_matches(comm))
		return false;
	if (cfg.by_cgroup && !in_cgroups(task))
		return false;
	return true;
}

static __always_inline bool is_selected(struct task_struct *task, struct thread_state *st)
{
	struct comm comm;

	copy_comm(comm.name, task);
	return is_selected_as(task, st, &comm);
}

/*
 * Indexed by address: reading a task that last ran on another CPU costs more than all else done for an unselected
 * thread.
 */
static __always_inline __u32 selected_bit(const struct task_struct *task)
{
	return hash_of_tag(tag_of(task), SELECTED_SHIFT);
}

/* Its switches are examined from now on. */
static __always_inline void set_selected_bit(const struct task_struct *task)
{
	__u32 bit;

	if (cfg.early_filter) {
		bit = selected_bit(task);
		__sync_fetch_and_or(&selected_bits[bit / 64], 1ULL << (bit & 63));
	}
}

static __always_inline void select_thread(struct task_struct *task, struct thread_state *st)
{
	st->selected = is_selected(task, st);
	st->seen_renames = st->renames;
	if (st->selected)
		set_selected_bit(task);
}

/* Decides without reading its slot; true: read that. */
static __always_inline bool may_be_selected(struct task_struct *task)
{
	__u32 bit;

	if (cfg.looks_at_all)
		return true;
	if (cfg.early_filter) {
		bit = selected_bit(task);
		return selected_bits[bit / 64] >> (bit & 63) & 1;
	}
	return (task->flags & PF_KTHREAD) ? cfg.want_kernel : cfg.want_user;
}

/* The thread's identity, read from the task; again after an exec, which may change its tid. */
static __always_inline void identify(struct task_struct *task, struct thread_state *st)
{
	const struct task_struct *leader = plain(task)->group_leader;

	st->start_ns = task->start_boottime;
	st->proc_start_ns = leader->start_boottime;
	st->tid = task->pid;
	st->pid = task->tgid;
	st->narrow = plain(task)->mm && plain(task)->mm->task_size <= 1ULL << 32;
	st->usual_ustack = usual_ustack(task, st);
	if (cfg.pidns_inum) {
		st->tid = pid_nr(plain(task)->thread_pid);
		st->pid = pid_nr(BPF_CORE_READ(leader, thread_pid));
	}
	if (cfg.by_cgroup)
		st->css = plain(task)->cgroups;
	st->tno = __sync_fetch_and_add(&last_tno, 1) + 1;
}

#endif
