/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_PAGES_BPF_H
#define BPF_WALK_PAGES_BPF_H

#include "bpf/kernel_word.bpf.h"
#include "bpf/maps.bpf.h"
#define PAGE_SHIFT cfg.page_shift
#include "bpf/walk/page_view.bpf.h"

/*
 * A thread's user stack is read by bpf/walk/page_view.bpf.h when its wait ends: its length is known then, and the stack of a
 * short one that is not kept costs nothing.  In sched_switch interrupts are off, which keeps tables from being freed
 * while they are read.  What is not in memory cannot be walked; at switch-out it had been, so that is a loss, and
 * counted.
 *
 * Where this does not work (find_direct_map() tries it) user stacks are walked at switch-out.
 */

/* v: in a map.  Only by way of one the verifier takes a pointer for a number. */
static __always_inline void view_of(struct page_view *v, struct task_struct *task)
{
	*(unsigned long *volatile *)&v->pgd = plain(task)->mm->pgd;
	v->user = v->page = 0;
	v->moved = 0;
}

static __always_inline bool may_have_user_stack(const struct task_struct *task)
{
	return cfg.want_ustack && !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

static __always_inline bool has_user_stack(const struct task_struct *task)
{
	return may_have_user_stack(task) && plain(task)->mm;
}

/* Can its user stack be walked while it is off CPU? */
static __always_inline bool walks_late(const struct thread_state *st)
{
	return cfg.can_walk && direct_map && !st->narrow;
}

/* A program keeps it until it execs; only at its end a thread gives its user memory up. */
static __always_inline __u8 usual_ustack(const struct task_struct *task, const struct thread_state *st)
{
	if (!may_have_user_stack(task))
		return USTACK_NONE;
	return walks_late(st) ? USTACK_LATE : USTACK_BEGUN;
}

static __always_inline __u8 begins_ustack(const struct task_struct *task, const struct thread_state *st)
{
	return plain(task)->mm ? st->usual_ustack : USTACK_NONE;
}

#endif
