/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_STACK_BPF_H
#define BPF_WALK_STACK_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/walk/unwind.bpf.h"
#include "bpf/walk/language.bpf.h"
#include "features/traces/context.bpf.h"
#include "bpf/walk/mapped.bpf.h"
#ifdef __TARGET_ARCH_x86
#include "bpf/x86/kernel_walk.bpf.h"
#else
#include "bpf/arm64/kernel_walk.bpf.h"
#endif
#include "bpf/walk/sleep_path.bpf.h"

#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

/*
 * Stacks cross to user space once. A stack is walked into a buffer and hashed to 64 bits; waits are summed under that
 * id. An id that is not yet in `crossed` is sent through the ring buffer and only then added to it, so a full ring
 * delays a stack and never loses it for good.
 *
 * User stacks are seeded with their address space and, where it has tables, the version of its mappings: the same
 * addresses in another program, or in a library that replaced another one, are another stack. A forked child that has
 * mapped nothing since has its parent's stacks, as long as the whole walk is in files with tables: code compiled at
 * run time has other names in each process.
 *
 * 64 bits: of 100,000 stacks two share an id with probability 3e-10.
 */

#define HASHED_AT_ONCE 8

/* Continues the hash h from a frame on. These two are global functions: the verifier checks few rounds, and once. */
__noinline __u64 hash_frames(const struct offcpu_rec_stack *s, __u32 first, __u32 depth, __u64 h)
{
	if (!s)
		return h;
	for (__u32 i = 0; i < HASHED_AT_ONCE; i++) {
		__u32 at = first + i;

		if (at >= depth || at >= OFFCPU_MAX_DEPTH)
			break;
		h = mix(h, s->ip[at]);
	}
	return h;
}

__noinline __u64 stack_hash(const struct offcpu_rec_stack *s, __u32 depth, __u64 seed)
{
	__u64 h = seed ^ depth;

	for (__u32 i = 0; i < OFFCPU_MAX_DEPTH && i < depth; i += HASHED_AT_ONCE)
		h = hash_frames(s, i, depth, h);
	return s && h ? h : 1;
}

/* Sends the stack in *s, with its addresses filled in, unless it has crossed before. False: try again. */
static __always_inline bool stack_cross(struct offcpu_rec_stack *s, __u64 id, __u32 depth,
					const struct thread_state *st, bool user, __u64 now)
{
	__u64 size = offsetof(struct offcpu_rec_stack, ip) + (__u64)depth * sizeof(__u64);

	if (has_crossed(id))
		return true;
	s->type = OFFCPU_REC_STACK;
	s->depth = depth;
	s->id = id;
	s->ts_ns = now;
	s->proc_start_ns = user ? st->proc_start_ns : 0;
	s->pid = user ? st->pid : 0;
	s->exec_no = user ? st->exec_no : 0;
	s->is_user = user;
	if (user && st->speaks & SPACE_HAS_LANGUAGE)
		size = sizeof(*s);
	barrier_var(size);	/* clang knows the bound of depth, and leaves out a test that Linux 6.1 needs */
	if (size > sizeof(*s))
		return false;
	return send_crossing(s, size, id, OFFCPU_LOSS_RING_STACK);
}

/* By frame pointer, as the kernel walks it, also in 32-bit programs; returns the number of frames. */
static __always_inline __u32 kernels_own_walk(void *ctx, struct offcpu_rec_stack *stack)
{
	long n = bpf_get_stack(ctx, stack->ip, cfg.max_depth * sizeof(__u64), BPF_F_USER_STACK);
	__u32 depth = n <= 0 ? 0 : (__u32)n / sizeof(__u64);

	stack->end = depth >= cfg.max_depth ? OFFCPU_WALK_CUT : OFFCPU_WALK_UNKNOWN;
	return depth;
}

/* Hashes the user stack in *stack and sends it if needed; *ret_crossed: user space has it. */
static __always_inline __u64 user_stack_id(struct thread_state *st, struct offcpu_rec_stack *stack, __u32 depth,
					   __u64 seed, __u64 now, bool *ret_crossed)
{
	__u64 id;

	*ret_crossed = false;
	if (!depth || depth > OFFCPU_MAX_DEPTH) {
		count_loss(OFFCPU_LOSS_USTACK, 0);
		return 0;
	}
	id = stack_hash(stack, depth, seed);
	*ret_crossed = id == st->seen_ustack || stack_cross(stack, id, depth, st, true, now);
	if (*ret_crossed)
		st->seen_ustack = id;
	return id;
}

/* A global function: the verifier checks it once. */
__noinline int look_up_tables(struct thread_state *st, bool in_parents, __u32 epoch)
{
	const struct space *space;

	if (!st)
		return 0;
	space = space_of(st, in_parents);
	st->tables_generation = generation_of(space);
	st->speaks = space ? space->speaks : 0;
	st->tables_epoch = st->tables_generation ? epoch : 0;
	return 0;
}

