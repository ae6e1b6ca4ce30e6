/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WAKER_BPF_H
#define BPF_WAKER_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/threads.bpf.h"
#include "bpf/stack.bpf.h"

/*
 * Who wakes a thread (SEMANTICS, "The waker"): what runs when sched_waking does.  In an
 * interrupt that is the interrupt; the thread it found on the CPU has nothing to do with it.
 * But a soft interrupt that a thread raised itself, and that runs as it lets soft
 * interrupts through again, is that thread's own work: so is a packet delivered on loopback.
 *
 * With PREEMPT_RT nearly all interrupts are threads, and are named as those.  There soft interrupts
 * are preempted like other work of a thread, so no note of them per CPU would hold.
 */

#define SOFTIRQS 16
#define BY_INTERRUPT 1ULL	/* no thread's pid and tid */

/* Per CPU: what interrupt is being handled. */
struct irq_note {
	const struct irqaction *action;	/* of the hard one; NULL: none that has a number */
	__s32 irq;
	__u32 vector;			/* enum offcpu_irq_vector */
	__u32 served;			/* vector of the soft one, + 1 */
	__u64 addr;			/* see number_of() */
	__u64 hard_cnt, soft_cnt;	/* interrupts so far, to tell one from the next */
	__u64 served_by;		/* which thread raised that, as pid << 32 | tid; or BY_INTERRUPT */
	__u64 raised_by[SOFTIRQS];	/* the same of those that wait */
	const struct gendisk *hard_disk, *soft_disk;	/* a request of which was completed in this interrupt */
	__u64 stack_end;		/* of the interrupts' stack, once it is known: see words_above_waker() */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irq_note);
} irq_notes SEC(".maps");

static __always_inline struct irq_note *my_irq_note(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&irq_notes, &zero);
}

/*
 * An interrupt runs on a stack of its own.  The preemption count would tell too, but its address is
 * not to be had where kallsyms knows of no data (without CONFIG_KALLSYMS_ALL).  *addr is map memory:
 * only through it the verifier takes a context's address for a number.
 */
static __always_inline __u64 number_of(unsigned long long *ctx, __u64 *addr)
{
	*(unsigned long long *volatile *)addr = ctx;
	return *(volatile __u64 *)addr;
}

static __always_inline bool on_interrupt_stack(__u64 ctx_addr)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return ctx_addr - (__u64)plain(task)->stack >= cfg.stack_bytes;
}

/*
 * Programs are attached in the order in which they stand here, one after the other: were that of an interrupt's begin first, one that
 * comes in between would never be seen to end, and its CPU stay in it.
 */
