/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offcpu io --slower, --stacks: system calls on files, from their start to their end, and page faults on mapped files
 * (file_fault.bpf.h).
 *
 * Nearly all are fast. So the start stores a few words with the thread; only at the end of a slow call are the
 * descriptor and the path looked up. The thread is still in its call then, and its registers hold the arguments.
 *
 * What happened during a call: sched_switch shows when it was off CPU, the kernel's own account (sched_info.run_delay)
 * how much of that was waiting for a CPU, and the disk requests made by the thread itself show when a disk worked for
 * it.
 */
#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "features/io/file_abi.h"
#include "features/io/file_disk.bpf.h"
#include "features/io/file_fault.bpf.h"
#include "features/io/file_state.bpf.h"
#include "features/io/file_tell.bpf.h"
#include "features/io/file_uring.bpf.h"
#include "bpf/running.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline int leave(struct task_struct *task, __s64 result)
{
	struct op *op = bpf_task_storage_get(&ops, task, 0, 0);
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 now;

	if (!op || !op->start_ns || !regs || op->flags & FILE_OP_FAULT)
		return 0;
	now = bpf_ktime_get_ns();
	if (now - op->start_ns >= slower_ns && is_open && !op->was_told && call_number(regs) == op->nr)
		tell(task, op, now, result, true);
	drop_disk(task, op);
	op->start_ns = 0;
	return 0;
}

static __always_inline int enter(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct op *op;
	__u32 nr;
	__u8 flags;

	if (!is_open || !is_ours(task) || !regs || is_32_bit(regs))
		return 0;
	nr = call_number(regs);
	if (nr >= FILE_CALLS_END || !calls[nr].op)
		return 0;
	flags = calls[nr].flags;
	if (flags & FILE_CALL_LOCKS && !is_lock_command(argument(regs, 2)))
		return 0;
	op = bpf_task_storage_get(&ops, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!op) {
		count(FILE_LOST_ROOM);
		return 0;
	}
	if (op->start_ns && op->flags & FILE_OP_LOOSE)
		end_loose(task, op);
	begin(task, op, nr);
	if (flags & FILE_CALL_CLOSES)
		note_file(task, op, argument(regs, 1));
	return 0;
}

/* Through the kernel's functions of these calls, where many can be probed at once: other calls have no overhead. */
SEC("kprobe.multi")
int file_function(struct pt_regs *ctx)
{
	return enter(bpf_get_current_task_btf());
}

SEC("kretprobe.multi")
int file_function_end(struct pt_regs *ctx)
{
	return leave(bpf_get_current_task_btf(), ctx->REG_RESULT);
}

static __always_inline bool is_followed(__u64 nr)
{
	return nr < FILE_CALLS_END && calls[nr].op;
}

/*
 * Through the tracepoints of all calls: all calls have this overhead, so the check comes first. Tracepoints of single
 * calls (syscalls:sys_enter_read) would save other calls 40 ns. But there are 90 of each, which the kernel removes one
 * by one with a grace period each, and they cost the traced calls about twice as much.
 */
SEC("tp_btf/sys_enter")
int file_enter(__u64 *ctx)
{
	return is_followed(ctx[1]) ? enter(bpf_get_current_task_btf()) : 0;
}

SEC("tp_btf/sys_exit")
int file_exit(__u64 *ctx)
{
	const struct pt_regs *regs = (const struct pt_regs *)ctx[0];

	return is_followed(call_number(regs)) ? leave(bpf_get_current_task_btf(), (__s64)ctx[1]) : 0;
}

/* Where a thread that is off CPU waits in the kernel. */
static __always_inline void note_stack(struct task_struct *task, struct op *op)
{
	long bytes;

	if (!want_kstack)
		return;
	bytes = bpf_get_task_stack(task, op->frame, sizeof(op->frame), 0);
	op->frames = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
}

/*
 * No event has ended the fault, and the thread runs or sleeps in the call around it: the fault may have ended long
 * ago.
 */
static __always_inline bool is_past_fault(const struct op *op)
{
	return op->flags & FILE_OP_FAULT && (op->may_be_over || (op->flags & FILE_OP_LOOSE && !op->off_since_ns));
}

SEC("tp_btf/sched_switch")
int file_switch(__u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
	struct op *op = bpf_task_storage_get(&ops, prev, 0, 0);
	__u64 now = 0, off_ns;

	if (op && op->start_ns && op->flags & FILE_OP_LOOSE && has_left(prev, op))
		end_loose(prev, op);
	if (op && op->start_ns)
		op->off_since_ns = now = bpf_ktime_get_ns();
	op = bpf_task_storage_get(&ops, next, 0, 0);
	if (!op || !op->start_ns || !op->off_since_ns)
		return 0;
	if (!now)
		now = bpf_ktime_get_ns();
	off_ns = now - op->off_since_ns;
	op->off_since_ns = 0;
	op->in_ns = now;
	op->off_ns += off_ns;
	if (off_ns <= op->longest_ns)
		return 0;
	op->longest_ns = off_ns;
	if (off_ns >= slower_ns / 8)
		note_stack(next, op);
	return 0;
}

