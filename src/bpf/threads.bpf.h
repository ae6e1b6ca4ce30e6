/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_THREADS_BPF_H
#define BPF_THREADS_BPF_H

#include "bpf/maps.bpf.h"

/*
 * Storage of per-thread state: slots in tables, and an index from the address of the thread's task_struct to a slot.
 * Task storage would do the same, but reads two structures of its own on the way, which are in no cache after a long
 * wait, and allocates and frees for each fork.
 *
 * With thousands of threads the cost of an event is its cache and TLB misses. So the index has 8 bytes for a thread
 * and stays in a cache. Slots are adjacent, and the one freed last is reused first. A waker only writes to a sleeper's
 * slot and does not wait for that.
 *
 * A thread takes a slot at its birth, or when the iterator finds it. The slot is freed when the kernel frees the
 * thread (sched_process_free): then it cannot run, be woken or be iterated over. If that event is missed, the next
 * thread at the same address takes the slot over.
 *
 * User space sizes the first table for the existing threads and some more, and always keeps one spare table
 * (supply/thread_table.c). In the index a thread has THREAD_TRIES adjacent places around its hash. If they are taken
 * it has as many in a second index, which is long enough for the maximal number of slots.
 */
#define THREAD_TRIES 16
#define TABLE_SHIFT 16	/* number of a slot: its table, and its place there; 0 is unused */
#define SLOT_BITS (TABLE_SHIFT + OFFCPU_THREAD_TABLE_BITS)
#define SLOT_MAX ((1ULL << SLOT_BITS) - 1)
#define INDEX_BITS 15	/* 256 KiB */
#define NO_PLACE (~0U)
#define LIST_TRIES 64

struct thread_slots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);	/* begins at a page, so that slots begin at a cache line */
	__uint(max_entries, 1);			/* number and size are set by supply/thread_table.c */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct thread_state));
};

const volatile __u32 chain_state_bytes = sizeof(struct chain_state);	/* additional size where chains are wanted */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, OFFCPU_THREAD_TABLES);
	__type(key, __u32);
	__array(values, struct thread_slots);
} thread_tables SEC(".maps");

/*
 * The number of a slot, below the bits of index_key(); 0: free. Its length is constant, so programs need not read it:
 * with 10,000 threads it is a third full, and still fits an L2 cache.
 */
__u64 thread_index[1 << INDEX_BITS] __attribute__((aligned(64))) = { 0 };

MAP(second_index, ARRAY, __u32, __u64, 1);	/* size set by user space */

__u32 threads_taken = 0;	/* slots, in all tables */
__u32 slots_begun = 1;		/* slots ever taken, plus number 0 */
/* The free list: the number of its first slot and, above that, a count of the list's changes (against ABA). */
__u64 free_slots = 0;
bool second_index_used = false;
/* The last thread number (tno). Here, since making a slot has already fetched this line. */
__u32 last_tno = 0;

/*
 * A number for a task: its address in cache lines, since a task_struct is aligned to one (kernel/fork.c, fork_init()).
 * The verifier forbids shifting or multiplying a pointer; but the difference of two pointers is a number, and the
 * other one is constant.
 */
static __always_inline __u64 tag_of(const struct task_struct *task)
{
	__u64 tag = (__u64)task;

	asm volatile("%[tag] -= %[base]" : [tag] "+r"(tag) : [base] "r"(thread_index));
	return tag >> 6;
}

#define TAG_MIX                                                                                                        \
	0x9e3779b1U /* 2^32 over the golden ratio, Knuth's multiplier; it fits the instruction, unlike 64 bits */

static __always_inline __u32 hash_of_tag(__u64 tag, __u32 bits)
{
	return (__u32)tag * TAG_MIX >> (32 - bits);
}

/*
 * Identifies a thread above the number of its slot: 45 bits of the tag. All task_structs are in the machine's memory,
 * which in no kernel has 2 PiB in a row.
 */
static __always_inline __u64 index_key(__u64 tag)
{
	return tag << SLOT_BITS;
}

/* The thread's slot, if the entry is this thread's; else above SLOT_MAX. */
static __always_inline __u64 slot_of_entry(__u64 entry, __u64 tag)
{
	return entry ^ index_key(tag);
}

/* In the first index. */
static __always_inline __u32 first_place(__u64 tag)
{
	return hash_of_tag(tag, INDEX_BITS);
}

static __always_inline const volatile __u32 *table_key(__u32 table)
{
	barrier_var(table);	/* clang knows the bound, the verifier does not; likewise below */
	return &small_keys[table & (OFFCPU_THREAD_TABLES - 1)];
}

