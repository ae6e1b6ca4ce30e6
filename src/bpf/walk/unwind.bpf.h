/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_UNWIND_BPF_H
#define BPF_WALK_UNWIND_BPF_H

#include "bpf/walk/regs.bpf.h"
#include "bpf/walk/remember.bpf.h"
#include "bpf/walk/rules.bpf.h"
#include "bpf/walk/space.bpf.h"
#include "bpf/walk/uretprobe.bpf.h"
#ifdef __TARGET_ARCH_x86
#include "bpf/x86/walk_registers.bpf.h"
#else
#include "bpf/arm64/walk_registers.bpf.h"
#endif

/*
 * Walks a user stack by tables that user space compiled from .eh_frame (abi/unwind_abi.h), and by frame pointer where
 * a mapping has none. A step finds the mapping of the address (bisection over the program's sorted mappings) and the
 * row (page index, then bisection over the page's rows), and applies the row's rule. Only instruction, stack and frame
 * pointer are carried along.
 *
 * bpf_loop (Linux 5.17) limits the verifier's work to one step.
 */

/*
 * What changes from step to step is in map memory (struct walk_state). On the stack the verifier would know its
 * values. Before Linux 6.7 (ab5cfac139ab "bpf: verify callbacks as if they are called unknown number of times") it
 * checks a callback of bpf_loop only with the values of the first call, and removes the branches that this does not
 * take.
 */
struct user_walk {
	struct task_struct *task;	/* for programs that may sleep */
	const struct space *space;
	struct offcpu_rec_stack *stack;
	struct walk_memory *memory;	/* where the words are noted; NULL: not wanted */
	struct walk_state *at;
	struct found_rules *found;	/* cache of rules; NULL: none */
};

/*
 * Reads one or two words to at->words: through the thread's page tables, or the thread is current. A global function:
 * each step reads words, and the verifier checks this once.
 */
__noinline int read_words(struct walk_state *at, __u64 addr, __u32 cnt)
{
	if (!at)
		return false;
	if (at->view.pgd)
		return viewed_word(&at->view, addr, &at->words[0]) &&
		       (cnt == 1 || viewed_word(&at->view, addr + sizeof(__u64), &at->words[1]));
	return !bpf_probe_read_user(at->words, cnt == 1 ? sizeof(__u64) : 2 * sizeof(__u64), (void *)addr);
}

/* may_sleep is a constant in each caller: only a program that may sleep can read any thread's memory directly. */
static __always_inline bool read_stack(const struct user_walk *w, __u64 addr, __u64 *ret, __u32 size, bool may_sleep)
{
	bool ok;

	if (may_sleep) {
		ok = !bpf_copy_from_user_task(ret, size, (void *)addr, w->task, 0);
	} else {
		ok = read_words(w->at, addr, size / sizeof(*ret));
		ret[0] = w->at->words[0];
		if (size > sizeof(*ret))
			ret[1] = w->at->words[1];
	}
	if (!ok)
		w->at->unread = true;
	return ok;
}

/* The rule for an address, from the cache if it is there. */
static __always_inline __u32 known_rule_at(struct user_walk *w, __u64 addr)
{
	__u32 index = (addr ^ addr >> 11 ^ addr >> 22) & (RULES - 1), generation;
	struct found_rule *slot;

	if (!w->space)
		return 0;
	if (!w->found)
		return rule_at(w->space, w->at, addr);
	slot = &w->found->slot[index];
	generation = w->space->generation;
	if (slot->addr != addr || slot->generation != generation) {
		slot->rule = rule_at(w->space, w->at, addr);
		slot->addr = addr;
		slot->generation = generation;
	}
	return slot->rule;
}

/* The walk depends on the word at addr. Too many words, or one too far away, and it is not cached. */
static __always_inline void note_word(struct user_walk *w, __u64 addr, __u32 is_address)
{
	struct walk_memory *m = w->memory;
	__u64 offset = addr - w->at->begin_sp;

	if (!m)
		return;
	__u32 cnt = m->cnt;
	if (cnt >= WALK_WORDS || offset > 0x7fffffff || offset & 7) {
		m->cnt = WALK_WORDS + 1;
		return;
	}
	m->at[cnt] = (__u32)offset | is_address;
	m->cnt = cnt + 1;
	if (offset + 8 > m->bytes)
		m->bytes = offset + 8;
}

