/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_KERNEL_WALK_BPF_H
#define BPF_X86_KERNEL_WALK_BPF_H

#include "bpf/walk/remember.bpf.h"

/*
 * Kernel stack. It begins at thread.sp in __schedule(), and the unwinder (ORC) finds each return address a fixed
 * distance above the last one: the same induction, as long as no frame's size is decided at run time.
 *
 * Two things can break it. First, the system call's entry adds a random distance to its frame
 * (CONFIG_RANDOMIZE_KSTACK_OFFSET). So all words but the outermost are located by their distance from thread.sp, and
 * the outermost by its address, which is fixed. Second, the unwinder does not say where it read: return addresses are
 * searched from thread.sp upwards, and a stale word may look like one. So all candidates are cached: a return address
 * that is found twice is kept twice, and so are all words that look like kernel text in the scheduler's frames below,
 * which the unwinder skips. Once user space has told where the scheduler's functions are, only addresses in these
 * count.
 *
 * That is too strict where a stale word changes, above all in that random distance, which is full of remains of
 * earlier calls. When the same walk is found again and some of its words have changed, only the common ones are kept.
 * With the same words of the scheduler's frames in the same places and the same return addresses above, each return
 * address is where it was, and the words that have changed were stale.
 */

/* The kernel's and its modules' text lies in the top 2 GiB. */
static __always_inline bool is_kernel_text(__u64 word)
{
	return word >> 31 == 0x1ffffffffULL;
}

__noinline __u64 kernel_words_hash(const struct kernel_memory *m, __u64 sp)
{
	__u64 h;

	if (!m)
		return 0;
	h = mix(STACK_MIX, word_at(m->last_at));
	for (__u32 i = 0; i < KERNEL_WORDS; i++) {
		if (i >= m->cnt)
			break;
		h = mix(h, word_at(sp + m->at[i]));
	}
	return h ? h : 1;
}

/*
 * Where a thread sleeps in the kernel depends on its system call; but it may also be preempted on its way back, or by
 * an interrupt.
 */
static __always_inline __u32 kernel_place(const struct thread_state *st)
{
	return st->entry >> 2 ^ (st->state == OFFCPU_STATE_R);
}

static __always_inline struct kernel_memory *kernel_memory(const struct thread_state *st)
{
	struct memory *m = memory_of(st);

	return m ? &m->kernel_walks[kernel_place(st) & (WALKS - 1)] : NULL;
}

/* sp: thread.sp. */
static __always_inline __u64 remembered_kernel_walk(struct kernel_memory *m, __u64 sp)
{
	if (!m || !m->id || kernel_words_hash(m, sp) != m->hash)
		return 0;
	was_met(&m->hot);
	return m->id;
}

#define KERNEL_STACK_BYTES 16384	/* and aligned to that; larger with KASAN only */

/* The shared cache of walks for threads that wait like this one; the last entry is for new threads. */
static __always_inline struct shared_kernel_walk *shared_kernel_memory(const struct thread_state *st,
								       struct scratch *scratch)
{
	if (st->mode == MODE_NEW)
		return &scratch->shared_kernel_walks[SHARED_WALKS];
	return &scratch->shared_kernel_walks[kernel_place(st) & (SHARED_WALKS - 1)];
}

/* Is the walk the same as the shared one? Then it becomes this thread's. own: NULL where the thread has no memory. */
static __always_inline __u64 others_kernel_walk(struct kernel_memory *shared, struct kernel_memory *own, __u64 sp)
{
	__u64 id;

	shared->last_at = (sp & ~(KERNEL_STACK_BYTES - 1ULL)) | (shared->last_at & (KERNEL_STACK_BYTES - 1));
	id = remembered_kernel_walk(shared, sp);
	if (id && own && may_replace(own->id, &own->hot))
		*own = *shared;
	return id;
}

/* Words between sp and the stack's end. Each word read beyond it would cost a page fault. */
static __always_inline __u32 words_above(__u64 sp)
{
	return (KERNEL_STACK_BYTES - (sp & (KERNEL_STACK_BYTES - 1))) / sizeof(__u64);
}

/* State of a search; without padding, since all of it is passed to a global function. */
struct kernel_found {
	__u64 sp;
	__u64 inner;		/* hash of the scheduler's words */
	__u32 next, cnt;	/* index into m->at of the next expected word; how many there were */
	__u64 is_again;		/* the walk is cached, but imprecisely: only words in m->at count */
};

struct kernel_search {
	struct kernel_memory *m;
	const struct offcpu_rec_stack *stack;
	struct kernel_found found;
};

/* May the word at this place count? Must be called for each word in order. */
static __always_inline bool may_count(const struct kernel_memory *m, struct kernel_found *s, __u32 at)
{
	__u32 next = s->next;

	if (!s->is_again)
		return true;
	barrier_var(next);
	if (next >= s->cnt || next >= KERNEL_WORDS || m->at[next] != at)
		return false;
	s->next = next + 1;
	return true;
}

/* The outermost word is not one of m->at. */
static __always_inline bool may_be_outermost(const struct kernel_memory *m, const struct kernel_found *s,
					     __u32 found, __u64 addr)
{
	return found + 1 == m->depth && (!s->is_again || addr == m->last_at);
}

/*
 * One word of the stack; 1 ends the search. m->found: return addresses found so far. A global function: the verifier
 * checks it once, whatever the state of the search.
 */
