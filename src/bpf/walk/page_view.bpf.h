/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_PAGE_VIEW_BPF_H
#define BPF_WALK_PAGE_VIEW_BPF_H

/* Include it after word_at() of kernel memory, as in bpf/kernel_word.bpf.h, and after PAGE_SHIFT. */
#include "bpf/state.bpf.h"

/*
 * Reads the user memory of a thread that is not current, and never waits for it: through its page tables, as lockless
 * get_user_pages_fast() does (mm/gup.c), and the kernel's own mapping of all physical memory.
 *
 * Why it is safe.  Each load is checked: an address without memory behind it reads as zero (bpf_rdonly_cast) or fails,
 * and device memory is not mapped there.
 *
 * Why it is right. Tables are not freed while they are read: interrupts are off, or freeing waits for RCU (see
 * mm/gup.c). A page may still be moved or swapped out. So its entries are read again after its last word. If they have
 * changed by then, what was read does not count.
 */

/* Start of the kernel's mapping of all physical memory; 0: not known. */
volatile __u64 direct_map SEC(".data") = 0;
/* To verify it, user space places a random number in its memory and asks whether it is found. */
volatile __u64 sought_at = 0, sought = 0;

#ifdef __TARGET_ARCH_x86
#include "bpf/x86/pages.bpf.h"
#else
#include "bpf/arm64/pages.bpf.h"
#endif

/*
 * Is the page still the one that was read? Checked as in gup_fast_pte_range(): the page's entry is unchanged, and the
 * entry above still leads to it. Higher tables are not freed while lower entries exist.
 */
static __always_inline bool page_stayed(const struct page_view *v)
{
	return !v->page || (entry_address(word_at(v->leaf_at)) == entry_address(v->leaf) &&
			    entry_address(word_at(v->above_at)) == entry_address(v->above));
}

/* Moves the view to the page of an address. A global function: words are read in loops, to be checked quickly. */
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

/* Is the page of that address at v->page? */
static __always_inline bool has_page(struct page_view *v, __u64 addr)
{
	return (v->page && (addr & ~(PAGE_BYTES - 1)) == v->user) || turn_page(v, addr);
}

/* One word of the thread's memory, at a multiple of 8. */
static __always_inline bool viewed_word(struct page_view *v, __u64 addr, __u64 *ret)
{
	if ((addr & 7) || !has_page(v, addr))
		return false;
	*ret = word_at(v->page + (addr & (PAGE_BYTES - 1)));
	return true;
}

/* After the last word: is everything that was read valid? */
static __always_inline bool view_held(const struct page_view *v)
{
	return !v->moved && page_stayed(v);
}

static struct page_view sought_view;

/* also with KASLR (arch/x86/mm/kaslr.c: PUD_SIZE; arm64: ARM64_MEMSTART_ALIGN) */
#define DIRECT_MAP_ALIGN (1ULL << 30)
#define DIRECT_MAP_TRIES (1U << 16)		/* 64 TiB */

/* The top table lies in the direct map itself, so the map begins a whole number of GiB below it. */
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

	sought_view.pgd = (__u64)BPF_CORE_READ(task, mm, pgd);
	learn_addresses(task);
	bpf_loop(DIRECT_MAP_TRIES, try_direct_map, NULL, 0);
	return 0;
}

#endif