/*
 * The walk now depends on the frame pointer. Many frames save it though it holds an arbitrary value of the caller's
 * that differs each time: so it is noted only here.
 */
static __always_inline void note_frame_pointer(struct user_walk *w)
{
	struct walk_memory *m = w->memory;
	__u64 from = w->at->bp_from;

	if (!m)
		return;
	if (from == BP_FROM_REGISTER)
		m->by_bp = true;
	else if (from != BP_NOTED)
		note_word(w, from, WORD_IS_ADDRESS);
	w->at->bp_from = BP_NOTED;
}

/* A frame lies above the last one, within the default stack limit; what points elsewhere is not a frame pointer. */
#define FRAME_RANGE (8 << 20)

/* Reads one word that the walk depends on, into map memory: there is no room on the stack. */
static __always_inline bool read_noted(struct user_walk *w, __u64 addr, __u64 *ret, __u32 is_address, bool may_sleep)
{
	note_word(w, addr, is_address);
	return read_stack(w, addr, ret, sizeof(*ret), may_sleep);
}

/* Is it a tagged pointer to a V8 object? */
static __always_inline bool is_v8_object(__u64 word)
{
	return (word & 7) == 1;
}

/* V8: for a JavaScript frame, its entry in the stack names the function (abi/unwind_abi.h). */
static __always_inline void mark_function(struct user_walk *w, bool may_sleep)
{
	struct walk_state *at = w->at;
	__u32 last = at->depth - 1, offsets = w->space ? w->space->v8 : 0;

	if (!offsets || !read_stack(w, at->bp + UNWIND_V8_CONTEXT, &at->method, sizeof(at->method), may_sleep) ||
	    !is_v8_object(at->method) || !read_noted(w, at->bp + UNWIND_V8_FUNCTION, &at->method, 0, may_sleep) ||
	    !is_v8_object(at->method) ||
	    !read_stack(w, at->method - 1 + unwind_v8_shared_at(offsets), &at->method, sizeof(at->method), may_sleep) ||
	    !is_v8_object(at->method) ||
	    !read_stack(w, (at->method - 1 + unwind_v8_number_at(offsets)) & ~7ULL, &at->bytecode, sizeof(at->bytecode),
			may_sleep))
		return;
	at->method = unwind_method_mark(at->method, at->bytecode >> (unwind_v8_number_at(offsets) & 4) * 8);
	if (at->no_file && offsets & UNWIND_V8_WANTS_CODE && last < OFFCPU_MAX_DEPTH / 2) {
		at->method |= UNWIND_METHOD_HAS_CODE;
		last++;
		at->depth++;
	}
	barrier_var(last);
	if (last < OFFCPU_MAX_DEPTH)
		w->stack->ip[last] = at->method;
}

/* One frame by frame pointer: code without a table, such as a JIT compiler's. */
static __always_inline bool step_by_frame_pointer(struct user_walk *w, bool may_sleep)
{
	__u64 frame[2];

	w->at->end = OFFCPU_WALK_UNKNOWN;
	note_frame_pointer(w);
	if (w->at->bp_lost || w->at->bp & 7 || w->at->bp < w->at->sp || w->at->bp - w->at->sp > FRAME_RANGE)
		return false;
	if (!read_stack(w, w->at->bp, frame, sizeof(frame), may_sleep))
		return false;
	note_word(w, w->at->bp + sizeof(frame[0]), 0);
	if (!frame[1])
		return false;
	mark_function(w, may_sleep);
	w->at->bp_from = w->at->bp;
	w->at->sp = w->at->bp + sizeof(frame);
	w->at->bp = frame[0];
	w->at->ip = code_address(w->at, frame[1]);
	stepped_by_frame_pointer(w->at);
	return true;
}

