/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_WAKER_BPF_H
#define FEATURES_WAKERS_WAKER_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/threads.bpf.h"
#include "bpf/walk/stack.bpf.h"
#include "bpf/walk/regs.bpf.h"
#include "bpf/account.bpf.h"

/*
 * The waker of a thread (docs/semantics.md, "The waker"): what is running at sched_waking. In an interrupt that is the
 * interrupt, not the interrupted thread. But a soft interrupt that a thread raised itself, and that runs when the
 * thread enables soft interrupts again, is the thread's own work: for example a packet delivered on loopback.
 *
 * With PREEMPT_RT nearly all interrupts are threads, and are named as those. Soft interrupts are preemptible there, so
 * notes about them per CPU would be wrong.
 */

#define SOFTIRQS 16
#define BY_INTERRUPT 1ULL	/* no thread's pid and tid */

/* Per CPU: the interrupt being handled. */
struct irq_note {
	const struct irqaction *action;	/* of the hard one; NULL: none with a number */
	__s32 irq;
	__u32 vector;			/* enum offcpu_irq_vector */
	__u32 served;			/* vector of the soft one, + 1 */
	__u64 addr;			/* see number_of() */
	__u64 hard_cnt, soft_cnt;	/* numbers of interrupts so far, to identify each */
	__u64 served_by;		/* thread that raised it, as pid << 32 | tid; or BY_INTERRUPT */
	__u64 raised_by[SOFTIRQS];	/* the same for pending ones */
	const struct gendisk *hard_disk, *soft_disk;	/* disk of a request that this interrupt completed */
	__u64 stack_end;		/* of the interrupt stack, once found: see words_above_waker() */
};

MAP(irq_notes, PERCPU_ARRAY, __u32, struct irq_note, 1);

static __always_inline struct irq_note *my_irq_note(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&irq_notes, &zero);
}

/*
 * An interrupt runs on a stack of its own. The preemption count would show that, too, but its address is unknown if
 * kallsyms has no data symbols (without CONFIG_KALLSYMS_ALL). *addr is map memory: only through it the verifier takes
 * a context's address for a number.
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
 * Programs are attached one by one in the order of this file. So the end of an interrupt comes before its begin:
 * otherwise an interrupt during attaching would be seen to begin but not to end, and its CPU would stay in it.
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
#include "bpf/x86/vectors.bpf.h"
#else
#include "bpf/arm64/vectors.bpf.h"
#endif

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
		by = BY_INTERRUPT;	/* several threads raised it */
	note->raised_by[vector] = by;
	return 0;
}

/* Runs before the thread that waits for the request is woken. */
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

/* The disk that the interrupt serves, NULL: none. */
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

/* The waker's kind; *ret_nr: number of the interrupt or vector, -1 without. */
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
#include "bpf/x86/waker_walk.bpf.h"
#else
#include "bpf/arm64/waker_walk.bpf.h"
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

/* Sends the waker in *rec unless it has crossed before; returns its id, or 0 when it was not sent. */
static __always_inline __u64 intern_waker(struct offcpu_rec_waker *rec, struct task_struct *task,
					  struct thread_state *wst, const struct irq_note *note)
{
	__u64 id = mix(mix(mix(STACK_MIX, rec->ustack), rec->kstack), (__u64)rec->kind << 32 | (__u32)rec->nr);

	if (rec->kind == OFFCPU_WAKER_TASK && wst)
		id = mix(id, (__u64)wst->renames << 32 | wst->tno);
	else if (rec->kind != OFFCPU_WAKER_TASK)
		id = mix(id, (__u64)disk_of(note, rec));
	if (!id)
		id = 1;
	if (wst && wst->seen_waker == id)
		return id;
	if (!has_crossed(id)) {
		rec->id = id;
		fill_waker(rec, task, wst, note);
		if (!send_crossing(rec, sizeof(*rec), id, OFFCPU_LOSS_WAKER))
			return 0;
	}
	if (wst)
		wst->seen_waker = id;
	return id;
}

/* An interrupt wakes threads at few depths of its stack; each corresponds to one place in its code. */
static __always_inline __u32 irq_slot(const struct scratch *scratch)
{
	__u64 at = *(volatile __u64 *)&scratch->ctx_addr;

	return (at >> 3 ^ at >> 7) & (IRQ_WALKS - 1);
}