/* NULL: the table does not exist yet. */
static __always_inline struct thread_state *thread_at(const volatile __u32 *table, __u32 place)
{
	void *slots = bpf_map_lookup_elem(&thread_tables, (const void *)table);

	return slots ? bpf_map_lookup_elem(slots, &place) : NULL;
}

/* The thread in a slot; NULL: no such slot. */
static __always_inline struct thread_state *thread_in(__u32 slot)
{
	const volatile __u32 *table = table_key(slot >> TABLE_SHIFT);

	return !slot || slot > SLOT_MAX ? NULL : thread_at(table, slot & ((1U << TABLE_SHIFT) - 1));
}

/* A place of the first index or, with higher numbers, of the second. NULL: no such place. */
static __always_inline __u64 *entry_at(__u32 place)
{
	__u32 above = place - (1U << INDEX_BITS);

	if (place >= 1U << INDEX_BITS)
		return bpf_map_lookup_elem(&second_index, &above);
	barrier_var(place);
	return &thread_index[place & ((1U << INDEX_BITS) - 1)];
}

/*
 * Is this the thread's place? If slot is given: or is it free and becomes that? A global function like the others
 * here: the verifier checks them once, and loops for all rounds.
 */
__noinline int is_place_of(__u32 place, __u64 tag, __u32 slot)
{
	__u64 *entry = entry_at(place), found, own = index_key(tag) | slot;

	if (!entry)
		return false;
	found = *entry;
	if (!found && slot)
		found = __sync_val_compare_and_swap(entry, 0, own) ?: own;
	return slot_of_entry(found, tag) <= SLOT_MAX;
}

/* The first such place of THREAD_TRIES adjacent ones. */
__noinline __u32 place_near(__u32 first, __u64 tag, __u32 slot)
{
	for (__u32 i = 0; i < THREAD_TRIES; i++)
		if (is_place_of(first ^ i, tag, slot))
			return first ^ i;
	return NO_PLACE;
}

/* The same in both indexes. */
__noinline __u32 find_place(__u64 tag, __u32 slot)
{
	__u32 place = place_near(first_place(tag), tag, slot);

	if (place != NO_PLACE || (!slot && !second_index_used))
		return place;
	if (slot)
		second_index_used = true;
	return place_near((1U << INDEX_BITS) + hash_of_tag(tag, cfg.thread_bits + OFFCPU_THREAD_TABLE_BITS), tag, slot);
}

/* The slot found there. 0: the thread has none, or there was no place for the given one. */
__noinline __u32 find_slot(__u64 tag, __u32 slot)
{
	__u64 *entry = entry_at(find_place(tag, slot));
	__u64 found = entry ? slot_of_entry(*entry, tag) : 0;

	return found <= SLOT_MAX ? found : 0;
}

/*
 * The slot of a thread that is not at its first place but at one of the others around it; else 0. With thousands of
 * threads that is frequent (every seventh of 10,000), and takes a fraction of find_slot(), which searches everywhere.
 */
__noinline __u32 slot_nearby(__u64 tag)
{
	__u32 first = first_place(tag);

	for (__u32 i = 1; i < THREAD_TRIES; i++) {
		__u64 slot = slot_of_entry(thread_index[(first ^ i) & ((1U << INDEX_BITS) - 1)], tag);

		if (slot <= SLOT_MAX)
			return slot;
	}
	return 0;
}

/*
 * NULL: no such thread is known. The look-up is the same for all tables, since the verifier would follow each one to
 * the end of the program. For a thread of the first table one comparison suffices, and the CPU need not wait to know
 * the table.
 */
static __always_inline struct thread_state *thread_of(struct task_struct *task)
{
	__u64 tag = tag_of(task), slot = slot_of_entry(thread_index[first_place(tag)], tag);
	const volatile __u32 *table = &small_keys[0];

	if (rarely(slot >> TABLE_SHIFT)) {
		if (slot > SLOT_MAX)
			slot = slot_nearby(tag) ?: find_slot(tag, 0);
		if (!slot)
			return NULL;
		table = table_key(slot >> TABLE_SHIFT);
		slot &= (1U << TABLE_SHIFT) - 1;
	}
	return thread_at(table, slot);
}

struct free_slot {
	__u32 next;	/* 0: none */
};

/* Replaces the first slot of the list. False: another CPU was quicker. */
static __always_inline bool change_first(__u64 was, __u32 slot)
{
	return __sync_val_compare_and_swap(&free_slots, was, ((was >> 32) + 1) << 32 | slot) == was;
}

static __always_inline __u32 nth_slot(__u32 n)
{
	return n >> cfg.thread_bits << TABLE_SHIFT | (n & ((1U << cfg.thread_bits) - 1));
}

#define QUICKER_TOOK_IT ~0U