/* The tables of the thread's program: looked up again when user space has changed any. */
static __always_inline void know_tables(const struct task_struct *task, struct thread_state *st)
{
	__u32 now = tables_epoch;

	if (cfg.want_tables && rarely(st->tables_epoch != now))
		look_up_tables(st, is_in_parents(task, st), now);
}

/*
 * Completes the walk begun by begin_walk(), by tables, or by frame pointers where the program has none; returns the
 * stack's id, or 0. A global function: the verifier checks it once.
 */
__noinline __u64 walk_user_stack(struct thread_state *st, struct scratch *scratch, __u64 now)
{
	__u64 id, remembered;
	struct walk_memory *m;
	bool crossed_now;
	__u32 depth;

	if (!st || !scratch)
		return 0;
	struct user_walk w = { .stack = &scratch->stack, .at = &scratch->walk };

	st->entry = w.at->entry;
	remembered = known_user_stack(st, scratch);
	if (remembered && !cfg.verify_walks)
		return remembered;
	scratch->counts.user_walks++;
	if (cfg.want_tables)
		w.space = space_of(st, w.at->in_parents);
	m = user_memory(st, w.at->ip, w.at->sp);
	if (m)
		begin_memory(m, &w, generation_of(w.space));
	if (cfg.want_tables && !w.space)
		w.space = made_space(st, w.at->task, MADE_FOR_SWITCHES);
	depth = walk_in_full(&w);
	id = user_stack_id(st, w.stack, depth, w.at->met_gap ? stack_seed(st) : w.at->seed, now, &crossed_now);
	if (cfg.verify_walks && remembered && remembered != id)
		count_loss(OFFCPU_LOSS_REMEMBERED, 0);
	if (!m || !w.memory || !id || !crossed_now || m->cnt > WALK_WORDS || w.at->unread)
		return id;
	m->hash = words_hash(m, scratch);
	if (!m->hash)
		return id;
	m->id = id;
	m->met_gap = w.at->met_gap;
	share_user_walk(m, scratch);
	return id;
}

/* Counts a walk through a frame without a table, in a program whose tables are not loaded yet; was it one? */
static __always_inline bool lacked_table(const struct thread_state *st, bool met_gap)
{
	if (!cfg.want_tables || st->tables_generation || !met_gap)
		return false;
	count_loss(OFFCPU_LOSS_NO_TABLE, 0);
	return true;
}

/*
 * The user stack of a thread; 0: none. ctx: NULL where it is not current, which is allowed only for a thread that
 * walks late. The current thread's stack, too, is read through page tables where possible (bpf/walk/pages.bpf.h).
 */
static __always_inline __u64 user_stack(void *ctx, struct task_struct *task, struct thread_state *st,
					struct scratch *scratch, __u64 now)
{
	bool by_pages = !ctx || walks_late(st), crossed_now;
	__u64 id;

	know_tables(task, st);
	if (cfg.can_walk && begin_walk(&scratch->walk, task, by_pages)) {
		scratch->walk.in_parents = is_in_parents(task, st);
		id = walk_user_stack(st, scratch, now);
		st->by_fp = lacked_table(st, scratch->walk.met_gap);
		return id;
	}
	st->by_fp = lacked_table(st, true);
	if (!ctx) {
		count_loss(OFFCPU_LOSS_USTACK, 0);
		return 0;
	}
	return user_stack_id(st, &scratch->stack, kernels_own_walk(ctx, &scratch->stack), stack_seed(st), now,
			     &crossed_now);
}

/* The same for one that sleeps or wakes, with the interpreter's frames if there are any. */
static __always_inline __u64 told_user_stack(void *ctx, struct task_struct *task, struct thread_state *st,
						 struct scratch *scratch, __u64 now)
{
	__u64 id = user_stack(ctx, task, st, scratch, now);

	if (!rarely(st->speaks))
		return id;
	scratch->walk.thread_pointer = thread_pointer(plain(task));
	if (st->speaks & SPACE_HAS_LANGUAGE)
		id = language_stack(st, &scratch->walk, &scratch->language, id, now);
	return id;
}

/* The same for a sleeper, with the trace context of its wait. */
static __always_inline __u64 sleepers_user_stack(void *ctx, struct task_struct *task, struct thread_state *st,
						 struct scratch *scratch, __u64 now)
{
	__u64 id = told_user_stack(ctx, task, st, scratch, now);

	if (rarely(st->speaks & SPACE_HAS_CONTEXT))
		id = context_stack(st, &scratch->walk, &scratch->context, id, now);
	return id;
}

