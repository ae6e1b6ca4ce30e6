/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_RULES_BPF_H
#define BPF_WALK_RULES_BPF_H

#include "bpf/maps.bpf.h"

/* Finds the rule for a user address, in the spaces and slabs that user space filled (abi/space_abi.h). */

/*
 * Without a branch: in a bisection the verifier would follow both ways in each round. Nor by a mask, as it knows that
 * a mask is all ones or none (Linux 6.18).
 */
static __always_inline __u32 if_negative(__u64 difference, __u32 yes, __u32 no)
{
	barrier_var(difference);	/* clang would turn it into a comparison */
	return no + (yes - no) * (__u32)(difference >> 63);
}

/* All mappings begin at an even address. */
static __always_inline int search_mappings(const struct space *space, __u64 addr)
{
	__u32 low = 0, high;
	__u64 difference;

	if (!space)
		return -1;
	high = space->cnt;
	/* the last mapping that starts at or below addr: 2^8 = SPACE_MAPPINGS_MAX */
	for (int i = 0; i < 9; i++) {
		__u32 mid = (low + high) / 2;

		if (low >= high)
			break;
		difference = (addr >> 1) - (space->mapping[mid & (SPACE_MAPPINGS_MAX - 1)].start >> 1);
		low = if_negative(difference, low, mid + 1);
		high = if_negative(difference, mid, high);
	}
	if (!low)
		return -1;
	low = (low - 1) & (SPACE_MAPPINGS_MAX - 1);
	return addr < space->mapping[low].end ? (int)low : -1;
}

/*
 * The number of the mapping that contains addr, or -1. Functions below that are not inlined are global: the verifier
 * checks those once; inlined, their branches multiply.
 */
__noinline int find_mapping(const struct space *space, __u64 addr)
{
	return search_mappings(space, addr);
}

/*
 * The same in a part of a program's mappings. It calls nothing, and rule_in_mapping() is inlined into the walk's step:
 * Linux 6.1 rounds each call's stack up to 32 bytes, and a waking's walk has 512 in all.
 */
__noinline int find_in_part(__u64 key, __u64 addr)
{
	return search_mappings(bpf_map_lookup_elem(&spaces, &key), addr);
}

static __always_inline const struct unwind_block *block_at(__u32 number)
{
	__u32 slab = number / SPACE_SLAB_BLOCKS, in_slab = number % SPACE_SLAB_BLOCKS;
	void *map = bpf_map_lookup_elem(&slabs, &slab);

	return map ? bpf_map_lookup_elem(map, &in_slab) : NULL;
}

/* The page index's entries for a page and the next one, in the low and the high half. */
__noinline __u64 index_at(__u32 index_block, __u32 page)
{
	const struct unwind_block *b = block_at(index_block + page / SPACE_BLOCK_INDEX);
	__u32 in_block = page % SPACE_BLOCK_INDEX, next = in_block + 1, first;

	if (!b)
		return 0;
	first = b->index[in_block];
	/* clang would test in_block != 127, from which Linux 6.1 derives no bound */
	barrier_var(next);
	if (next < SPACE_BLOCK_INDEX)
		return first | (__u64)b->index[next] << 32;
	b = block_at(index_block + page / SPACE_BLOCK_INDEX + 1);
	return b ? first | (__u64)b->index[0] << 32 : 0;
}

/* The last block in low..high whose first row is at or below pc; a page spans few blocks. */
__noinline __u32 find_block(__u32 rows_block, __u32 low, __u32 high, __u32 pc)
{
	for (int i = 0; i < 8; i++) {
		__u32 mid = (low + high + 1) / 2;
		const struct unwind_block *b;
		__u64 difference;

		if (low >= high)
			break;
		b = block_at(rows_block + mid);
		if (!b)
			break;
		difference = (__u64)pc - b->row[0].pc;
		low = if_negative(difference, low, mid);
		high = if_negative(difference, mid - 1, high);
	}
	return low;
}

/* The rule of the last row in from..to of a block that is at or below pc. */
__noinline __u32 find_row(__u32 block, __u32 from, __u32 to, __u32 pc)
{
	const struct unwind_block *b = block_at(block);
	__u64 difference;

	if (!b)
		return 0;
	for (int i = 0; i < 7; i++) {
		__u32 mid = (from + to + 1) / 2;

		if (from >= to)
			break;
		difference = (__u64)pc - b->row[mid & (SPACE_BLOCK_ROWS - 1)].pc;
		from = if_negative(difference, from, mid);
		to = if_negative(difference, mid - 1, to);
	}
	return b->row[from & (SPACE_BLOCK_ROWS - 1)].rule;
}

/* The rule for pc, which lies in a page of the table. */
static __always_inline __u32 find_rule(__u32 rows_block, __u32 index_block, __u32 pc)
{
	__u32 page = pc >> UNWIND_PAGE_SHIFT;
	__u64 both = index_at(index_block, page);
	__u32 first = (__u32)both, last = both >> 32;
	__u32 low = first / SPACE_BLOCK_ROWS, high = last / SPACE_BLOCK_ROWS, block = low;

	if (low != high)
		block = find_block(rows_block, low, high, pc);
	return find_row(rows_block + block, block == low ? first % SPACE_BLOCK_ROWS : 0,
			block == high ? last % SPACE_BLOCK_ROWS : SPACE_BLOCK_ROWS - 1, pc);
}

/* The rule of a mapping's file for an address in it; 0, a gap, where there is none. */
static __always_inline __u32 rule_in_mapping(const struct space_mapping *m, __u64 addr)
{
	__u64 pc = addr - m->bias;

	if (pc >> UNWIND_PAGE_SHIFT >= m->page_cnt)
		return 0;
	return find_rule(m->rows_block, m->index_block, (__u32)pc);
}

/* The mapping that contains addr in a part of a program's mappings, or NULL. */
static __always_inline const struct space_mapping *mapping_in_part(__u64 key, __u64 addr)
{
	int number = find_in_part(key, addr);
	const struct space *part;

	if (number < 0)
		return NULL;
	part = bpf_map_lookup_elem(&spaces, &key);
	if (!part)
		return NULL;
	/* clang knows the range of find_mapping() and would drop the bound; the verifier does not */
	barrier_var(number);
	return &part->mapping[number & (SPACE_MAPPINGS_MAX - 1)];
}

/* The rule for an address; without a table a gap: 0, or UNWIND_RULE_NO_FILE. */
static __always_inline __u32 rule_at(const struct space *space, struct walk_state *at, __u64 addr)
{
	const struct space_mapping *m;
	int number;

	if (!space)
		return 0;
	/* most frames lie in the same file as the one before */
	m = &space->mapping[at->mapping & (SPACE_MAPPINGS_MAX - 1)];
	if (addr < m->start || addr >= m->end) {
		number = find_mapping(space, addr);
		if (number < 0)
			return UNWIND_RULE_NO_FILE;
		barrier_var(number);	/* as above */
		m = &space->mapping[number & (SPACE_MAPPINGS_MAX - 1)];
		at->mapping = number;
	}
	if (m->is_part)
		m = mapping_in_part(m->part_key, addr);
	return m ? rule_in_mapping(m, addr) : UNWIND_RULE_NO_FILE;
}

#endif
