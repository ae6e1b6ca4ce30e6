/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_MAPPED_BPF_H
#define BPF_WALK_MAPPED_BPF_H

#include "bpf/walk/pages.bpf.h"
#include "bpf/walk/space.bpf.h"
#include "bpf/target_types.h"

/*
 * Finds the unwind table for an address of a program whose mappings user space has not supplied: it has just begun,
 * and most such programs end before /proc/PID/maps could be read. The kernel's own list of mappings says which file is
 * there, and `file_tables` which table the file has (abi/space_abi.h).
 *
 * Why it is safe and right: reads are as in bpf/walk/pages.bpf.h. The tree's nodes and the mappings are freed by RCU,
 * and programs run under RCU. A result counts only if it is a mapping of this program that contains the address.
 *
 * Since Linux 6.1 mappings are in a maple tree (524e00b36e8c). On older kernels such programs are walked by frame
 * pointer.
 */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct maple_metadata {
	unsigned char end;
};

/* include/linux/maple_tree.h; 64-bit layout */
struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
	struct maple_metadata meta;
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
	struct maple_metadata meta;
};

struct maple_tree {
	void *ma_root;
};

struct mm_struct___maple {
	struct maple_tree mm_mt;
};

/* Of overlayfs, since Linux 6.5 (62d53c4a1dfe): `user_path` since 6.8 (def3ae83da02). */
struct backing_file {
	struct file file;
	struct path user_path;
};

/* Time of the last change: since Linux 6.11 (3aa63a569c64), since 6.7 (12cd44023651), before. */
struct inode___seconds {
	__s64 i_mtime_sec;
	__u32 i_mtime_nsec;
};

struct timespec64___both {
	__s64 tv_sec;
	long tv_nsec;
};

struct inode___hidden {
	struct timespec64___both __i_mtime;
};

struct inode___plain {
	struct timespec64___both i_mtime;
};

#pragma clang attribute pop

/* Only user space adds entries. */
MAP_FLAGS(file_tables, HASH, struct file_table_key, struct file_table, FILE_TABLES_MAX, BPF_F_NO_PREALLOC);

/* User space numbers its own generations from 1. */
#define MADE_GENERATION (1U << 31)
#define MADE_FOR_SAMPLES_GENERATION (1U << 30)

/* include/linux/mm.h */
#define VM_EXEC 4

/*
 * A program's mappings from the kernel's list. Per CPU, one for the scheduler's programs and one for samples, which
 * may interrupt those: consecutive walks are likely to be of the same program.
 */
struct made_space {
	__u64 mm, seed;		/* seed: stack_seed() of the program, since another program may reuse the mm */
	__u32 changes, epoch;	/* values of mapping_changes() and tables_epoch when it was made */
	__u64 next, end;	/* range of addresses being searched */
	struct space space;
};

MAP(made_spaces, PERCPU_ARRAY, __u32, struct made_space, 2);

/* enum maple_type: two kinds of inner nodes, and leaves, which have the layout of range_64 */
#define MAPLE_LEAF_64 1
#define MAPLE_ARANGE_64 3
#define MAPLE_LEVELS 8		/* each level multiplies by 16 */
#define MAPLE_LEAVES 128	/* leaves read of one program; mappings after them have no tables */
#define MAPLE_PIVOTS 15

#define MAPLE_ROOT 2		/* root flag: it is a node, not a mapping */

static __always_inline __u32 maple_type(__u64 entry)
{
	return entry >> 3 & 15;
}

/* Index of the node's last used slot; in a range_64 node it is stored where the 16th slot would be. */
static __always_inline __u32 maple_end(__u64 entry, __u64 node, __u64 end)
{
	__u64 last;

	if (maple_type(entry) == MAPLE_ARANGE_64)
		return POINTER(struct maple_arange_64, node, meta.end) & 15;
	last = word_at(AT(struct maple_range_64, node, pivot) + (MAPLE_PIVOTS - 1) * sizeof(last));
	if (!last)
		return POINTER(struct maple_range_64, node, meta.end) & 15;
	return last == end ? MAPLE_PIVOTS - 1 : MAPLE_PIVOTS;
}

