/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_THREADS_BPF_H
#define BPF_THREADS_BPF_H

#include "bpf/maps.bpf.h"

/*
 * Where the memory of each thread lies: in arrays that are used as hash tables, by the address of the thread's
 * task_struct.  Task storage would do the same, but finds the memory by way of two others of its own, which
 * are in no cache for a thread that comes back after long, and allocates and frees it for each fork.  Here the address is known
 * at once.
 *
 * A thread takes a slot at its birth, or as the iterator meets it, and it is free again when the kernel frees the
 * thread (sched_process_free): nobody runs as it, wakes it or iterates over it then.  Should that not be seen, the
 * thread that is born at the same address takes the slot over.
 *
 * User space makes the first table for twice as many threads as there are, and has always one more than they need
 * (collect/thread_table.c).  All are of one length, and a thread has the same places in each: the one that its hash names, and the
 * other ones of THREAD_TRIES side by side.
 */
#define THREAD_TRIES 16
#define TAG_BUSY 1ULL	/* of a slot that is being taken; no address */
#define NO_SLOT (~0U)
#define TABLE_SHIFT 24	/* number of a slot: its table, and its place there */

struct thread_slots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);	/* begins with a page, so that a slot begins with a cache line */
	__uint(max_entries, 1);			/* how many, and how long, collect/thread_table.c says */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct thread_state));
};

const volatile __u32 chain_state_bytes = sizeof(struct chain_state);	/* longer by this where chains are wanted */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, OFFCPU_THREAD_TABLES);
	__type(key, __u32);
	__array(values, struct thread_slots);
} thread_tables SEC(".maps");

__u32 threads_taken = 0;	/* slots, in all tables */

/*
 * The address of a task as a number.  The verifier lets nobody shift or multiply a pointer; but the difference
 * of two is a number, and the other one is the same always.
 */
static __always_inline __u64 tag_of(const struct task_struct *task)
{
	__u64 tag = (__u64)task;

	asm volatile("%[tag] -= %[base]" : [tag] "+r"(tag) : [base] "r"(&threads_taken));
	return tag;
}

static __always_inline __u32 hash_of_tag(__u64 tag, __u32 bits)
{
	return tag * STACK_MIX >> (64 - bits);
}

static __always_inline __u32 first_place(__u64 tag)
{
	return hash_of_tag(tag, cfg.thread_bits);
}

/* Keys that take no room on the stack, of which the deepest walks leave none (Linux 6.1). */
const volatile __u32 table_keys[OFFCPU_THREAD_TABLES] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static __always_inline struct thread_state *thread_at(__u32 table, __u32 place)
{
	void *slots = bpf_map_lookup_elem(&thread_tables, (const void *)&table_keys[table & (OFFCPU_THREAD_TABLES - 1)]);

	return slots ? bpf_map_lookup_elem(slots, &place) : NULL;
}

static __always_inline struct thread_state *thread_in(__u32 slot)
{
	return slot == NO_SLOT ? NULL : thread_at(slot >> TABLE_SHIFT, slot & ((1U << TABLE_SHIFT) - 1));
}

/*
 * The slot of one table that has this tag; or, where one may be claimed, the first of its places that was free, which is busy then.
 * A global function, as are the others here: the verifier checks them once.
 */
__noinline __u32 slot_in(__u32 table, __u64 tag, bool may_claim)
{
	void *slots = bpf_map_lookup_elem(&thread_tables, &table);
	__u32 first = first_place(tag);

	if (!slots)
		return NO_SLOT;
	for (__u32 i = 0; i < THREAD_TRIES; i++) {
		__u32 place = first ^ i;
		struct thread_state *st = bpf_map_lookup_elem(slots, &place);

		if (!st)
			break;
		if (st->tag == tag ||
		    (may_claim && !st->tag && !__sync_val_compare_and_swap(&st->tag, 0, TAG_BUSY)))
			return table << TABLE_SHIFT | place;
	}
	return NO_SLOT;
}

/* The same of all tables. */
__noinline __u32 find_slot(__u64 tag, bool may_claim)
{
	__u32 slot = NO_SLOT;

	for (__u32 table = 0; table < OFFCPU_THREAD_TABLES && slot == NO_SLOT; table++)
		slot = slot_in(table, tag, may_claim);
	return slot;
}

/* NULL: we know of no such thread. */
static __always_inline struct thread_state *thread_of(struct task_struct *task)
{
	__u64 tag = tag_of(task);
	struct thread_state *st = thread_at(0, first_place(tag));

	if (st && st->tag == tag)
		return st;
	return thread_in(find_slot(tag, false));
}

/* What nobody else can see yet is made as at birth, and then seen.  chain: of the thread, or NULL. */
__noinline int publish_thread(struct thread_state *st, struct chain_state *chain, __u64 tag)
{
	if (!st)
		return 0;
	__builtin_memset((char *)st + sizeof(st->tag), 0, sizeof(*st) - sizeof(st->tag));
	if (chain)
		__builtin_memset(chain, 0, __builtin_offsetof(struct chain_state, hops));
	__sync_lock_test_and_set(&st->tag, tag);
	return 0;
}

/* is_born: a slot with this tag is that of a thread whose end was not seen. */
__noinline __u32 take_slot(__u64 tag, bool is_born)
{
	__u32 slot = find_slot(tag, true);
	struct thread_state *st = thread_in(slot);

	if (!st)
		return NO_SLOT;
	if (st->tag == TAG_BUSY)
		__sync_fetch_and_add(&threads_taken, 1);
	if (is_born || st->tag == TAG_BUSY)
		publish_thread(st, chain_of(st), tag);
	return slot;
}

/* A memory for the thread, zeroed.  NULL: there is no room, or not yet. */
static __always_inline struct thread_state *new_thread(struct task_struct *task, bool is_born)
{
	return thread_in(take_slot(tag_of(task), is_born));
}

/* The thread is no more. */
static __always_inline void free_thread(struct thread_state *st)
{
	__sync_fetch_and_add(&threads_taken, -1);
	__sync_lock_test_and_set(&st->tag, 0);
}

#endif