__noinline int search_word(struct kernel_memory *m, const struct offcpu_rec_stack *stack, struct kernel_found *s,
			   __u32 i)
{
	__u32 found, last, cnt;
	__u64 word, wanted;
	bool counts;

	if (!m || !stack || !s)
		return 1;
	found = m->found;
	last = found - 1;
	word = word_at(s->sp + i * 8);
	counts = may_count(m, s, i * 8);
	/* clang knows that it is within bounds where it is used; the verifier does not */
	barrier_var(last);
	if (!is_kernel_text(word) || found >= OFFCPU_MAX_DEPTH)
		return 0;
	wanted = stack->ip[found];
	if (word == wanted && may_be_outermost(m, s, found, s->sp + i * 8)) {
		m->found = found + 1;
		m->last_at = s->sp + i * 8;
		return 1;
	}
	if (word == wanted && counts && found + 1 != m->depth) {
		m->found = found + 1;
	} else if (!found) {
		if (sched_text_bytes && word - sched_text >= sched_text_bytes)
			return 0;
		s->inner = mix(s->inner, word);
	} else if (last >= OFFCPU_MAX_DEPTH || word != stack->ip[last]) {
		return 0;
	}
	if (!counts)
		return 0;
	cnt = m->cnt;
	barrier_var(cnt);	/* or clang bounds a copy of it, and Linux 6.1 forgets the other */
	if (cnt >= KERNEL_WORDS)
		return 1;
	m->at[cnt] = i * 8;
	m->cnt = cnt + 1;
	return 0;
}

static long kernel_search_word(__u32 i, struct kernel_search *s)
{
	int is_over = search_word(s->m, s->stack, &s->found, i);

	barrier_var(is_over);	/* as in walk_step_now() */
	return is_over & 1;
}

/*
 * Caches the walk in *stack, which has crossed. m: see kernel_memory(). A global function: the verifier checks its
 * search once.
 */
__noinline int learn_kernel_walk(struct kernel_memory *m, __u64 sp, const struct offcpu_rec_stack *stack)
{
	struct kernel_search s = { .m = m, .stack = stack, .found.sp = sp };
	__u32 depth;
	__u64 id;

	if (!m || !stack)
		return 0;
	depth = stack->depth;
	id = stack->id;
	s.found.cnt = m->cnt;
	s.found.is_again = m->id == id && sched_text_bytes;
	if (stack->end != OFFCPU_WALK_COMPLETE || (m->id != id && !may_replace(m->id, &m->hot)))
		return 0;
	m->id = 0;
	m->cnt = m->found = 0;
	m->depth = depth;
	bpf_loop(words_above(sp), kernel_search_word, &s, 0);
	if (m->found != depth || (s.found.is_again && s.found.inner != m->inner))
		return 0;
	m->inner = s.found.inner;
	m->hash = kernel_words_hash(m, sp);
	m->id = id;
	return 0;
}

/*
 * Caches the walk in scratch->stack, for the thread and for others: only when it occurs a second time, as stacks of
 * preempted threads often never do.
 */
__noinline int remember_kernel_walk(const struct thread_state *st, struct scratch *scratch, __u64 sp)
{
	struct shared_kernel_walk *shared;
	struct kernel_memory *m;

	if (!st || !scratch)
		return 0;
	m = kernel_memory(st);
	if (m && scratch->was_seen)
		learn_kernel_walk(m, sp, &scratch->stack);
	shared = shared_kernel_memory(st, scratch);
	if (shared->seen == scratch->stack.id)
		learn_kernel_walk(&shared->walk, sp, &scratch->stack);
	shared->seen = scratch->stack.id;
	return 0;
}

__noinline __u64 known_kernel_stack(struct thread_state *st, struct scratch *scratch, __u64 sp)
{
	struct kernel_memory *m, *shared;
	__u64 id;

	if (!st || !scratch)
		return 0;
	shared = &shared_kernel_memory(st, scratch)->walk;
	if (st->is_cold) {	/* as in known_user_stack() */
		id = others_kernel_walk(shared, NULL, sp);
		return id ? id : remembered_kernel_walk(kernel_memory(st), sp);
	}
	m = kernel_memory(st);
	id = remembered_kernel_walk(m, sp);
	return id ? id : others_kernel_walk(shared, m, sp);
}

#define EARLY_LINES 4

/* Prefetches the words of a sleeper's kernel stack that its cached walk is likely to need. */
static __always_inline void fetch_stack_early(const struct task_struct *task)
{
	const __u64 sp = resting_sp(task);

	if (!can_cast())
		return;		/* a helper would have to read it */
#pragma unroll
	for (int i = 0; i < EARLY_LINES; i++) {
		__u64 word = word_at(sp + i * 64);

		barrier_var(word);
	}
}

/* The scheduler's frames, for bpf/walk/sleep_path.bpf.h. */

#define SLEEP_PATH_STEPS 128	/* words, 1 KiB of stack; the scheduler's frames take a few hundred bytes */

/* The function called just before a return address: call rel32 is e8 and four bytes. */
static __always_inline __u64 callee_of(__u64 word)
{
	struct {
		__u8 opcode;
		__s32 offset;
	} __attribute__((packed)) call;

	if (bpf_probe_read_kernel(&call, sizeof(call), (void *)(word - sizeof(call))) || call.opcode != 0xe8)
		return 0;
	return word + call.offset;
}

/* The i-th place where a return address may lie: false if it cannot be read, *ret_word 0 if there is none. */
static __always_inline bool sleep_path_word(__u64 *sp, __u32 i, __u64 *ret_word)
{
	__u64 word;

	if (bpf_probe_read_kernel(&word, sizeof(word), (const __u64 *)*sp + i))
		return false;
	*ret_word = is_kernel_text(word) ? word : 0;
	return true;
}

#endif