SEC("tp_btf/irq_handler_exit")
int BPF_PROG(note_irq_end, int irq)
{
	struct irq_note *note = my_irq_note();

	if (note)
		note->action = NULL;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(note_irq, int irq, struct irqaction *action)
{
	struct irq_note *note = my_irq_note();

	if (note) {
		note->hard_cnt++;
		note->irq = irq;
		note->action = action;
		note->hard_disk = NULL;
	}
	return 0;
}

#ifdef __TARGET_ARCH_x86
/*
 * These say that an interrupt is handled even where it has no stack of its own: one that comes in user
 * mode uses the thread's kernel stack, which is empty then.
 */
#define NOTE_VECTOR(name, what)                                       \
	SEC("tp_btf/" #name "_exit")                                  \
	int BPF_PROG(note_##name##_end, int vector)                   \
	{                                                             \
		struct irq_note *note = my_irq_note();                \
                                                                      \
		if (note)                                             \
			note->vector = OFFCPU_VECTOR_NONE;            \
		return 0;                                             \
	}                                                             \
	SEC("tp_btf/" #name "_entry")                                 \
	int BPF_PROG(note_##name, int vector)                         \
	{                                                             \
		struct irq_note *note = my_irq_note();                \
                                                                      \
		if (note) {                                           \
			note->vector = what;                          \
			note->hard_cnt++;                             \
		}                                                     \
		return 0;                                             \
	}

NOTE_VECTOR(local_timer, OFFCPU_VECTOR_TIMER)
NOTE_VECTOR(call_function, OFFCPU_VECTOR_IPI)
NOTE_VECTOR(call_function_single, OFFCPU_VECTOR_IPI)
NOTE_VECTOR(irq_work, OFFCPU_VECTOR_IRQ_WORK)
#endif

/* Is the hard interrupt's own handler running? */
static __always_inline bool in_hard_interrupt(const struct irq_note *note)
{
	return note->action || note->vector;
}

SEC("tp_btf/softirq_raise")
int note_softirq_raise(unsigned long long *ctx)
{
	__u32 vector = ctx[0];
	struct irq_note *note = my_irq_note();
	__u64 by = bpf_get_current_pid_tgid();

	if (!note || vector >= SOFTIRQS)
		return 0;
	if (note->served && !in_hard_interrupt(note))
		by = note->served_by;
	else if (in_hard_interrupt(note) || on_interrupt_stack(number_of(ctx, &note->addr)))
		by = BY_INTERRUPT;
	if (note->raised_by[vector] && note->raised_by[vector] != by)
		by = BY_INTERRUPT;	/* by more than one */
	note->raised_by[vector] = by;
	return 0;
}

/* Before whoever waits for the request is woken. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(note_disk, struct request *rq)
{
	struct irq_note *note = my_irq_note();

	if (!note || !bpf_core_field_exists(rq->q->disk))
		return 0;
	if (in_hard_interrupt(note))
		note->hard_disk = rq->q->disk;
	else if (note->served)
		note->soft_disk = rq->q->disk;
	return 0;
}

/* The disk that the interrupt speaks for, NULL: none. */
static __always_inline const struct gendisk *disk_of(const struct irq_note *note, const struct offcpu_rec_waker *rec)
{
	if (rec->kind == OFFCPU_WAKER_SOFTIRQ)
		return note->soft_disk;
	return rec->kind == OFFCPU_WAKER_HARDIRQ && note->action ? note->hard_disk : NULL;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(note_softirq_end, unsigned int vector)
{
	struct irq_note *note = my_irq_note();

	if (note)
		note->served = 0;
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(note_softirq, unsigned int vector)
{
	struct irq_note *note = my_irq_note();

	if (note && vector < SOFTIRQS && !is_preempt_rt()) {
		note->soft_cnt++;
		note->served = vector + 1;
		note->served_by = note->raised_by[vector];
		note->soft_disk = NULL;
		note->raised_by[vector] = 0;
	}
	return 0;
}

/* The context; *ret_nr: number of the interrupt or vector, -1 without. */
static __always_inline __u32 waker_kind(const struct irq_note *note, bool is_irq_stack, __s32 *ret_nr)
{
	*ret_nr = -1;
	if (in_hard_interrupt(note)) {
		if (note->action)
			*ret_nr = note->irq;
		return OFFCPU_WAKER_HARDIRQ;
	}
	if (!note->served)
		return is_irq_stack ? OFFCPU_WAKER_HARDIRQ : OFFCPU_WAKER_TASK;
	*ret_nr = (__s32)note->served - 1;
	/* the idle thread, pid 0, raises nothing for itself */
	return note->served_by >> 32 && note->served_by == bpf_get_current_pid_tgid() ? OFFCPU_WAKER_TASK :
											OFFCPU_WAKER_SOFTIRQ;
}

#ifdef __TARGET_ARCH_x86

#define TRACERS_FRAMES 10	/* at most, of the tracepoint and of our programs */

/* Index of the first frame that lies above the program's context, the lowest ever seen. */
__u32 waker_first_frame = TRACERS_FRAMES;

/*
 * An interrupt's stack is aligned to a page only, so words_above() may reach beyond its end: there is a
 * page that is not mapped, and to read all its words would take 3 ms of page faults.
 */
static __always_inline bool leaves_stack(__u64 addr)
{
	__u64 word;

	return !(addr & (PAGE_BYTES - 1)) && bpf_probe_read_kernel(&word, sizeof(word), (const void *)addr);
}

/*
 * As kernel_search_word(), from the program's context upwards.  The frames below, those of our own
 * programs, are the same each time and lie out of reach: any of the first may be the one to start with.
 */
static long waker_search_word(__u32 i, struct kernel_search *s)
{
	struct kernel_memory *m = s->m;
	__u64 word;

	if (leaves_stack(s->sp + i * 8))
		return 1;
	if (m->found)
		return kernel_search_word(i, s);
	word = kernel_word(s->sp + i * 8);
	if (!is_kernel_text(word) || (s->is_again && s->m->at[0] != i * 8))
		return 0;
	s->next = 1;
	for (__u32 k = 0; k < TRACERS_FRAMES; k++) {
		if (word != s->stack->ip[k])
			continue;
		m->at[0] = i * 8;
		m->cnt = 1;
		m->found = k + 1;
		if (k < waker_first_frame)
			waker_first_frame = k;
		/* a stale word of an outer frame below the word of an inner one */
		return k > waker_first_frame;
	}
	return 0;
}

/*
 * Words between sp and the end of the stack that it is on.  The interrupts' stack is mapped page by page, so
 * its end is not to be told from the address; behind it lies a page that is not there, and each word
 * read from that would be a fault, a thousand of them milliseconds.  So it is looked for, once for each CPU.
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
 * The tracepoint calls our program from one of two places, by whether the kernel counts programs' time just now.
 * That makes no other waker.  False: it is not known yet which frames these are.
 */
static __always_inline bool forget_tracers_frames(struct offcpu_rec_stack *stack)
{
	__u32 cnt = waker_first_frame;

	for (__u32 i = 0; cnt < TRACERS_FRAMES && i < TRACERS_FRAMES; i++)
		if (i < cnt)
			stack->ip[i] = 0;
	return cnt < TRACERS_FRAMES;
}

/*
 * Finds where the words of *stack lie and remembers them.  On an interrupt's stack those of the
 * interrupted thread are not found; returns the number of frames found.
 */
static __always_inline __u32 locate_waker_walk(struct kernel_memory *m, const struct offcpu_rec_stack *stack,
					       __u32 depth, __u64 sp, bool is_again, struct irq_note *note)
{
	struct kernel_search s = { .m = m, .stack = stack, .sp = sp, .cnt = m->cnt, .is_again = is_again };

	m->id = 0;
	m->cnt = m->found = 0;
	m->depth = depth;
	bpf_loop(words_above_waker(sp, note), waker_search_word, &s, 0);
	return m->found;
}

/* Of an interrupt: how many frames were found, all that are its own; *depth: the same where it has a stack of its own. */
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

/*
 * The kernel stack of what runs now.  The kernel unwinds the thread's stack too, below the
 * interrupt's: where the interrupt has a stack of its own, only what lies there is its.
 */
static __always_inline __u64 waker_kernel_stack(void *ctx, struct kernel_memory *m, struct thread_state *wst,
						bool is_irq, bool may_remember, struct scratch *scratch,
						struct irq_note *note, __u64 now)
{
	__u64 id, remembered;
	struct offcpu_rec_stack *stack = &scratch->stack;
	bool is_irq_stack = on_interrupt_stack(scratch->ctx_addr), forgotten, is_again;
	__u32 depth, found;
	long n;

	if (is_irq && m->is_irq_stack != is_irq_stack)
		m->id = 0;
	/* an interrupt's stack begins anywhere, and all of its words are placed by their distance */
	if (is_irq)
		m->last_at = scratch->ctx_addr + m->at[0];
	remembered = may_remember ? remembered_kernel_walk(m, scratch->ctx_addr) : 0;

	if (remembered && !cfg.verify_walks)
		return remembered;
	n = bpf_get_stack(ctx, stack->ip, sizeof(stack->ip), 0);
	if (n <= 0) {
		count_loss(OFFCPU_LOSS_KSTACK, 0);
		return 0;
	}
	depth = (__u32)n / sizeof(__u64);
	if (depth > OFFCPU_MAX_DEPTH)
		return 0;
	stack->end = depth >= OFFCPU_MAX_DEPTH ? OFFCPU_WALK_CUT : OFFCPU_WALK_COMPLETE;
	forgotten = forget_tracers_frames(stack);
	id = stack_hash(stack, depth, 0);
	is_again = !is_irq && m->id == id;
	found = 0;
	if (may_remember && cfg.can_walk && (is_irq || is_again || may_replace(m->id, &m->hot)))
		found = locate_waker_walk(m, stack, depth, scratch->ctx_addr, is_again, note);
	if (is_irq) {
		found = keep_irq_walk(m, found, &depth, scratch->ctx_addr, is_irq_stack);
		id = stack_hash(stack, depth, 0);
	}
	if (cfg.verify_walks && remembered && remembered != id)
		count_loss(OFFCPU_LOSS_REMEMBERED, 0);
	if (!stack_cross(stack, id, depth, wst, false, now))
		return id;
	if (forgotten && found == depth && stack->end == OFFCPU_WALK_COMPLETE && m->cnt < KERNEL_WORDS) {
		m->hash = kernel_words_hash(m, scratch->ctx_addr);
		m->id = id;
	}
	return id;
}
#else
static __always_inline __u64 waker_kernel_stack(void *ctx, struct kernel_memory *m, struct thread_state *wst,
						bool is_irq, bool may_remember, struct scratch *scratch,
						struct irq_note *note, __u64 now)
{
	long n = bpf_get_stack(ctx, scratch->stack.ip, sizeof(scratch->stack.ip), 0);
	__u32 depth = n <= 0 ? 0 : (__u32)n / sizeof(__u64);
	__u64 id;

	if (!depth || depth > OFFCPU_MAX_DEPTH)
		return 0;
	scratch->stack.end = depth >= OFFCPU_MAX_DEPTH ? OFFCPU_WALK_CUT : OFFCPU_WALK_COMPLETE;
	id = stack_hash(&scratch->stack, depth, 0);
	stack_cross(&scratch->stack, id, depth, wst, false, now);
	return id;
}
#endif

static __always_inline void fill_waker(struct offcpu_rec_waker *rec, struct task_struct *task,
				       const struct thread_state *wst, const struct irq_note *note)
{
	__builtin_memset(rec->comm, 0, sizeof(rec->comm));
	__builtin_memset(rec->irq_name, 0, sizeof(rec->irq_name));
	rec->type = OFFCPU_REC_WAKER;
	rec->vector = note->vector;
	rec->pid = rec->tid = 0;
	rec->start_ns = 0;
	if (rec->kind != OFFCPU_WAKER_TASK) {
		const struct irqaction *action = note->action;
		const struct gendisk *disk = disk_of(note, rec);

		if (rec->kind == OFFCPU_WAKER_HARDIRQ && action)
			bpf_probe_read_kernel_str(rec->irq_name, sizeof(rec->irq_name), BPF_CORE_READ(action, name));
		if (disk)
			bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), disk->disk_name);
		return;
	}
	copy_comm(rec->comm, task);
	if (!wst)
		return;
	rec->pid = wst->pid;
	rec->tid = wst->tid;
	rec->start_ns = wst->start_ns;
}

/* Sends the waker in *rec unless it has crossed before; its id, or 0 when it did not get through. */
static __always_inline __u64 intern_waker(struct offcpu_rec_waker *rec, struct task_struct *task,
					  struct thread_state *wst, const struct irq_note *note)
{
	__u64 id = mix(mix(mix(STACK_MIX, rec->ustack), rec->kstack), (__u64)rec->kind << 32 | (__u32)rec->nr);
	__u32 one = 1;

	if (rec->kind == OFFCPU_WAKER_TASK && wst)
		id = mix(id, (__u64)wst->renames << 32 | wst->tno);
	else if (rec->kind != OFFCPU_WAKER_TASK)
		id = mix(id, (__u64)disk_of(note, rec));
	if (!id)
		id = 1;
	if (wst && wst->seen_waker == id)
		return id;
	if (!bpf_map_lookup_elem(&crossed, &id)) {
		rec->id = id;
		fill_waker(rec, task, wst, note);
		if (ring_send(rec, sizeof(*rec))) {
			count_loss(OFFCPU_LOSS_WAKER, 0);
			return 0;
		}
		bpf_map_update_elem(&crossed, &id, &one, BPF_ANY);
	}
	if (wst)
		wst->seen_waker = id;
	return id;
}

/* An interrupt wakes at a few depths of its stack, each of which goes with one place in its code. */
static __always_inline __u32 irq_slot(const struct scratch *scratch)
{
	__u64 at = *(volatile __u64 *)&scratch->ctx_addr;

	return (at >> 3 ^ at >> 7) & (IRQ_WALKS - 1);
}

/* The id of what runs now and wakes p; *ret_wst: its thread, NULL for an interrupt. */
static __always_inline __u64 waker_now(unsigned long long *ctx, struct task_struct *p, struct thread_state **ret_wst,
				       __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct irq_note *note = my_irq_note();
	struct scratch *scratch = my_scratch();
	struct offcpu_rec_waker *rec;
	struct thread_state *wst = NULL;
	struct waker_memory *memory;
	struct kernel_memory *m;
	bool may_remember = true, is_irq_stack;

	*ret_wst = NULL;
	if (!note || !scratch)
		return 0;
	/* It wakes itself on its way to sleep, and will not sleep. */
	if (task == p)
		return 0;
	rec = &scratch->waker;
	number_of(ctx, &scratch->ctx_addr);
	is_irq_stack = on_interrupt_stack(*(volatile __u64 *)&scratch->ctx_addr);
	rec->kind = waker_kind(note, is_irq_stack, &rec->nr);
	rec->ustack = rec->kstack = 0;
	m = &scratch->irq_walks[irq_slot(scratch)];
	if (rec->kind == OFFCPU_WAKER_TASK && task->pid) {
		wst = thread_of(task);
		if (!wst) {
			count_loss(OFFCPU_LOSS_WAKER, 0);
			return 0;
		}
		/* in a soft interrupt of its own its frames lie on two stacks */
		may_remember = rec->nr < 0;
		take_memory_of(wst);
		/* try_to_wake_up() has turned interrupts off, but for a task that wakes itself */
		if (has_user_stack(task))
			rec->ustack = told_user_stack(ctx, task, wst, scratch, now);
		memory = waker_memory_of(wst);
		if (memory)
			m = &memory->walks[(wst->entry >> 2) & (WAKER_WALKS - 1)];
		else
			may_remember = false;
	}
	if (cfg.want_kstack)
		rec->kstack = waker_kernel_stack(ctx, m, wst, rec->kind != OFFCPU_WAKER_TASK, may_remember, scratch,
						 note, now);
	*ret_wst = wst;
	return intern_waker(rec, task, wst, note);
}

#endif
