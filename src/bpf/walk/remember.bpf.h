/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_REMEMBER_BPF_H
#define BPF_WALK_REMEMBER_BPF_H

#include "bpf/walk/pages.bpf.h"
#include "bpf/select.bpf.h"

/*
 * Cached walks. A thread sleeps in few places, again and again, and walking its stacks is the main cost of tracing. So
 * each thread caches its last few walks: where on the stack the words are that a walk depends on, and a hash of them.
 * Later only those words are read.
 *
 * User stack.  A walk depends on its initial registers and the words it reads: return addresses, and saved frame
 * pointers where it uses them.  With the same registers, the same words in the same places and the same tables each
 * step finds the same rule, and so the same place for the next word. By induction the walk is the same. A walk that
 * met unreadable memory, or crossed a signal frame, is not cached.
 *
 * Kernel stack: by architecture (bpf/x86/kernel_walk.bpf.h).
 *
 * Other threads.  When a thread waits somewhere for the first time it has no cached walk, but another thread may have
 * waited there: a server has hundreds of equal threads, a shell has children, and every new thread waits for its first
 * CPU with the same kernel stack of one frame. The argument above does not depend on the thread. So each CPU keeps
 * some of the threads' cached walks for all. In a kernel stack words have the same distance from thread.sp in each
 * thread, and the outermost one from the stack's end. In a user stack they have the same distance from the stack
 * pointer. Stack addresses in it, that is saved frame pointers that were used, are also taken relative to it. Then
 * nothing depends on the stack's address. A walk found this way is copied to the thread's own cache.
 *
 * Storage. Most threads never run during a recording, and many live for two or three switches. So a thread takes a
 * struct memory from an array when its stacks are first walked, except for its wait for its first CPU, and returns it
 * as it ends. Only the thread writes to it, and a thread is on one CPU at a time. When all are taken the other threads
 * walk in full.
 *
 * `hot` protects frequent walks from eviction by rare ones, such as those of a preemption anywhere in the program.
 */

#define HOT_MAX 4

/* May the new walk replace the one here? Each miss decreases `hot`. */
static __always_inline bool may_replace(__u64 id, __u8 *hot)
{
	if (!id || !*hot)
		return true;
	--*hot;
	return false;
}

static __always_inline void was_met(__u8 *hot)
{
	if (*hot < HOT_MAX)
		++*hot;
}

#define WORDS_AT_ONCE 4
_Static_assert(WALK_WORDS % WORDS_AT_ONCE == 0, "");

/*
 * Continues the hash h over the words of a cached user walk: a group of them from this number on. 0: a word is
 * unreadable. Global functions, this and the next: the verifier checks each word's branches once, not all words in
 * sequence, which was a quarter of its work.
 */
__noinline __u64 hash_viewed_words(const struct walk_memory *m, struct page_view *view, __u32 first, __u64 h)
{
	if (!m || !view || first > WALK_WORDS - WORDS_AT_ONCE)
		return 0;
#pragma unroll
	for (__u32 i = 0; i < WORDS_AT_ONCE; i++) {
		__u64 word;

		if (first + i >= m->cnt)
			break;
		if (!viewed_word(view, m->sp + (m->at[first + i] & ~WORD_IS_ADDRESS), &word))
			return 0;
		h = mix(h, m->at[first + i] & WORD_IS_ADDRESS ? word - m->sp : word);
	}
	return h ? h : 1;
}

/* The hash of all words as they are now, for a thread that is not current; 0: one is unreadable. */
static __always_inline __u64 viewed_words_hash(const struct walk_memory *m, struct page_view *view)
{
	__u64 h = STACK_MIX;

	for (__u32 i = 0; i < WALK_WORDS && i < m->cnt && h; i += WORDS_AT_ONCE)
		h = hash_viewed_words(m, view, i, h);
	return h;
}

/*
 * The same two for the current thread. Its words are read a window at a time, which costs little more than one word.
 */