/*
 * A waker's stacks cost several times the rest of a waking, and most sleeps are short and end in the same way. So if
 * the thread that ended p's last sleep does it again, by the same system call from the same instruction with the same
 * stack pointer, its stacks are taken to be the previous ones. Outer callers may differ; so a sleep of d ns walks them
 * again with a probability of d / WAKER_SURE_NS. In expectation each stack then counts for its own part of the
 * sleeping time. Not used where single waits are sent.
 *
 * The place; 0 for a kernel thread, as it has no user registers.
 */
static __always_inline __u64 place_of_call(struct task_struct *task, const struct thread_state *wst, __s32 softirq)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!regs || task->flags & PF_KTHREAD)
		return 0;
	return mix(mix(mix((__u64)wst->renames << 32 | wst->tno, regs->REG_IP), regs->REG_SP),
		   (__u64)softirq << 32 | call_number(regs)) ?: 1;
}

/* Also notes the place, and what a random walk is compared with: Linux 6.1 has no room to keep it during the walk. */
static __always_inline bool calls_again(struct thread_state *st, struct scratch *scratch, __u64 place, __u64 now)
{
	scratch->waker_before = 0;
	if (cfg.verify_walks || (cfg.chain_depth && chains_since_ns) || cfg.want_storms || cfg.want_events ||
	    cfg.want_switches || (cfg.want_requests && !cfg.requests_beside))
		return false;
	scratch->waker_before = place && place == st->waker_place ? st->waker : 0;
	st->waker_place = place;
	return scratch->waker_before > WAKER_SKIPPED && now < st->walk_waker_ns;
}

/*
 * A random walk found other callers than the previous one: the stacks in between are an estimate, and this stands for
 * WAKER_SURE_NS of it.
 */
static __always_inline void compare_callers(const struct thread_state *st, const struct scratch *scratch, __u64 id,
					    __u64 now)
{
	if (id && scratch->waker_before > WAKER_SKIPPED && id != scratch->waker_before && st->mode == MODE_ASLEEP &&
	    now - st->since_ns < WAKER_SURE_NS)
		count_loss(OFFCPU_LOSS_WAKER_ESTIMATED, WAKER_SURE_NS);
}

/* Cached walks of all threads that wake by the same system call: a new thread has none of its own. */
static __always_inline struct kernel_memory *shared_waker_memory(struct scratch *scratch, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return &scratch->shared_waker_walks[(regs ? call_number(regs) : 0) & (SHARED_WALKS - 1)];
}

/* The id of what is running and wakes p, whose state is *st; *ret_wst: its thread, NULL for an interrupt. */
static __always_inline __u64 waker_now(unsigned long long *ctx, struct task_struct *p, struct thread_state *st,
				       struct thread_state **ret_wst, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct irq_note *note = my_irq_note();
	struct scratch *scratch = my_scratch();
	struct offcpu_rec_waker *rec;
	struct thread_state *wst = NULL;
	struct waker_memory *memory;
	struct kernel_memory *m, *shared = NULL;
	bool is_irq_stack;

	*ret_wst = NULL;
	if (!note || !scratch)
		return 0;
	/* it wakes itself while going to sleep, and will not sleep */
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
		if (calls_again(st, scratch, place_of_call(task, wst, rec->nr), now)) {
			*ret_wst = wst;
			return st->waker;
		}
		take_memory_of(wst);
		/* try_to_wake_up() has disabled interrupts, except when a task wakes itself */
		if (has_user_stack(task))
			rec->ustack = told_user_stack(ctx, task, wst, scratch, now);
		/* in a soft interrupt of its own the frames are on two stacks, and are not cached */
		memory = rec->nr < 0 ? waker_memory_of(wst) : NULL;
		m = memory ? &memory->walks[(wst->entry >> 2) & (WAKER_WALKS - 1)] : NULL;
		shared = rec->nr < 0 ? shared_waker_memory(scratch, task) : NULL;
	} else {
		st->waker_place = scratch->waker_before = 0;
	}
	if (cfg.want_kstack)
		rec->kstack = waker_kernel_stack(ctx, m, shared, scratch, note, now);
	*ret_wst = wst;
	return intern_waker(rec, task, wst, note);
}

#endif
