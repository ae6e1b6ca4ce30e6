/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_PAGES_BPF_H
#define BPF_PAGES_BPF_H

#include "bpf/kernel_word.bpf.h"
#include "bpf/maps.bpf.h"

/*
 * Reads the user memory of a thread that is not current, from a program that cannot sleep:
 * through its page tables, as lockless get_user_pages_fast() does (mm/gup.c), and the kernel's
 * own mapping of all physical memory.  So a wait's user stack is walked when the wait ends:
 * its length is known then, and the stack of a short one that is not kept costs nothing.
 *
 * Why it is safe.  Each load is checked: an address without memory behind it reads as zero
 * (bpf_rdonly_cast) or fails, and device memory is not mapped there.  Why it is right.  In
 * sched_switch interrupts are off, which keeps tables from being freed while they are read (mm/gup.c says
 * why).  A page may still be moved or swapped out: so its entries are read again after the
 * last word was taken from it, and if they name another one by then, the walk does not count.
 * What is not in memory cannot be walked; at switch-out it had been, so that is a loss, and counted.
 *
 * Where this does not work (find_direct_map() tries it) user stacks are walked at switch-out.
 */

/* Where the kernel maps all physical memory; 0: not known. */
volatile __u64 direct_map RARELY_WRITTEN = 0;
/* User space puts a random number somewhere and asks whether it is found. */
volatile __u64 sought_at = 0, sought = 0;

#ifdef __TARGET_ARCH_x86
#include "bpf/x86/pages.bpf.h"
#else
#include "bpf/arm64/pages.bpf.h"
#endif

/*
 * Is the page still the one that was read from?  As gup_fast_pte_range() asks: the page's entry names it as before,
 * and the entry above still leads there.  Tables further up are not taken away while entries below them are left.
 */
static __always_inline bool page_stayed(const struct page_view *v)
{
	return !v->page || (entry_address(word_at(v->leaf_at)) == entry_address(v->leaf) &&
			    entry_address(word_at(v->above_at)) == entry_address(v->above));
}

/* Goes on to the page of an address.  A global function: words are read in loops, which are to be checked quickly. */
__noinline int turn_page(struct page_view *v, __u64 addr)
{
	if (!v)
		return false;
	if (!page_stayed(v))
		v->moved = 1;
	v->user = addr & ~(PAGE_BYTES - 1);
	v->page = page_of(v, direct_map, addr);
	return v->page != 0;
}

/* v: in a map.  Only by way of one the verifier takes a pointer for a number. */
static __always_inline void view_of(struct page_view *v, struct task_struct *task)
{
	*(unsigned long *volatile *)&v->pgd = plain(task)->mm->pgd;
	v->user = v->page = 0;
	v->moved = 0;
}

/* One word of the thread's memory, at a multiple of 8. */
static __always_inline bool viewed_word(struct page_view *v, __u64 addr, __u64 *ret)
{
	if (addr & 7)
		return false;
	if ((!v->page || (addr & ~(PAGE_BYTES - 1)) != v->user) && !turn_page(v, addr))
		return false;
	*ret = word_at(v->page + (addr & (PAGE_BYTES - 1)));
	return true;
}

/* After the last word: may they all be believed? */
static __always_inline bool view_held(const struct page_view *v)
{
	return !v->moved && page_stayed(v);
}

static struct page_view sought_view;

/* also with KASLR (arch/x86/mm/kaslr.c: PUD_SIZE; arm64: ARM64_MEMSTART_ALIGN) */
#define DIRECT_MAP_ALIGN (1ULL << 30)
#define DIRECT_MAP_TRIES (1U << 16)		/* 64 TiB */

/* The top table lies in the direct map itself, so this begins a whole number of GiB below it. */
static long try_direct_map(__u32 i, void *data)
{
	__u64 base = (sought_view.pgd & ~(DIRECT_MAP_ALIGN - 1)) - i * DIRECT_MAP_ALIGN;
	__u64 at = sought_at, page = page_of(&sought_view, base, at);

	if (!page || word_at(page + (at & (PAGE_BYTES - 1))) != sought)
		return 0;
	direct_map = base;
	return 1;
}

SEC("syscall")
int find_direct_map(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	*(unsigned long *volatile *)&sought_view.pgd = plain(task)->mm->pgd;
	learn_addresses(plain(task));
	bpf_loop(DIRECT_MAP_TRIES, try_direct_map, NULL, 0);
	return 0;
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
