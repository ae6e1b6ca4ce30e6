/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_WAKER_WALK_BPF_H
#define BPF_X86_WAKER_WALK_BPF_H

#define TRACERS_FRAMES 10	/* upper bound of the tracepoint's and our programs' frames */

/* Index of the first frame above the program's context, the lowest ever seen. */
__u32 waker_first_frame = TRACERS_FRAMES;

/*
 * An interrupt's stack is aligned to a page only, so words_above() may reach beyond its end. The page there is not
 * mapped, and reading all its words would cost 3 ms of page faults.
 */
static __always_inline bool leaves_stack(__u64 addr)
{
	__u64 word;

	return !(addr & (PAGE_BYTES - 1)) && bpf_probe_read_kernel(&word, sizeof(word), (const void *)addr);
}

/*
 * Index + 1 of that of the first frames which returns to `word`; 0: none. A global function: its loop is checked once.
 */
__noinline __u32 tracers_frame(const struct offcpu_rec_stack *stack, __u64 word)
{
	if (!stack)
		return 0;
	for (__u32 k = 0; k < TRACERS_FRAMES; k++)
		if (word == stack->ip[k])
			return k + 1;
	return 0;
}

/*
 * As search_word(), from the program's context upwards. The frames below, of our own programs, are always the same and
 * out of reach: any of the first frames may be the one to start with.
 */
static long waker_search_word(__u32 i, struct kernel_search *s)
{
	struct kernel_memory *m = s->m;
	__u64 word;
	__u32 frame;

	if (leaves_stack(s->found.sp + i * 8))
		return 1;
	if (m->found)
		return kernel_search_word(i, s);
	word = word_at(s->found.sp + i * 8);
	if (!is_kernel_text(word) || (s->found.is_again && s->m->at[0] != i * 8))
		return 0;
	s->found.next = 1;
	frame = tracers_frame(s->stack, word);
	if (!frame)
		return 0;
	m->at[0] = i * 8;
	m->cnt = 1;
	m->found = frame;
	if (frame <= waker_first_frame)
		waker_first_frame = frame - 1;
	/* a stale word of an outer frame below the word of an inner one */
	return frame > waker_first_frame + 1;
}

/*
 * Words between sp and the end of its stack. The interrupt stack is mapped page by page, so its end does not follow
 * from the address. The page after it is not mapped: each word read there would be a page fault, a thousand of them
 * milliseconds. So the end is searched once for each CPU.
 */
static __always_inline __u32 words_above_waker(__u64 sp, struct irq_note *note)
{
	__u64 end = (sp & ~(PAGE_BYTES - 1)) + PAGE_BYTES, word;

	if (!on_interrupt_stack(sp))
		return words_above(sp);
	if (note->stack_end - sp <= KERNEL_STACK_BYTES)
		return (note->stack_end - sp) / sizeof(word);
	for (__u32 i = 1; i < KERNEL_STACK_BYTES / PAGE_BYTES; i++) {
		if (bpf_probe_read_kernel(&word, sizeof(word), (const void *)end))
			break;
		end += PAGE_BYTES;
	}
	note->stack_end = end;
	return (end - sp) / sizeof(word);
}

/*
 * The tracepoint calls our program from one of two places, depending on whether the kernel counts programs' time just
 * now. Both are the same waker. False: it is not known yet which frames these are. A global function: its loop is
 * checked once.
 */
__noinline int forget_tracers_frames(struct offcpu_rec_stack *stack)
{
	__u32 cnt = waker_first_frame;

	if (!stack)
		return false;
	for (__u32 i = 0; cnt < TRACERS_FRAMES && i < TRACERS_FRAMES; i++)
		if (i < cnt)
			stack->ip[i] = 0;
	return cnt < TRACERS_FRAMES;
}

/*
 * Finds the words of *stack and caches their places. On an interrupt's stack those of the interrupted thread are not
 * found; returns the number of frames found.
 */
static __always_inline __u32 locate_waker_walk(struct kernel_memory *m, const struct offcpu_rec_stack *stack,
					       __u32 depth, __u64 sp, bool is_again, struct irq_note *note)
{
	struct kernel_search s = {
		.m = m, .stack = stack, .found = { .sp = sp, .cnt = m->cnt, .is_again = is_again },
	};

	m->id = 0;
	m->cnt = m->found = 0;
	m->depth = depth;
	bpf_loop(words_above_waker(sp, note), waker_search_word, &s, 0);
	return m->found;
}

