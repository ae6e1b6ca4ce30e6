/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A slow operation is sent: the file, its path, the stacks, and the thread's times. */
#ifndef FEATURES_IO_FILE_TELL_BPF_H
#define FEATURES_IO_FILE_TELL_BPF_H

#include "features/io/file_disk.bpf.h"
#include "features/io/file_path.bpf.h"
#include "features/io/file_state.bpf.h"
#include "features/io/stack.bpf.h"
#include "bpf/target_types.h"

/* The file and its names. False: not a file. */
static __noinline bool look_at_file(struct buffer *b, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	if (!is_file(inode))
		return false;
	b->walk.rec.ino = BPF_CORE_READ(inode, i_ino);
	b->walk.rec.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	b->walk.rec.mode = BPF_CORE_READ(inode, i_mode);
	if (!BPF_CORE_READ(inode, i_nlink))
		b->walk.rec.flags |= FILE_OP_DELETED;
	b->walk.dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
	b->walk.mnt = (__u64)BPF_CORE_READ(file, f_path.mnt);
	return true;
}

static __noinline bool look_at_fd(struct task_struct *task, struct buffer *b, __u32 fd)
{
	struct file *file = file_of(task, fd);

	return file && look_at_file(b, file);
}

/* The file was closed meanwhile, and its memory may be reused. */
static __always_inline void look_at_closed(struct buffer *b, const struct op *op)
{
	struct dentry *dentry = (struct dentry *)op->dentry;

	b->walk.rec.ino = op->ino;
	if (BPF_CORE_READ(dentry, d_inode, i_ino) != op->ino)
		return;
	b->walk.dentry = op->dentry;
	b->walk.mnt = op->mnt;
}

static __always_inline void look_at_mapped(struct buffer *b, const struct op *op)
{
	struct dentry *dentry = (struct dentry *)op->dentry;

	b->walk.rec.op = FILE_OP_PAGE;
	look_at_closed(b, op);
	b->walk.rec.dev = BPF_CORE_READ(dentry, d_inode, i_sb, s_dev);
	if (b->walk.dentry && !BPF_CORE_READ(dentry, d_inode, i_nlink))
		b->walk.rec.flags |= FILE_OP_DELETED;
}

/* A path given by the program, and the directory that it is relative to. */
static __noinline void look_at_path(struct task_struct *task, struct buffer *b, struct pt_regs *regs,
				    const struct file_call *call, bool is_running)
{
	__u64 given = argument(regs, call->path);
	__u8 first = 0;

	b->walk.rec.flags |= FILE_OP_GIVEN;
	if (is_running)
		bpf_probe_read_user(&first, 1, (void *)given);
	else
		b->walk.rec.given = given;
	if (first == '/')
		return;
	if (call->fd && (__s32)argument(regs, call->fd) != AT_FDCWD) {
		look_at_fd(task, b, argument(regs, call->fd));
		b->walk.rec.flags &= ~FILE_OP_DELETED;
		return;
	}
	b->walk.dentry = (__u64)BPF_CORE_READ(task, fs, pwd.dentry);
	b->walk.mnt = (__u64)BPF_CORE_READ(task, fs, pwd.mnt);
}

/* False: it was not on a file. */
static __always_inline bool look(struct task_struct *task, struct buffer *b, struct pt_regs *regs, const struct op *op,
				 bool is_running)
{
	struct file_call call;

	if (op->flags & FILE_OP_FAULT) {
		look_at_mapped(b, op);
		walk_up(&b->walk);
		return true;
	}
	if (op->nr >= FILE_CALLS_END)
		return false;
	bpf_probe_read_kernel(&call, sizeof(call), (void *)&calls[op->nr & (FILE_CALLS_END - 1)]);
	b->walk.rec.op = call.op;
	if (call.flags & FILE_CALL_FREE)
		return true;
	if (call.flags & FILE_CALL_CLOSES || op->flags & FILE_OP_LOOSE) {
		if (!op->dentry)
			return call.path;
		look_at_closed(b, op);
	} else if (call.flags & FILE_CALL_OPENS && b->walk.rec.result >= 0 && is_running) {
		if (!look_at_fd(task, b, b->walk.rec.result))
			return false;
	} else if (call.path) {
		look_at_path(task, b, regs, &call, is_running);
	} else if (!look_at_fd(task, b, argument(regs, call.fd))) {
		if (!call.other_fd || !look_at_fd(task, b, argument(regs, call.other_fd)))
			return false;
	}
	walk_up(&b->walk);
	return true;
}