/* The child of an inner node that contains m->next; sets m->end to the child's end. */
__noinline __u64 maple_child(struct made_space *m, __u64 entry)
{
	__u64 node = entry & ~255ULL, pivots, slots, pivot = 0;
	__u32 end, i;

	if (!m)
		return 0;
	pivots = AT(struct maple_range_64, node, pivot);
	slots = AT(struct maple_range_64, node, slot);
	if (maple_type(entry) == MAPLE_ARANGE_64)
		slots = AT(struct maple_arange_64, node, slot);
	end = maple_end(entry, node, m->end);
	barrier_var(end);	/* clang knows the bound and drops the loop's own test, which the verifier needs */
	for (i = 0; i < MAPLE_PIVOTS; i++) {
		if (i >= end)
			break;
		pivot = word_at(pivots + i * sizeof(pivot));
		if (pivot >= m->next)
			break;
	}
	if (i < end && pivot < m->end)
		m->end = pivot;
	return word_at(slots + i * sizeof(slots));
}

/* The leaf that contains m->next, which is then set to the leaf's end; 0: there is none. */
__noinline __u64 maple_leaf(struct made_space *m)
{
	__u64 entry;

	if (!m || !bpf_core_field_exists(struct mm_struct___maple, mm_mt))
		return 0;
	entry = POINTER(struct mm_struct___maple, m->mm, mm_mt.ma_root);
	m->end = ~0ULL;
	if ((entry & 3) != MAPLE_ROOT)
		return 0;
	for (int level = 0; level < MAPLE_LEVELS; level++) {
		if (!entry || maple_type(entry) == MAPLE_LEAF_64)
			return entry;
		entry = maple_child(m, entry);
	}
	return 0;
}

/*
 * FMODE_BACKING has moved in Linux 6.14 (a94204f4d481 "fsnotify: opt-in for permission events at file open time"). BTF
 * does not show that, but the type of mm_lock_seq changed in the same version.
 */
static __always_inline bool is_backing(__u64 file)
{
	struct mm_struct___seqcount *since_6_14 = NULL;
	__u32 bit = bpf_core_field_exists(since_6_14->mm_lock_seq.sequence) ? 1U << 24 : 1U << 25;

	return NUMBER(struct file, file, f_mode) & bit;
}

/* The inode that /proc/PID/maps shows: for overlayfs that file system's own (file_user_inode()). */
static __always_inline __u64 inode_of(__u64 file)
{
	struct backing_file *backing = NULL;
	__u64 dentry;

	if (!bpf_core_field_exists(backing->user_path) || !is_backing(file))
		return POINTER(struct file, file, f_inode);
	dentry = POINTER(struct backing_file, file, user_path.dentry);
	return dentry ? POINTER(struct dentry, dentry, d_inode) : 0;
}

__noinline __u64 changed_ns(__u64 inode)
{
	__u64 seconds_at, nanoseconds_at;

	if (bpf_core_field_exists(struct inode___seconds, i_mtime_sec)) {
		seconds_at = AT(struct inode___seconds, inode, i_mtime_sec);
		nanoseconds_at = AT(struct inode___seconds, inode, i_mtime_nsec);
	} else if (bpf_core_field_exists(struct inode___hidden, __i_mtime)) {
		seconds_at = AT(struct inode___hidden, inode, __i_mtime.tv_sec);
		nanoseconds_at = AT(struct inode___hidden, inode, __i_mtime.tv_nsec);
	} else {
		seconds_at = AT(struct inode___plain, inode, i_mtime.tv_sec);
		nanoseconds_at = AT(struct inode___plain, inode, i_mtime.tv_nsec);
	}
	return word_at(seconds_at) * 1000000000ULL + (__u32)word_at(nanoseconds_at);
}