/* The first bytes of code at addr, unaligned; the rest of the word is arbitrary. bytes: a constant, up to 8. */
static __always_inline bool read_code(const struct user_walk *w, __u64 addr, __u64 *ret, __u32 bytes, bool may_sleep)
{
	__u64 low, high = 0;
	__u32 shift = (addr & 7) * 8;

	if (may_sleep)
		return !bpf_copy_from_user_task(ret, bytes, (void *)addr, w->task, 0);
	if (!w->at->view.pgd)
		return !bpf_probe_read_user(ret, bytes, (void *)addr);
	addr &= ~7ULL;
	if (!read_words(w->at, addr, shift > 64 - bytes * 8 ? 2 : 1))
		return false;
	low = w->at->words[0];
	if (shift > 64 - bytes * 8)
		high = w->at->words[1];
	*ret = low >> shift | (shift ? high << (64 - shift) : 0);
	return true;
}

/* Only sp and bp identify a cached walk. */
static __always_inline void do_not_remember(struct user_walk *w)
{
	if (w->memory)
		w->memory->cnt = WALK_WORDS + 1;
}

#ifdef __TARGET_ARCH_x86
#include "bpf/x86/unwind_step.bpf.h"
#else
#include "bpf/arm64/unwind_step.bpf.h"
#endif

/* HotSpot's interpreter: by frame pointer, and the frame's entry in the stack names the method (abi/unwind_abi.h). */
static __always_inline bool step_out_of_interpreter(struct user_walk *w, bool may_sleep)
{
	struct walk_state *at = w->at;
	__u32 last = at->depth - 1;
	__u64 bp = at->bp;

	at->end = OFFCPU_WALK_BROKEN;
	note_frame_pointer(w);
	if (at->bp_lost || bp & 7 || bp < at->sp || bp - at->sp > FRAME_RANGE ||
	    !read_noted(w, bp + UNWIND_INTERPRETED_METHOD, &at->method, 0, may_sleep) ||
	    !read_noted(w, bp + UNWIND_INTERPRETED_BYTECODE, &at->bytecode, 0, may_sleep))
		return false;
	barrier_var(last);
	if (last < OFFCPU_MAX_DEPTH)
		w->stack->ip[last] = unwind_method_mark(at->method, at->bytecode);
	/* a compiled caller uses its own stack pointer, which may be above this frame's end */
	if (!read_noted(w, bp + UNWIND_INTERPRETED_SP, &at->sp, WORD_IS_ADDRESS, may_sleep) ||
	    !read_noted(w, bp + sizeof(bp), &at->ip, 0, may_sleep) || at->sp < bp + 2 * sizeof(bp) || at->sp & 7 ||
	    at->sp - bp > FRAME_RANGE || !read_stack(w, bp, &at->bp, sizeof(at->bp), may_sleep))
		return false;
	at->bp_from = bp;
	return at->ip != 0;
}

#define WALK_STEPS (OFFCPU_MAX_DEPTH + RETURN_INSTANCES + 1)

/* 1 ends the walk. */
static __always_inline long walk_step(struct user_walk *w, bool may_sleep)
{
	__u32 depth = w->at->depth, rule;
	bool is_return = !w->at->exact;

	if (depth >= cfg.max_depth || depth >= OFFCPU_MAX_DEPTH) {
		w->at->end = OFFCPU_WALK_CUT;
		return 1;
	}
	w->stack->ip[depth] = w->at->ip;
	w->stack->sp[depth] = w->at->sp - w->at->begin_sp;
	w->at->depth = depth + 1;
	rule = known_rule_at(w, w->at->ip - is_return);
	w->at->exact = false;
	switch (unwind_rule_cfa(rule)) {
	case UNWIND_CFA_GAP:
		if (is_return && step_over_uretprobe(w->at)) {
			/* the caller does not follow from words on the stack */
			do_not_remember(w);
			w->at->depth--;	/* not `depth`: Linux 6.1 forgets its bound across the call */
			return 0;
		}
		w->at->met_gap = true;
		w->at->no_file = rule == UNWIND_RULE_NO_FILE;
		return !(is_return && step_by_epilogue(w, may_sleep)) && !step_by_frame_pointer(w, may_sleep);
	case UNWIND_CFA_END:
		w->at->end = OFFCPU_WALK_COMPLETE;
		w->stack->tables_ns = w->space ? w->space->read_ns : 0;
		return 1;
	case UNWIND_CFA_SIGNAL:
		w->at->end = OFFCPU_WALK_BROKEN;
		return !step_out_of_signal(w, rule, may_sleep);
	case UNWIND_CFA_RA_REG:
		return !step_by_register(w, rule);
	case UNWIND_CFA_INTERPRETED:
		return !step_out_of_interpreter(w, may_sleep);
	}
	return !step_by_rule(w, rule, may_sleep);
}

