/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_PAGES_BPF_H
#define BPF_ARM64_PAGES_BPF_H

/*
 * For bpf/walk/page_view.bpf.h: arm64's page tables (arch/arm64/include/asm/pgtable-hwdef.h). A page has 4, 16 or 64
 * KiB, a table is one page, and user addresses have 36 to 52 bits, so there are two to five levels. The top table may
 * be shorter than a page.
 */
#define ENTRY_KIND 3ULL
#define ENTRY_BLOCK 1ULL		/* above the last level: a block of memory; in the last level: invalid */
#define ENTRY_TABLE 3ULL		/* a table; in the last level a page */
#define ENTRY_SPECIAL (1ULL << 56)	/* PTE_SPECIAL: not the kernel's own memory */
#define PAGE_BYTES (1ULL << PAGE_SHIFT)
#define LEVELS_MAX 5

/* End of the address space of 64-bit programs: the same for all of them. */
volatile __u64 address_limit SEC(".data") = 1ULL << 48;

static __always_inline void learn_addresses(const struct task_struct *task)
{
	address_limit = BPF_CORE_READ(task, mm, task_size);
}

/* With 52-bit addresses and small pages (LPA2, Linux 6.9) a physical address has its topmost bits elsewhere. */
static __always_inline __u64 entry_pages(__u64 entry, __u64 limit)
{
	__u64 low = ~(PAGE_BYTES - 1);

	if (PAGE_SHIFT == 16)
		return (entry & 0xffffffffffffULL & low) | (entry >> 12 & 15) << 48;
	if (limit >> 52)
		return (entry & 0x3ffffffffffffULL & low) | (entry >> 8 & 3) << 50;
	return entry & 0xffffffffffffULL & low;
}

/* What an entry points to; 0: not present. An entry made inaccessible for NUMA balancing is not present, either. */
static __always_inline __u64 entry_address(__u64 entry)
{
	if (!(entry & ENTRY_BLOCK))
		return 0;
	return entry & ~ENTRY_SPECIAL & 0xffffffffffffULL & ~(PAGE_BYTES - 1);
}

/* One level down; false: not present. */
static __always_inline bool next_entry(struct page_view *v, __u64 table, __u32 shift, __u64 addr)
{
	__u64 number = addr >> shift & ((PAGE_BYTES >> 3) - 1);

	v->above_at = v->leaf_at;
	v->above = v->leaf;
	v->leaf_at = table + number * sizeof(v->leaf);
	v->leaf = word_at(v->leaf_at);
	return v->leaf & ENTRY_BLOCK;
}

/* Kernel address of the page of a user address; 0: it is not in memory. */
static __always_inline __u64 page_of(struct page_view *v, __u64 base, __u64 addr)
{
	__u64 table = v->pgd, limit = address_limit, entry;
	__u32 bits = PAGE_SHIFT - 3;

	v->leaf_at = v->leaf = 0;
	if (addr >= limit)
		return 0;
#pragma unroll	/* as in x86/pages.bpf.h */
	for (int level = LEVELS_MAX - 1; level >= 0; level--) {
		__u32 shift = PAGE_SHIFT + level * bits;

		if (shift > 51 || !((limit - 1) >> shift))
			continue;	/* this level does not exist */
		if (!next_entry(v, table, shift, addr))
			return 0;
		entry = v->leaf;
		table = base + entry_pages(entry, limit);
		if (level && (entry & ENTRY_KIND) == ENTRY_TABLE)
			continue;
		if (entry & ENTRY_SPECIAL || (!level && (entry & ENTRY_KIND) != ENTRY_TABLE))
			return 0;
		if (level) {
			__u64 in_page = (1ULL << shift) - 1;

			return (table & ~in_page) + (addr & in_page & ~(PAGE_BYTES - 1));
		}
		return table;
	}
	return 0;
}

#endif