/* The table of a file, or NULL if there is none or the file has changed since. */
static __always_inline const struct file_table *table_of(__u64 inode)
{
	struct file_table_key key = { .inode = POINTER(struct inode, inode, i_ino) };
	const struct file_table *table;

	key.device = (__u32)POINTER(struct super_block, POINTER(struct inode, inode, i_sb), s_dev);
	table = bpf_map_lookup_elem(&file_tables, &key);
	if (!table || POINTER(struct inode, inode, i_size) != table->bytes ||
	    changed_ns(inode) != table->changed_ns)
		return NULL;
	return table;
}

/* Adds the mapping in a leaf's slot, if it is executable and its file has a table. */
__noinline int add_mapping(struct made_space *m, __u64 slot_at)
{
	__u64 vma = word_at(slot_at), file, inode, start;
	const struct file_table *table;
	struct space_mapping *to;
	__u32 number;

	if (!m || !vma || !(POINTER(struct vm_area_struct, vma, vm_flags) & VM_EXEC) ||
	    POINTER(struct vm_area_struct, vma, vm_mm) != m->mm)
		return 0;
	file = POINTER(struct vm_area_struct, vma, vm_file);
	inode = file ? inode_of(file) : 0;
	table = inode ? table_of(inode) : NULL;
	number = m->space.cnt;
	if (!table || number >= SPACE_MAPPINGS_MAX)
		return 0;
	to = &m->space.mapping[number];
	start = POINTER(struct vm_area_struct, vma, vm_start);
	to->start = start;
	to->end = POINTER(struct vm_area_struct, vma, vm_end);
	to->bias = start - POINTER(struct vm_area_struct, vma, vm_pgoff) * PAGE_BYTES + table->shift;
	to->rows_block = table->rows_block;
	to->index_block = table->index_block;
	to->page_cnt = table->page_cnt;
	to->is_part = 0;
	m->space.cnt = number + 1;
	return 0;
}

/* Adds one leaf's mappings; 1: it was the last one. */
static long add_leaf(__u32 i, struct made_space **made)
{
	struct made_space *m = *made;
	__u64 leaf = maple_leaf(m), node = leaf & ~255ULL, slots = AT(struct maple_range_64, node, slot);
	__u32 end;

	if (!leaf)
		return 1;
	end = maple_end(leaf, node, m->end);
	barrier_var(end);
	for (__u32 slot = 0; slot <= MAPLE_PIVOTS; slot++) {
		if (slot > end)
			break;
		add_mapping(m, slots + slot * sizeof(slots));
	}
	m->next = m->end + 1;
	return !m->next;
}

/* A global function: the verifier checks it once. */
__noinline int make_space(struct made_space *m)
{
	if (!m)
		return 0;
	m->space.cnt = 0;
	m->space.read_ns = bpf_ktime_get_ns();
	m->next = 0;
	bpf_loop(MAPLE_LEAVES, add_leaf, &m, 0);
	return 0;
}

enum made_space_user { MADE_FOR_SWITCHES, MADE_FOR_SAMPLES };

/* The mappings of the thread's program whose files have tables; NULL: this kernel has no such list. */
static __always_inline const struct space *made_space(const struct thread_state *st, __u64 task, __u32 user)
{
	struct made_space *m = bpf_map_lookup_elem(&made_spaces, &user);
	__u64 mm = POINTER(struct task_struct, task, mm);
	__u32 changes, epoch = tables_epoch;
	__u64 seed = stack_seed(st);

	if (!m || !mm || !bpf_core_field_exists(struct mm_struct___maple, mm_mt))
		return NULL;
	changes = changes_of(mm);
	if (m->mm != mm || m->seed != seed || !changes || m->changes != changes || m->epoch != epoch) {
		m->mm = mm;
		m->seed = seed;
		m->changes = changes;
		m->epoch = epoch;
		m->space.generation = (m->space.generation + 1) & (MADE_FOR_SAMPLES_GENERATION - 1);
		m->space.generation |= MADE_GENERATION | (user ? MADE_FOR_SAMPLES_GENERATION : 0);
		make_space(m);
	}
	return &m->space;
}

#endif
