/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_PAGES_BPF_H
#define BPF_X86_PAGES_BPF_H

/* For bpf/walk/page_view.bpf.h: x86-64's page tables. */

/* arch/x86/include/asm/pgtable_types.h */
#define ENTRY_PRESENT (1ULL << 0)
#define ENTRY_HUGE (1ULL << 7)		/* a large page, above the last level */
#define ENTRY_PROTNONE (1ULL << 8)	/* not present: made inaccessible for NUMA balancing */
#define ENTRY_SPECIAL (1ULL << 9)	/* not the kernel's own memory: a device's */
#define ENTRY_ADDRESS 0xffffffffff000ULL
#define PAGE_BYTES 4096ULL

static __always_inline void learn_addresses(const struct task_struct *task)
{
}

/* With five levels of tables (Linux 4.14) the kernel's half of the address space, including this, begins lower. */
static __always_inline bool has_five_levels(__u64 pgd)
{
	return pgd >> 47 != 0x1ffff;
}

/* What an entry points to; 0: not present. */
static __always_inline __u64 entry_address(__u64 entry)
{
	if (entry & ENTRY_SPECIAL)
		return 0;
	if (entry & ENTRY_PRESENT)
		return entry & ENTRY_ADDRESS;
	/* inverted since Linux 4.18 (6b28baca9b1f, against L1TF) */
	return entry & ENTRY_PROTNONE ? ~entry & ENTRY_ADDRESS : 0;
}

/* One level down; false: not present. */
static __always_inline bool next_entry(struct page_view *v, __u64 table, __u32 shift, __u64 addr)
{
	v->above_at = v->leaf_at;
	v->above = v->leaf;
	v->leaf_at = table + (addr >> shift & 511) * sizeof(v->leaf);
	v->leaf = word_at(v->leaf_at);
	return entry_address(v->leaf) != 0;
}

/* Kernel address of the page of a user address; 0: it is not in memory. */
static __always_inline __u64 page_of(struct page_view *v, __u64 base, __u64 addr)
{
	__u64 table = v->pgd;

	v->leaf_at = v->leaf = 0;
	if (addr >> (has_five_levels(table) ? 56 : 47))
		return 0;
#pragma unroll	/* to Linux 6.1 a backward jump may look like an endless loop */
	for (int shift = 48; shift >= 12; shift -= 9) {
		if (shift == 48 && !has_five_levels(table))
			continue;
		if (!next_entry(v, table, shift, addr))
			return 0;
		table = base + entry_address(v->leaf);
		if ((shift == 30 || shift == 21) && v->leaf & ENTRY_HUGE) {
			__u64 in_page = (1ULL << shift) - 1;

			return (table & ~in_page) + (addr & in_page & ~(PAGE_BYTES - 1));
		}
	}
	return table;
}

#endif
