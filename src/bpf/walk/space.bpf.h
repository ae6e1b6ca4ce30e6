/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_SPACE_BPF_H
#define BPF_WALK_SPACE_BPF_H

/* The address space of a thread, which seeds the ids of its stacks, and the unwind tables that are valid there. */
#include "bpf/kernel_word.bpf.h"
#include "bpf/threads.bpf.h"

#define SPACE_ASKED 0x5bace5bace5baceULL	/* distinguishes a space's id in `crossed` from a stack's */

/* The address space of the thread's program; seeds its stack ids. */
static __always_inline __u64 stack_seed(const struct thread_state *st)
{
	return (st->proc_start_ns * STACK_MIX) ^ ((__u64)st->pid << 32) ^ st->exec_no;
}

/*
 * How often an address space was locked to change its mappings: while the number is the same they are unchanged. 0:
 * this kernel has no such count.
 */
static __always_inline __u32 changes_of(__u64 mm)
{
	struct mm_struct___seqcount *as_seqcount = NULL;
	struct mm_struct *plain_mm = NULL;

	if (bpf_core_field_exists(as_seqcount->mm_lock_seq.sequence))
		return word_at(AT(struct mm_struct___seqcount, mm, mm_lock_seq.sequence));
	return bpf_core_field_exists(plain_mm->mm_lock_seq) ? word_at(AT(struct mm_struct, mm, mm_lock_seq)) : 0;
}

static __always_inline __u32 mapping_changes(const struct task_struct *task)
{
	const struct mm_struct *mm = plain(task)->mm;

	return mm ? changes_of((__u64)mm) : 0;
}

/*
 * Is the thread's process the child of another one with which it still shares all mappings? Then its stacks and tables
 * are the parent's: most processes end too soon to be examined themselves.
 */
static __always_inline bool is_in_parents(const struct task_struct *task, const struct thread_state *st)
{
	return st->forked_space && st->forked_changes && st->forked_changes == mapping_changes(task);
}

/* For a thread that parent just made: in its own process, or in another. */
static __always_inline void note_fork(const struct task_struct *task, struct thread_state *st,
				      const struct task_struct *parent, const struct thread_state *pst)
{
	bool is_thread = st->pid == pst->pid;

	st->forked_space = is_thread || is_in_parents(parent, pst) ? pst->forked_space : stack_seed(pst);
	st->forked_changes = is_thread ? pst->forked_changes : mapping_changes(task);
}

/* Requests the program's tables, once. A global function: its record is too large for the callers' stacks. */
__noinline int ask_for_space(const struct thread_state *st)
{
	struct offcpu_rec_space rec = { .type = OFFCPU_REC_SPACE };
	__u64 mark;

	if (!st)
		return 0;
	rec.pid = st->pid;
	rec.space = stack_seed(st);
	mark = rec.space ^ SPACE_ASKED;
	if (!has_crossed(mark) && !ring_send(&rec, sizeof(rec)))
		note_crossed(mark);
	return 0;
}

#define YOUNG_NS 100000000ULL

/* The thread's own space, or that of the process that forked it. in_parents: result of is_in_parents(). */
static __always_inline const struct space *space_of(const struct thread_state *st, bool in_parents)
{
	__u64 key = stack_seed(st);
	const struct space *space = bpf_map_lookup_elem(&spaces, &key), *forked;

	if (space)
		return space;
	key = st->forked_space;
	forked = key ? bpf_map_lookup_elem(&spaces, &key) : NULL;
	/* a process that lives on will map something, or see its parent end */
	if (!forked || !in_parents || bpf_ktime_get_ns() - st->from_ns > YOUNG_NS)
		ask_for_space(st);
	return forked;
}

#endif
