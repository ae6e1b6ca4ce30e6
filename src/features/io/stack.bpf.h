/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_IO_STACK_BPF_H
#define FEATURES_IO_STACK_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "features/io/stack_abi.h"
#include "bpf/walk/regs.bpf.h"

struct io_stack_buffer {
	struct io_rec_stack rec;
	__u8 stack[IO_STACK_BYTES];	/* directly after it */
};

/* The user registers of a thread, and the start of its program. */
static __always_inline void read_user_registers(struct task_struct *task, struct io_rec_stack *rec)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!regs || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return;
	rec->ip = BPF_CORE_READ(regs, REG_IP);
	rec->sp = BPF_CORE_READ(regs, REG_SP);
	rec->bp = BPF_CORE_READ(regs, REG_BP);
	rec->link = READ_LINK(regs);
	rec->code = BPF_CORE_READ(task, mm, start_code);
}

/* The same for the current thread, with the innermost part of the user stack. */
static __always_inline void read_user_stack(struct task_struct *task, struct io_stack_buffer *b)
{
	read_user_registers(task, &b->rec);
	if (b->rec.sp && !bpf_probe_read_user(b->stack, IO_STACK_BYTES, (void *)b->rec.sp))
		b->rec.stack_bytes = IO_STACK_BYTES;
}

/*
 * On PREEMPT_RT the ring's lock is a sleeping lock, but tracepoints must not sleep (see bpf/maps.bpf.h): so one
 * program at a time uses a ring, and for others it is full.
 */
__u32 io_ring_taken = 0;

#define IO_RING_TRIES 16

static __always_inline bool has_sleeping_locks(void)
{
	struct task_struct *task = NULL;

	return bpf_core_field_exists(task->softirq_disable_cnt);
}

static __always_inline bool io_ring_enter(void)
{
	if (!has_sleeping_locks())
		return true;
#pragma unroll
	for (int i = 0; i < IO_RING_TRIES; i++)
		if (!__sync_val_compare_and_swap(&io_ring_taken, 0, 1))
			return true;
	return false;
}

static __always_inline void io_ring_leave(void)
{
	if (has_sleeping_locks())
		__sync_lock_test_and_set(&io_ring_taken, 0);
}

/* False: no room. */
static __always_inline bool io_ring_send(void *ring, void *record, __u64 size)
{
	long err;

	if (!io_ring_enter())
		return false;
	err = bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP);
	io_ring_leave();
	return !err;
}

static __always_inline bool send_io_stack(void *ring, struct io_stack_buffer *b)
{
	__u64 size = sizeof(b->rec);

	if (b->rec.stack_bytes)
		size += IO_STACK_BYTES;
	return io_ring_send(ring, &b->rec, size);
}

#endif