/* Laid out alike in struct scratch and struct oncpu_scratch: one argument for two saves two words of stack. */
struct walk_and_stack {
	struct walk_state walk;
	struct offcpu_rec_stack stack;
};

_Static_assert(__builtin_offsetof(struct scratch, stack) - __builtin_offsetof(struct scratch, walk) ==
	       __builtin_offsetof(struct walk_and_stack, stack), "");

/*
 * A global function, checked once: the verifier checks bpf_loop's callback again for each kind of walk (with and
 * without tables, memory and cached rules).
 */
__noinline int step_now(struct walk_and_stack *s, const struct space *space, struct walk_memory *memory,
			struct found_rules *found)
{
	if (!s)
		return 1;
	struct user_walk w = {
		.space = space, .stack = &s->stack, .memory = memory, .at = &s->walk, .found = found,
	};

	return walk_step(&w, false);
}

static long walk_step_now(__u32 i, struct user_walk *w)
{
	int is_over = step_now((struct walk_and_stack *)w->at, w->space, w->memory, w->found);

	barrier_var(is_over);	/* clang knows that it is 0 or 1; the verifier does not */
	return is_over & 1;
}

static long walk_step_sleeper(__u32 i, struct user_walk *w)
{
	return walk_step(w, true);
}

/* False: this stack cannot be walked here. by_pages: through its page tables (bpf/walk/pages.bpf.h). */
static __always_inline bool begin_walk(struct walk_state *at, struct task_struct *task, bool by_pages)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!regs || is_32_bit(regs))
		return false;
	at->task = (__u64)task;
	at->view.pgd = 0;
	if (by_pages)
		view_of(&at->view, task);
	at->ip = regs->REG_IP;
	at->sp = regs->REG_SP;
	at->bp = regs->REG_BP;
	begin_registers(at, regs, task);
	at->begin_sp = at->sp;
	at->bp_from = BP_FROM_REGISTER;
	at->instance = 0;
	at->exact = true;
	at->bp_lost = false;
	at->unread = at->met_gap = false;
	at->depth = 0;
	at->end = OFFCPU_WALK_UNKNOWN;
	return at->ip != 0;
}

/* Walks in full; returns the number of frames, 0 if the memory changed meanwhile. */
static __always_inline __u32 walk_in_full(struct user_walk *w)
{
	__u32 zero = 0;

	w->found = bpf_map_lookup_elem(&rules, &zero);
	bpf_loop(WALK_STEPS, walk_step_now, w, 0);
	if (w->at->view.pgd && !view_held(&w->at->view))
		return 0;
	w->stack->end = w->at->end;
	return w->at->depth;
}

/* The same for a sleeping thread, from a sleepable program; by frame pointers when space is NULL. */
static __always_inline __u32 walk_sleeper(struct task_struct *task, const struct space *space,
					  struct scratch *scratch)
{
	struct user_walk w = { .task = task, .space = space, .stack = &scratch->stack, .at = &scratch->walk };

	if (!begin_walk(w.at, task, false))
		return 0;
	bpf_loop(WALK_STEPS, walk_step_sleeper, &w, 0);
	scratch->stack.end = w.at->end;
	return w.at->depth;
}

static __always_inline __u32 generation_of(const struct space *space)
{
	return space ? space->generation : 0;
}

/* The stack's id if the same walk is cached, else 0. */
static __always_inline __u64 remembered_walk(struct walk_memory *m, struct scratch *scratch, __u32 generation)
{
	const struct walk_state *at = &scratch->walk;

	/* a file's table may have been loaded since */
	if (m->met_gap && !generation && cfg.want_tables)
		return 0;
	if (!m->id || m->ip != at->ip || m->sp != at->begin_sp || (m->by_bp && m->bp != at->bp) ||
	    !same_registers(m, at) || m->in_parents != at->in_parents || m->generation != generation ||
	    words_hash(m, scratch) != m->hash)
		return 0;
	was_met(&m->hot);
	return m->id;
}