/* For an interrupt: keeps the found frames, its own; sets *depth to their number where it has its own stack. */
static __always_inline __u32 keep_irq_walk(struct kernel_memory *m, __u32 found, __u32 *depth, __u64 sp,
					   bool is_irq_stack)
{
	__u32 cnt = m->cnt;

	m->is_irq_stack = is_irq_stack;
	if (found == *depth) {
		barrier_var(cnt);
		if (cnt < KERNEL_WORDS) {
			m->at[cnt] = m->last_at - sp;
			m->cnt = cnt + 1;
		}
	} else if (found > TRACERS_FRAMES / 2) {
		*depth = found;
	}
	m->last_at = sp + m->at[0];
	return found;
}

/* Is the walk the same as the last full one there? A walk that does not recur is not searched for. */
static __always_inline bool is_met_again(struct kernel_memory *m, __u64 id)
{
	bool is_again;

	if (!m)
		return false;
	is_again = m->inner == id;
	m->inner = id;
	return is_again;
}

/*
 * Takes over the walk of length `depth` in scratch->stack; returns its id. *m and *shared, which may be NULL, are
 * where it is cached. A global function: the verifier checks its searches once, and not on every path to it.
 */
__noinline __u64 take_waker_stack(struct kernel_memory *m, struct kernel_memory *shared, struct scratch *scratch,
				  struct irq_note *note, __u64 now)
{
	bool is_irq, forgotten;
	__u32 depth, found = 0;
	__u64 id;

	if (!scratch || !note)
		return 0;
	struct offcpu_rec_stack *stack = &scratch->stack;

	depth = stack->depth;
	if (depth > OFFCPU_MAX_DEPTH)
		return 0;
	is_irq = scratch->waker.kind != OFFCPU_WAKER_TASK;
	stack->end = depth >= OFFCPU_MAX_DEPTH ? OFFCPU_WALK_CUT : OFFCPU_WALK_COMPLETE;
	forgotten = forget_tracers_frames(stack);
	id = stack_hash(stack, depth, 0);
	if (!is_irq) {
		bool is_shared = is_met_again(shared, id);

		if (!is_met_again(m, id))
			m = is_shared ? shared : NULL;
	}
	if (m && cfg.can_walk && (is_irq || m->id == id || may_replace(m->id, &m->hot)))
		found = locate_waker_walk(m, stack, depth, scratch->ctx_addr, !is_irq && m->id == id, note);
	if (m && is_irq) {
		found = keep_irq_walk(m, found, &depth, scratch->ctx_addr, on_interrupt_stack(scratch->ctx_addr));
		id = stack_hash(stack, depth, 0);
	}
	if (!stack_cross(stack, id, depth, NULL, false, now))
		return id;
	if (m && forgotten && found == depth && stack->end == OFFCPU_WALK_COMPLETE && m->cnt < KERNEL_WORDS) {
		m->hash = kernel_words_hash(m, scratch->ctx_addr);
		m->id = id;
	}
	return id;
}

/*
 * The current kernel stack. The kernel unwinds the thread's stack, too, below the interrupt's: where the interrupt has
 * a stack of its own, only its frames are kept. m: NULL where it is not to be cached; shared: other threads' walks,
 * NULL for an interrupt.
 */
static __always_inline __u64 waker_kernel_stack(void *ctx, struct kernel_memory *m, struct kernel_memory *shared,
						struct scratch *scratch, struct irq_note *note, __u64 now)
{
	bool is_irq = scratch->waker.kind != OFFCPU_WAKER_TASK;
	__u64 id, remembered;
	long n;

	if (m && is_irq && m->is_irq_stack != on_interrupt_stack(scratch->ctx_addr))
		m->id = 0;
	/* an interrupt's stack begins anywhere, so all of its words are located by their distance from sp */
	if (m && is_irq)
		m->last_at = scratch->ctx_addr + m->at[0];
	remembered = remembered_kernel_walk(m, scratch->ctx_addr);
	if (!remembered && shared)
		remembered = others_kernel_walk(shared, m, scratch->ctx_addr);
	if (remembered && !cfg.verify_walks)
		return remembered;
	n = bpf_get_stack(ctx, scratch->stack.ip, sizeof(scratch->stack.ip), 0);
	if (n <= 0) {
		count_loss(OFFCPU_LOSS_KSTACK, 0);
		return 0;
	}
	scratch->stack.depth = (__u32)n / sizeof(__u64);
	id = take_waker_stack(m, shared, scratch, note, now);
	if (cfg.verify_walks && remembered && remembered != id)
		count_loss(OFFCPU_LOSS_REMEMBERED, 0);
	return id;
}

#endif