__noinline __u64 hash_current_words(const struct walk_memory *m, struct scratch *scratch, __u32 first, __u64 h)
{
	if (!m || !scratch || first > WALK_WORDS - WORDS_AT_ONCE)
		return 0;
#pragma unroll
	for (__u32 i = 0; i < WORDS_AT_ONCE; i++) {
		__u32 at = m->at[first + i] & ~WORD_IS_ADDRESS, offset = at - scratch->window_at,
		      have = scratch->window_bytes;
		__u64 word;

		if (first + i >= m->cnt)
			break;
		if (offset > have - 8 || have < 8) {
			have = m->bytes - at;
			barrier_var(have);
			if (have < 8)
				return 0;
			if (have > WALK_WINDOW)
				have = WALK_WINDOW;
			if (bpf_probe_read_user(scratch->window, have, (void *)(m->sp + at)))
				return 0;
			scratch->window_at = at;
			scratch->window_bytes = have;
			offset = 0;
		}
		offset /= 8;
		barrier_var(offset);
		if (offset > WALK_WINDOW / 8 - 1)
			return 0;
		word = scratch->window[offset];
		h = mix(h, m->at[first + i] & WORD_IS_ADDRESS ? word - m->sp : word);
	}
	return h ? h : 1;
}

static __always_inline __u64 current_words_hash(const struct walk_memory *m, struct scratch *scratch)
{
	__u64 h = STACK_MIX;

	scratch->window_bytes = 0;
	for (__u32 i = 0; i < WALK_WORDS && i < m->cnt && h; i += WORDS_AT_ONCE)
		h = hash_current_words(m, scratch, i, h);
	return h;
}

/* Not one function that calls either: Linux 6.1 leaves no room for its frame. */
static __always_inline __u64 words_hash(const struct walk_memory *m, struct scratch *scratch)
{
	return scratch->walk.view.pgd ? viewed_words_hash(m, &scratch->walk.view) : current_words_hash(m, scratch);
}

static __always_inline struct memory *memory_at(__u32 number)
{
	return bpf_map_lookup_elem(&memories, &number);
}

static __always_inline struct memory *memory_of(const struct thread_state *st)
{
	return st->memory ? memory_at(st->memory - 1) : NULL;
}

static __always_inline struct waker_memory *waker_memory_of(const struct thread_state *st)
{
	__u32 number = st->memory - 1;

	return st->memory ? bpf_map_lookup_elem(&waker_memories, &number) : NULL;
}

/* Clears what another thread left behind. */
static __always_inline void forget_walks(struct memory *m, struct waker_memory *w)
{
	for (int i = 0; i < SEEN; i++)
		m->seen_kstack[i] = 0;
	for (int i = 0; i < WALKS; i++)
		m->walks[i].id = m->kernel_walks[i].id = 0;
	if (!w)
		return;
	for (int i = 0; i < WAKER_WALKS; i++)
		w->walks[i].id = w->walks[i].inner = 0;
}

#define COLD_NS 1000000ULL	/* after a wait this long the CPU's shared walks are tried first */
#define MEMORY_TRIES 8

/* Takes a memory for a thread that has none, if one is free. A global function: the verifier checks it once. */
__noinline int take_memory(struct thread_state *st)
{
	if (!st || memories_taken >= cfg.memories_max)
		return 0;
	for (int i = 0; i < MEMORY_TRIES; i++) {
		__u32 number = __sync_fetch_and_add(&next_memory, 1) % cfg.memories;
		struct memory *m = memory_at(number);

		if (!m)
			return 0;
		if (m->is_taken || __sync_val_compare_and_swap(&m->is_taken, 0, 1))
			continue;
		__sync_fetch_and_add(&memories_taken, 1);
		st->memory = number + 1;
		forget_walks(m, waker_memory_of(st));
		return 1;
	}
	return 0;
}

/* The same, if it has none yet. */
static __always_inline void take_memory_of(struct thread_state *st)
{
	if (!st->memory)
		take_memory(st);
}

/* The thread has ended. */
static __always_inline void give_memory_back(struct thread_state *st)
{
	struct memory *m = memory_of(st);

	if (!m)
		return;
	st->memory = 0;
	__sync_fetch_and_add(&memories_taken, -1);
	__sync_lock_test_and_set(&m->is_taken, 0);	/* after all writes to it */
}

/* Where a walk that begins there is cached; NULL: nowhere. */
static __always_inline struct walk_memory *user_memory(const struct thread_state *st, __u64 ip, __u64 sp)
{
	struct memory *m = memory_of(st);

	return m ? &m->walks[(ip >> 2 ^ sp >> 4) & (WALKS - 1)] : NULL;
}

#endif
