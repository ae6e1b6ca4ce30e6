/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a thread does with files now, and what the programs share. */
#ifndef FEATURES_IO_FILE_STATE_BPF_H
#define FEATURES_IO_FILE_STATE_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "features/io/file_abi.h"
#include "features/io/file_path.bpf.h"
#include "features/io/stack.bpf.h"
#include "features/io/chosen.bpf.h"
#include "bpf/walk/regs.bpf.h"

const volatile bool want_ustack, want_kstack;
const volatile __u32 self_tgid;	/* never traced */
const volatile __u64 slower_ns;
/* A probe on a function's return is set when the function begins: a call that had begun before has none. */
const volatile bool ends_are_caught_at_begin;
const volatile struct file_call calls[FILE_CALLS_END];

/* A thread's current operation. In task storage, from its first call to its end. */
struct op {
	__u64 start_ns;		/* 0: none */
	__u64 run_delay_ns;	/* at its start */
	__u64 off_since_ns;	/* 0: on a CPU */
	__u64 in_ns;		/* when it last got the CPU; 0: it did not sleep */
	__u64 off_ns, longest_ns;
	__u64 dentry, mnt, ino;	/* of a file that is being closed, or is mapped */
	__u64 page, ip;		/* for a page fault: page number in the file, and the instruction */
	__u64 uring;		/* the thread's last io_uring operation; it may have ended */
	__u32 nr, flags;	/* enum file_op_flag */
	__u32 turn;		/* counts the thread's calls */
	__u32 requests;
	__u32 frames;
	__u32 was_told;		/* the iterator has sent it as open */
	__u32 may_be_over, pad;	/* a page fault inside a system call, whose end may not be reported */
	__u64 frame[FILE_FRAMES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct op);
} ops SEC(".maps");

RING(file_ring, 16 << 20);
MAP(file_counts, PERCPU_ARRAY, __u32, __u64, FILE_COUNTS);

struct buffer {
	struct path_walk walk;
	struct io_stack_buffer stack;
};

MAP(file_buffers, PERCPU_ARRAY, __u32, struct buffer, 1);

__u64 last_number = 0;
volatile __u8 is_open = 0;
/* Purpose of the iterator: calls that are open as the window begins, or as it ends. */
volatile __u8 is_end = 0;

static __always_inline void count(__u32 what)
{
	__u64 *value = bpf_map_lookup_elem(&file_counts, &what);

	if (value)
		++*value;
}

static __always_inline __u64 key_of(struct task_struct *task, const struct op *op)
{
	return (__u64)(__u32)task->pid << 32 | op->turn;
}

static __always_inline bool is_ours(struct task_struct *task)
{
	return (__u32)task->tgid != self_tgid && is_wanted(task);
}

static __always_inline void begin(struct task_struct *task, struct op *op, __u32 nr)
{
	op->run_delay_ns = task->sched_info.run_delay;
	op->off_since_ns = op->off_ns = op->longest_ns = op->in_ns = 0;
	op->dentry = 0;
	op->nr = nr;
	op->flags = 0;
	op->turn++;
	op->requests = op->frames = op->was_told = op->may_be_over = 0;
	op->start_ns = bpf_ktime_get_ns();
}

static __always_inline void note_path(struct op *op, struct file *file)
{
	op->dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
	op->mnt = (__u64)BPF_CORE_READ(file, f_path.mnt);
	op->ino = BPF_CORE_READ(file, f_inode, i_ino);
}

/* The thread has run since, and is elsewhere now. */
static __always_inline bool has_left(struct task_struct *task, const struct op *op)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (op->flags & FILE_OP_FAULT)
		return !regs || regs->REG_IP != op->ip;
	return op->in_ns && regs && call_number(regs) != op->nr;
}

/* A file that is being closed has no descriptor at the call's end. */
static __noinline void note_file(struct task_struct *task, struct op *op, __u32 fd)
{
	struct file *file = file_of(task, fd);

	if (file && is_file(BPF_CORE_READ(file, f_inode)))
		note_path(op, file);
}

#endif