static __always_inline void append_given(struct buffer *b, struct pt_regs *regs, const struct op *op)
{
	__u32 at = b->walk.length;
	__u8 path = calls[op->nr & (FILE_CALLS_END - 1)].path;
	long n = 0;

	if (at < FILE_PATH_BYTES)
		n = bpf_probe_read_user_str(&b->walk.names[at], FILE_TEXT_BYTES, (void *)argument(regs, path));
	if (n > 0)
		b->walk.length = at + n;
	else
		b->walk.rec.flags &= ~FILE_OP_GIVEN;
}

static __always_inline void send_stacks(struct task_struct *task, struct buffer *b, const struct op *op,
					bool is_running)
{
	struct io_rec_stack *rec = &b->stack.rec;
	__u32 frames = want_kstack && op->frames <= FILE_FRAMES_MAX ? op->frames : 0;

	rec->type = FILE_REC_STACK;
	rec->number = __sync_fetch_and_add(&last_number, 1) + 1;
	rec->pid = task->tgid;
	rec->ip = rec->sp = rec->bp = rec->link = rec->code = 0;
	rec->stack_bytes = 0;
	rec->frames = frames;
	for (__u32 i = 0; i < FILE_FRAMES_MAX; i++)
		rec->frame[i] = op->frame[i];
	if (want_ustack && is_running)
		read_user_stack(task, &b->stack);
	else if (want_ustack && !(op->flags & FILE_OP_LOOSE))
		read_user_registers(task, rec);
	if (send_io_stack(&file_ring, &b->stack))
		b->walk.rec.number = rec->number;
	else
		count(FILE_LOST_STACK);
}

static __always_inline bool send_op(struct path_walk *walk)
{
	__u64 size = walk->length;

	if (size > sizeof(walk->names))
		size = sizeof(walk->names);
	walk->rec.path_bytes = size;
	return io_ring_send(&file_ring, &walk->rec, sizeof(walk->rec) + size);
}

/* A slow call: sends it if it was on a file. */
static __always_inline void tell(struct task_struct *task, const struct op *op, __u64 now, __s64 result,
				 bool is_running)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 zero = 0;
	struct buffer *b = bpf_map_lookup_elem(&file_buffers, &zero);

	if (!b || !regs)
		return;
	__builtin_memset(&b->walk, 0, sizeof(b->walk) - sizeof(b->walk.names));
	b->walk.rec.result = result;
	b->walk.rec.flags = op->flags | (is_running || (op->flags & FILE_OP_LOOSE && !op->was_told) ? 0 : FILE_OP_OPEN);
	if (!look(task, b, regs, op, is_running)) {
		count(FILE_NOT_FILE);
		return;
	}
	if (is_running && b->walk.rec.flags & FILE_OP_GIVEN)
		append_given(b, regs, op);
	b->walk.rec.flags |= (b->walk.is_absolute ? FILE_OP_ABSOLUTE : 0) | (b->walk.is_cut ? FILE_OP_CUT : 0);
	b->walk.rec.type = FILE_REC_OP;
	b->walk.rec.start_ns = op->start_ns;
	b->walk.rec.end_ns = now;
	b->walk.rec.off_ns = op->off_ns;
	if (op->off_since_ns && now > op->off_since_ns)
		b->walk.rec.off_ns += now - op->off_since_ns;
	b->walk.rec.runq_ns = task->sched_info.run_delay - op->run_delay_ns;
	b->walk.rec.requests = op->requests;
	if (op->requests)
		read_disk(b, key_of(task, op), now);
	b->walk.rec.pid = task->tgid;
	b->walk.rec.tid = task->pid;
	BPF_CORE_READ_INTO(&b->walk.rec.comm, task, comm);
	BPF_CORE_READ_INTO(&b->walk.rec.process, task, group_leader, comm);
	if (want_ustack || want_kstack)
		send_stacks(task, b, op, is_running);
	count(send_op(&b->walk) ? FILE_SLOW : FILE_LOST_OP);
}

static __always_inline void drop_disk(struct task_struct *task, const struct op *op)
{
	__u64 key = key_of(task, op);

	if (op->requests)
		bpf_map_delete_elem(&disk_uses, &key);
}

/* Noticed by the thread's next action. */
static __always_inline void end_loose(struct task_struct *task, struct op *op)
{
	if (op->in_ns && op->in_ns - op->start_ns >= slower_ns && is_open && !op->was_told)
		tell(task, op, op->in_ns, 0, false);
	drop_disk(task, op);
	op->start_ns = 0;
}

#endif