/*
 * Will the beginning wait be listed whatever its length? Then it is walked while the thread's memory is still in the
 * caches and the TLB; unless its program has no tables yet, which may be loaded by the end.
 */
static __always_inline bool is_sure_to_be_listed(const struct thread_state *st, __u64 scale)
{
	return !scale && cfg.lists_all && (!cfg.want_tables || st->tables_generation);
}

/* The user stack of a wait that begins: walked now, or when it ends. */
static __always_inline void begin_user_stack(void *ctx, struct task_struct *task, struct thread_state *st,
					     struct scratch *scratch, __u64 scale, __u64 now)
{
	st->ustack_from = st->usual_ustack;
	if (mostly(st->ustack_from == USTACK_LATE)) {
		know_tables(task, st);	/* or requests them */
		if (!is_sure_to_be_listed(st, scale))
			return;
	}
	st->ustack_from = st->ustack_from != USTACK_NONE && plain(task)->mm ? USTACK_BEGUN : USTACK_NONE;
	if (st->ustack_from == USTACK_NONE)
		return;
	take_memory_of(st);
	st->ustack = sleepers_user_stack(ctx, task, st, scratch, now);
}

static __always_inline __u64 begun_ustack(const struct thread_state *st)
{
	return st->ustack_from == USTACK_BEGUN ? st->ustack ?: OFFCPU_STACK_LOST : 0;
}

/* The user stack of a wait that ends.  may_walk: the thread still stands where it waited. */
static __always_inline __u64 end_user_stack(struct task_struct *task, struct thread_state *st,
					    struct scratch *scratch, bool may_walk, __u64 now)
{
	if (st->ustack_from != USTACK_LATE)
		return begun_ustack(st);
	if (!plain(task)->mm)
		return 0;
	if (may_walk)
		return sleepers_user_stack(NULL, task, st, scratch, now) ?: OFFCPU_STACK_LOST;
	count_loss(OFFCPU_LOSS_USTACK, now - st->since_ns);
	return OFFCPU_STACK_LOST;
}

/*
 * Takes the kernel's walk in scratch->stack: `bytes` of addresses, of a stack that began at sp. Returns its id, or 0.
 * These two are global functions: the verifier checks them once.
 */
__noinline __u64 take_kernel_stack(struct thread_state *st, struct scratch *scratch, long bytes, __u64 sp, __u64 now)
{
	struct memory *m;
	__u64 *seen = NULL, id;
	bool crossed_now, was_seen;
	__u32 depth;

	if (!st || !scratch)
		return 0;
	if (bytes <= 0) {
		count_loss(OFFCPU_LOSS_KSTACK, 0);
		return 0;
	}
	depth = (__u32)bytes / sizeof(__u64);
	if (depth > OFFCPU_MAX_DEPTH)
		return 0;
	scratch->stack.end = depth >= cfg.max_depth ? OFFCPU_WALK_CUT : OFFCPU_WALK_COMPLETE;
	id = stack_hash(&scratch->stack, depth, 0);
	m = memory_of(st);
	if (m) {
		barrier_var(m);	/* clang 21 adds before it tests, which the verifier refuses */
		seen = &m->seen_kstack[id & (SEEN - 1)];
	}
	crossed_now = was_seen = seen && *seen == id;
	if (!crossed_now) {
		if (!has_crossed(id))
			send_sleep_path(sp, scratch, id);
		crossed_now = stack_cross(&scratch->stack, id, depth, st, false, now);
		if (crossed_now && seen)
			*seen = id;
	}
	scratch->stack.id = id;
	scratch->stack.depth = depth;
	scratch->has_crossed = crossed_now;
	scratch->was_seen = was_seen;
	return id;
}

/*
 * The kernel stack of a thread that is off CPU. At switch-in `next` still is: its walk starts in its own __schedule(),
 * so it has no frames of the tracer, and it is a third cheaper than walking prev from inside the BPF program
 * (docs/performance-notes.md).
 */
static __always_inline __u64 kernel_stack(struct task_struct *task, struct thread_state *st,
					  struct scratch *scratch, __u64 now)
{
	__u64 sp = kernel_walk_start(task), remembered = known_kernel_stack(st, scratch, sp), id;
	long bytes;

	if (remembered && !cfg.verify_walks)
		return remembered;
	scratch->counts.kernel_walks++;
	bytes = bpf_get_task_stack(task, scratch->stack.ip, cfg.max_depth * sizeof(__u64), 0);
	id = take_kernel_stack(st, scratch, bytes, sp, now);
	/* not inside: with its searches the stack would be too deep for Linux 6.1 */
	if (id && scratch->has_crossed)
		remember_kernel_walk(st, scratch, sp);
	if (cfg.verify_walks && remembered && remembered != id)
		count_loss(OFFCPU_LOSS_REMEMBERED, 0);
	return id;
}

#endif