/* Since Linux 6.4 (2ad57931db64). */
SEC("tp_btf/io_uring_submit_req")
int file_uring_req(__u64 *ctx)
{
	return uring_begins((struct io_kiocb *)ctx[0]);
}

SEC("tp_btf/io_uring_submit_sqe")
int file_uring_sqe(__u64 *ctx)
{
	return uring_begins((struct io_kiocb *)ctx[0]);
}

/* A slow operation. The file is released after this; a file that was opened is the result. */
static __always_inline void tell_uring(struct buffer *b, struct io_kiocb *req, __u64 key, const struct uring_op *u,
				       __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool opens = uring_open_ops & 1ULL << (u->opcode & 63);
	struct file *file = opens ? NULL : BPF_CORE_READ(req, file);

	__builtin_memset(&b->walk, 0, sizeof(b->walk) - sizeof(b->walk.names));
	b->walk.rec.result = BPF_CORE_READ(req, cqe.res);
	if (opens && b->walk.rec.result >= 0 && (__u32)task->tgid == u->pid)
		file = file_of(task, b->walk.rec.result);
	if (file && !look_at_file(b, file)) {
		count(FILE_NOT_FILE);
		return;
	}
	walk_up(&b->walk);
	b->walk.rec.flags |= FILE_OP_ASYNC | (b->walk.is_absolute ? FILE_OP_ABSOLUTE : 0) |
			     (b->walk.is_cut ? FILE_OP_CUT : 0);
	b->walk.rec.type = FILE_REC_OP;
	b->walk.rec.op = FILE_OP_URING + u->opcode;
	b->walk.rec.start_ns = u->start_ns;
	b->walk.rec.end_ns = now;
	b->walk.rec.requests = u->requests;
	if (u->requests)
		read_disk(b, key, now);
	b->walk.rec.pid = u->pid;
	b->walk.rec.tid = u->tid;
	__builtin_memcpy(b->walk.rec.comm, u->comm, sizeof(u->comm));
	__builtin_memcpy(b->walk.rec.process, u->process, sizeof(u->process));
	count(send_op(&b->walk) ? FILE_SLOW : FILE_LOST_OP);
}

SEC("tp_btf/io_uring_complete")
int file_uring_end(__u64 *ctx)
{
	__u64 key = ctx[1], now = bpf_ktime_get_ns();
	struct uring_op *u = bpf_map_lookup_elem(&uring_ops, &key);
	__u32 zero = 0;
	struct buffer *b = bpf_map_lookup_elem(&file_buffers, &zero);

	if (!u || !b)
		return 0;
	if (is_open && now - u->start_ns >= slower_ns)
		tell_uring(b, (struct io_kiocb *)key, key, u, now);
	if (u->requests)
		bpf_map_delete_elem(&disk_uses, &key);
	bpf_map_delete_elem(&uring_ops, &key);
	return 0;
}

/*
 * When the window opens: a thread that sleeps in a call on a file began it before. When it ends: open calls that are
 * slow already are sent.
 */
SEC("iter/task")
int file_look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_regs *regs;
	struct op *op;
	__u64 now;
	__u32 nr;

	if (!task || !is_ours(task) || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return 0;
	op = bpf_task_storage_get(&ops, task, 0, 0);
	now = bpf_ktime_get_ns();
	if (is_end) {
		if (op && op->start_ns && op->flags & FILE_OP_LOOSE && has_left(task, op)) {
			end_loose(task, op);
		} else if (op && op->start_ns && now - op->start_ns >= slower_ns && !is_past_fault(op)) {
			op->was_told = 1;
			if (op->off_since_ns && now - op->off_since_ns > op->longest_ns)
				note_stack(task, op);
			tell(task, op, now, 0, false);
		}
		return 0;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!regs || is_32_bit(regs) || is_on_cpu(task) || on_rq_of(task) || (op && op->start_ns))
		return 0;
	nr = call_number(regs);
	if (nr >= FILE_CALLS_END || !calls[nr].op)
		return 0;
	if (calls[nr].flags & FILE_CALL_LOCKS && !is_lock_command(argument(regs, 2)))
		return 0;
	op = bpf_task_storage_get(&ops, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!op)
		return 0;
	begin(task, op, nr);
	op->flags = FILE_OP_BEFORE;
	if (ends_are_caught_at_begin) {
		op->flags |= FILE_OP_LOOSE;
		if (calls[nr].fd)
			note_file(task, op, argument(regs, calls[nr].fd));
	}
	op->off_since_ns = op->start_ns;
	return 0;
}