/* Removes the first slot of the list. 0: the list is empty. */
__noinline __u32 take_first(void)
{
	__u64 first = *(volatile __u64 *)&free_slots;
	const struct free_slot *head = (const void *)thread_in((__u32)first);

	if (!head)
		return 0;
	return change_first(first, head->next) ? (__u32)first : QUICKER_TOOK_IT;
}

/* A free slot. 0: there is none, or not yet. */
__noinline __u32 take_slot(void)
{
	__u32 slot = QUICKER_TOOK_IT;

	for (int i = 0; i < LIST_TRIES && slot == QUICKER_TOOK_IT; i++)
		slot = take_first();
	if (!slot || slot == QUICKER_TOOK_IT) {
		/* Read first: at the end of a table a number of the next table may get lost, but not all of them. */
		if (!thread_in(nth_slot(slots_begun)))
			return 0;
		slot = nth_slot(__sync_fetch_and_add(&slots_begun, 1));
	}
	__sync_fetch_and_add(&threads_taken, 1);
	return slot;
}

/* Makes it the first of the list. False: try again. */
__noinline int put_first(__u32 slot)
{
	__u64 first = *(volatile __u64 *)&free_slots;
	struct free_slot *head = (void *)thread_in(slot);

	if (!head)
		return true;
	head->next = first;
	if (!change_first(first, slot))
		return false;
	__sync_fetch_and_add(&threads_taken, -1);
	return true;
}

/* If contention makes every attempt fail the slot stays taken. */
__noinline int give_slot(__u32 slot)
{
	for (int i = 0; i < LIST_TRIES; i++)
		if (put_first(slot))
			break;
	return 0;
}

static __always_inline bool has_options(void)
{
	return cfg.want_events || cfg.want_wakers || cfg.want_locks || cfg.want_objects || cfg.want_blame ||
	       cfg.want_storms || cfg.want_requests;
}

/* Resets to the state at birth. chain: the thread's, or NULL. */
__noinline int clear_thread(struct thread_state *st, struct chain_state *chain)
{
	if (!st)
		return 0;
	__builtin_memset(st, 0, OPTIONS_OFFSET);
	if (has_options())
		__builtin_memset((char *)st + OPTIONS_OFFSET, 0, sizeof(*st) - OPTIONS_OFFSET);
	if (chain)
		__builtin_memset(chain, 0, __builtin_offsetof(struct chain_state, hops));
	return 0;
}

/*
 * Zeroed state for the thread. NULL: there is no room, or not yet. is_born: it has none yet, unless the end of a
 * predecessor was missed.
 */
static __always_inline struct thread_state *new_thread(struct task_struct *task, bool is_born)
{
	__u64 tag = tag_of(task);
	__u32 slot = take_slot(), found;
	struct thread_state *st = thread_in(slot);

	if (!st)
		return NULL;
	clear_thread(st, chain_of(st));
	/* Its first place is likely to be free. */
	if (mostly(!__sync_val_compare_and_swap(&thread_index[first_place(tag)], 0, index_key(tag) | slot)))
		return st;
	found = find_slot(tag, slot);
	if (found == slot)
		return st;
	give_slot(slot);
	st = thread_in(found);
	if (st && is_born)
		clear_thread(st, chain_of(st));
	return st;
}

/* Some thread found no free slot: an unknown thread may be that one. A process that the kernel hides; 0: none seen. */
__u32 some_without_slot = 0, hidden_pid = 0;

static __always_inline void count_no_slot(void)
{
	some_without_slot = 1;
	count_loss(OFFCPU_LOSS_STORAGE, 0);
}

/*
 * A thread without a slot: there was no room, or the kernel hides it, as sandboxes may hide their monitor. With an
 * active filter it may not be selected, and what is outside our pid namespace is not ours to trace.
 */
static __noinline int count_unknown_thread(const struct task_struct *task)
{
	if (cfg.by_tgid || cfg.by_tid || cfg.by_comm || cfg.by_cgroup || cfg.follow_exec || cfg.pidns_inum)
		return 0;
	if (!some_without_slot)
		hidden_pid = task->tgid;
	count_loss(some_without_slot ? OFFCPU_LOSS_STORAGE : OFFCPU_LOSS_HIDDEN, 0);
	return 0;
}

/* The thread has ended: removes it from the index. Returns its slot, now unreachable, or an invalid number. */
static __always_inline __u32 forget_thread(struct task_struct *task)
{
	__u64 tag = tag_of(task), slot;
	__u64 *entry = &thread_index[first_place(tag)];

	if (rarely(slot_of_entry(*entry, tag) > SLOT_MAX))
		entry = entry_at(find_place(tag, 0));
	if (!entry)
		return 0;
	slot = slot_of_entry(__sync_lock_test_and_set(entry, 0), tag);
	return slot <= SLOT_MAX ? slot : 0;
}

#endif
