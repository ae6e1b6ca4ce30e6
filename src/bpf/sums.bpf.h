/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_SUMS_BPF_H
#define BPF_SUMS_BPF_H

#include "bpf/maps.bpf.h"

/* Sums of listed waits, by thread, state and stacks: see struct offcpu_wait_slot. */

static __always_inline __u32 log2_slot(__u64 ns)
{
	__u64 ones = ns >> 1;
	__u32 slot;

	/*
	 * set the bits below the highest one and count them (Hacker's Delight, 5-1): each branch doubled the
	 * verifier's work
	 */
	ones |= ones >> 1;
	ones |= ones >> 2;
	ones |= ones >> 4;
	ones |= ones >> 8;
	ones |= ones >> 16;
	ones |= ones >> 32;
	ones -= ones >> 1 & 0x5555555555555555ULL;
	ones = (ones & 0x3333333333333333ULL) + (ones >> 2 & 0x3333333333333333ULL);
	ones = (ones + (ones >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	slot = ones * 0x0101010101010101ULL >> 56;
	return slot < OFFCPU_HIST_SLOTS ? slot : OFFCPU_HIST_SLOTS - 1;
}

static __always_inline void add_to_hist(__u32 *bar_q8, const struct kept_wait *kept)
{
	__u64 sum = *bar_q8 + kept->weight_q8;

	*bar_q8 = sum > ~0U ? ~0U : sum;
}

/* If neither is wanted they are 0 in all keys, and their cache line of the slot is not needed. */
static __always_inline bool has_waker_or_object(void)
{
	return cfg.want_wakers || cfg.want_locks || cfg.want_objects;
}

/* Stack ids are hashes already, so one multiplication for each part is enough. */
static __always_inline __u32 wait_key_hash(const struct offcpu_wait_key *key)
{
	__u64 h = key->ustack ^ key->kstack << 17 ^ key->kstack >> 47;

	h = mix(h, (__u64)key->tno << 32 | (__u32)key->slice << 16 | key->flags << 8 | key->state);
	if (has_waker_or_object())
		h = mix(mix(h, key->waker), key->object);
	return h >> 32;
}

static __always_inline bool is_slot_of(const struct offcpu_wait_slot *s, const struct offcpu_wait_key *key)
{
	return s->tno == key->tno && s->ustack == key->ustack && s->kstack == key->kstack && s->state == key->state &&
	       s->flags == key->flags && s->slice == key->slice &&
	       (!has_waker_or_object() || (s->waker == key->waker && s->object == key->object));
}

#define WAIT_PROBES 64
#define NO_WAIT_SLOT ~0U

/*
 * Is this the slot of that key, or is it free and becomes that slot? A key holds a thread number and a thread is on
 * one CPU at a time, so two CPUs may compete for a free slot, but not for one key. The one that sets tno has it; the
 * other one sees a foreign slot, whatever else is in it yet. A global function: the verifier checks it once, not for
 * each round of the loop below.
 */
__noinline int is_wait_slot_of(__u32 number, const struct offcpu_wait_key *key)
{
	struct offcpu_wait_slot *s = bpf_map_lookup_elem(&wait_slots, &number);

	if (!s || !key)
		return false;
	if (is_slot_of(s, key))
		return true;
	if (s->tno || __sync_val_compare_and_swap(&s->tno, 0, key->tno))
		return false;
	s->ustack = key->ustack;
	s->kstack = key->kstack;
	s->flags = key->flags;
	s->state = key->state;
	s->slice = key->slice;
	if (has_waker_or_object()) {
		s->waker = key->waker;
		s->object = key->object;
	}
	wait_groups[number / OFFCPU_WAIT_GROUP_SLOTS % OFFCPU_WAIT_GROUPS] = 1;
	__sync_fetch_and_add(&wait_entries, 1);
	return true;
}

/* Searches the places from the key's hash on. Global for the same reason. */
__noinline __u32 find_wait_slot(const struct offcpu_wait_key *key)
{
	__u32 first, at;

	if (!key)
		return NO_WAIT_SLOT;
	first = key->flags & OFFCPU_KEY_SECOND ? cfg.wait_slots : 0;
	at = wait_key_hash(key);
	for (__u32 i = 0; i < WAIT_PROBES; i++, at++) {
		__u32 number = first + (at & (cfg.wait_slots - 1));

		if (is_wait_slot_of(number, key))
			return number;
	}
	return NO_WAIT_SLOT;
}

/* Prefetches the slot that its last wait was added to, which the next one is likely to use. */
static __always_inline void fetch_sum_early(const struct thread_state *st)
{
	const struct offcpu_wait_slot *s = bpf_map_lookup_elem(&wait_slots, &st->last_sum);
	__u64 key, hist;

	if (!s)
		return;
	key = s->ustack;
	hist = *(const __u64 *)s->hist_q8;
	barrier_var(key);
	barrier_var(hist);
}

/* Sets the CPU's slice to the one that contains `now`. */
static __always_inline void begin_slice(struct scratch *scratch, __u64 now)
{
	__u32 mask = slice_mask;

	scratch->slice = (now - window.start_ns) / cfg.slice_ns & mask;
	scratch->slice_ns = window.start_ns + scratch->slice * cfg.slice_ns;
	scratch->slice_end_ns = scratch->slice_ns + (~mask + 1ULL) * cfg.slice_ns;
}

/*
 * A wait is summed in the slice in which it ends. One that began before that slice has a sum of its own, with its
 * start. There is at most one of these for each thread and slice; user space distributes it over its slices.
 */
static __always_inline void set_slice(struct scratch *scratch, const struct thread_state *st,
				      struct offcpu_wait_key *key, __u64 now)
{
	if (!cfg.slice_ns)
		return;
	if (now >= scratch->slice_end_ns || now < scratch->slice_ns)
		begin_slice(scratch, now);
	key->slice = scratch->slice;
	if (st->since_ns < scratch->slice_ns)
		key->flags |= OFFCPU_KEY_CROSSING;
}

enum summed { SUM_NO_ROOM, SUM_ADDED, SUM_LONGEST };

/*
 * Adds one wait of the thread under its key; it may be the longest of it so far. Without room the caller accounts for
 * it. A global function: the verifier checks it once.
 */
__noinline int sum_wait(struct thread_state *st, const struct offcpu_wait_key *key, const struct kept_wait *kept)
{
	int summed = SUM_ADDED;
	struct offcpu_wait_slot *s;
	__u32 number, place;

	if (!st || !key || !kept)
		return SUM_NO_ROOM;
	number = find_wait_slot(key);
	s = bpf_map_lookup_elem(&wait_slots, &number);
	if (!s)
		return SUM_NO_ROOM;
	st->last_sum = number;
	s->count_q8 += kept->weight_q8;
	s->blocked_ns += kept->parts.blocked_ns;
	s->runnable_ns += kept->parts.runnable_ns;
	s->preempted_ns += kept->parts.preempted_ns;
	if (cfg.may_sample && kept->variance)
		s->variance += kept->variance;
	if (kept->duration_ns > s->max_ns) {
		s->max_ns = kept->duration_ns;
		s->start_ns = st->since_ns;
		summed = SUM_LONGEST;
	}
	if (key->flags & OFFCPU_KEY_CROSSING)
		s->start_ns = st->since_ns;
	place = offcpu_hist_place(log2_slot(kept->duration_ns));
	barrier_var(place);	/* clang knows the bound, the verifier does not */
	if (place < OFFCPU_HIST_SLOTS)
		add_to_hist(&s->hist_q8[place], kept);
	if (cfg.want_wakers) {
		place = log2_slot(kept->delay_ns);
		if (place >= OFFCPU_WAKE_SLOTS)
			place = OFFCPU_WAKE_SLOTS - 1;
		add_to_hist(&s->wake_hist_q8[place], kept);
	}
	return summed;
}

#endif
