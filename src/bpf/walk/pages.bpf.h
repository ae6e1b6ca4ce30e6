/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_PAGES_BPF_H
#define BPF_WALK_PAGES_BPF_H

#include "bpf/kernel_word.bpf.h"
#include "bpf/maps.bpf.h"
#define PAGE_SHIFT cfg.page_shift
#include "bpf/walk/page_view.bpf.h"

/*
 * A thread's user stack is read through bpf/walk/page_view.bpf.h when its wait ends: then its length is known, and a
 * short wait that is not kept needs no walk. In sched_switch interrupts are off, which keeps page tables from being
 * freed meanwhile. What is not in memory then cannot be walked, although it was at switch-out: this is counted as a
 * loss.
 *
 * Where this does not work (find_direct_map() tests it) user stacks are walked at switch-out.
 */

/* v: in a map. Through a map the verifier takes a pointer for a number. */
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

/* This stays the same until the program execs; a thread gives up its user memory only at its end. */
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