/* Prepares *m for the words of the walk that begins, unless it is to keep its walk. */
static __always_inline void begin_memory(struct walk_memory *m, struct user_walk *w, __u32 generation)
{
	if (!may_replace(m->id, &m->hot))
		return;
	m->id = 0;
	m->cnt = 0;
	m->bytes = 0;
	m->by_bp = false;
	m->ip = w->at->ip;
	m->sp = w->at->begin_sp;
	m->bp = w->at->bp;
	keep_registers(m, w->at);
	m->in_parents = w->at->in_parents;
	m->generation = generation;
	w->memory = m;
}

/* Walks that begin at ip, shared by all threads of the program: two, for two callers of one function. */
static __always_inline struct shared_pair *shared_memory(struct scratch *scratch, __u64 ip)
{
	__u32 number = (scratch->walk.seed ^ ip >> 2) & (SHARED_WALKS - 1);

	barrier_var(number);
	return number < SHARED_WALKS ? &scratch->shared_walks[number] : NULL;
}

/* own: the thread's own cache; NULL: it need not learn this walk. */
static __always_inline __u64 others_walk(struct shared_walk *shared, struct walk_memory *own, struct scratch *scratch,
					 __u32 generation)
{
	__u64 id;

	if (shared->seed != scratch->walk.seed || (shared->walk.sp ^ scratch->walk.begin_sp) & 7)
		return 0;
	shared->walk.bp += scratch->walk.begin_sp - shared->walk.sp;
	shared->walk.sp = scratch->walk.begin_sp;
	id = remembered_walk(&shared->walk, scratch, generation);
	if (id && own && may_replace(own->id, &own->hot))
		*own = shared->walk;
	return id;
}

/* A global function, like the next one; own: as above. */
__noinline __u64 others_user_stack(struct walk_memory *own, struct scratch *scratch, __u32 generation)
{
	struct shared_pair *shared;
	__u64 id;

	if (!scratch)
		return 0;
	shared = shared_memory(scratch, scratch->walk.ip);
	if (!shared)
		return 0;
	id = others_walk(&shared->one, own, scratch, generation);
	return id ? id : others_walk(&shared->other, own, scratch, generation);
}

/*
 * The seed of shared walks and of full ones. It includes the version of the mappings: where a library replaced another
 * one, the same addresses are another stack.
 */
static __always_inline void know_seed(const struct thread_state *st, struct walk_state *at)
{
	at->seed = (at->in_parents ? st->forked_space : stack_seed(st)) + st->tables_generation * STACK_MIX;
}

/*
 * The id of the walk begun by begin_walk() if this thread or another one has it cached; 0: walk in full. Shared walks
 * are in this CPU's cache, the thread's own only if it waited not long ago.
 */
__noinline __u64 known_user_stack(struct thread_state *st, struct scratch *scratch)
{
	struct walk_state *at;
	struct walk_memory *m;
	__u64 id = 0;

	if (!st || !scratch)
		return 0;
	at = &scratch->walk;
	if (st->is_cold) {
		know_seed(st, at);
		id = others_user_stack(NULL, scratch, st->tables_generation);
		if (id)
			return id;
	}
	m = user_memory(st, at->ip, at->sp);
	if (m)
		id = remembered_walk(m, scratch, st->tables_generation);
	if (st->is_cold || (id && !cfg.verify_walks))
		return id;
	know_seed(st, at);
	return id || !m ? id : others_user_stack(m, scratch, st->tables_generation);
}

/* Shares the thread's newly cached walk; unless names there differ between processes. */
__noinline int share_user_walk(const struct walk_memory *own, struct scratch *scratch)
{
	struct shared_pair *shared;
	struct shared_walk *place;

	if (!own || !scratch || scratch->walk.met_gap)
		return 0;
	shared = shared_memory(scratch, own->ip);
	if (!shared)
		return 0;
	place = shared->one.walk.hot > shared->other.walk.hot ? &shared->other : &shared->one;
	if (!may_replace(place->walk.id, &place->walk.hot))
		return 0;
	place->walk = *own;
	place->walk.hot = 1;	/* the next walk goes to the other place */
	place->seed = scratch->walk.seed;
	return 0;
}

#endif
