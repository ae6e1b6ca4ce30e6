/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page faults on mapped files whose page had to be read, or was being read.
 *
 * Where the kernel has mm_filemap_fault (Linux 6.11), that is the start. A fault that has to wait drops its locks and
 * is repeated: the same thread then passes here, or mm_filemap_map_pages, for the same page, and this is the end. If
 * it passes neither (the program was killed, or the page was there at once) the fault ended when the thread last got
 * the CPU: FILE_OP_LOOSE. For a system call that is not on a file there is no difference before and after a fault in
 * it, so only the second passing counts.
 *
 * Otherwise filemap_fault() is probed, where that is possible.
 */
#ifndef FEATURES_IO_FILE_FAULT_BPF_H
#define FEATURES_IO_FILE_FAULT_BPF_H

#include "features/io/alias.bpf.h"
#include "features/io/file_tell.bpf.h"

/* enum vm_fault_reason */
#define VM_FAULT_MAJOR 0x4
#define VM_FAULT_RETRY 0x400

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct address_space {
	struct inode *host;
};

struct inode___aliases {
	struct hlist_head i_dentry;
};

struct mm_struct___exe {
	struct file *exe_file;
};

#pragma clang attribute pop

static __always_inline bool is_inside_call(const struct pt_regs *regs)
{
	return call_number(regs) < FILE_CALLS_END;
}

/* The mount is not known: one of the thread's own is tried; user space knows where else it is mounted. */
static __always_inline __u64 likely_mount(struct task_struct *task, const struct super_block *sb)
{
	struct vfsmount *mnt = BPF_CORE_READ(task, fs, root.mnt);

	if (BPF_CORE_READ(mnt, mnt_sb) == sb)
		return (__u64)mnt;
	mnt = BPF_CORE_READ(task, fs, pwd.mnt);
	if (BPF_CORE_READ(mnt, mnt_sb) == sb)
		return (__u64)mnt;
	mnt = BPF_CORE_READ((struct mm_struct___exe *)task->mm, exe_file, f_path.mnt);
	return BPF_CORE_READ(mnt, mnt_sb) == sb ? (__u64)mnt : 0;
}

static __noinline void note_inode(struct task_struct *task, struct op *op, struct inode *inode)
{
	struct hlist_node *alias = BPF_CORE_READ((struct inode___aliases *)inode, i_dentry.first);

	op->ino = BPF_CORE_READ(inode, i_ino);
	op->dentry = alias ? (__u64)dentry_of(alias) : 0;
	op->mnt = likely_mount(task, BPF_CORE_READ(inode, i_sb));
}

static __always_inline bool has_op(const struct op *op, __u32 flag)
{
	return op->start_ns && op->flags & flag;
}

/* NULL: not followed, or the fault is part of a call on a file. */
static __always_inline struct op *op_for_fault(struct task_struct *task)
{
	struct op *op;

	if (!is_open || !is_ours(task) || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return NULL;
	op = bpf_task_storage_get(&ops, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!op)
		count(FILE_LOST_ROOM);
	return op && op->start_ns && !(op->flags & FILE_OP_FAULT) ? NULL : op;
}

static __always_inline void fault_begins(struct task_struct *task, struct op *op, const struct pt_regs *regs,
					 __u64 page)
{
	begin(task, op, FILE_CALLS_END);
	op->flags = FILE_OP_FAULT;
	op->page = page;
	op->ip = regs->REG_IP;
}

static __always_inline void fault_ends(struct task_struct *task, struct op *op)
{
	__u64 now = bpf_ktime_get_ns();

	op->flags &= ~FILE_OP_LOOSE;
	if (now - op->start_ns >= slower_ns && is_open && !op->was_told)
		tell(task, op, now, 0, true);
	drop_disk(task, op);
	op->start_ns = 0;
}

/* Is it the repetition of a fault that had to wait? Then the file's page is there. */
static __always_inline bool is_second_try(const struct op *op, const struct pt_regs *regs,
					  struct address_space *mapping)
{
	return has_op(op, FILE_OP_FAULT) && (op->in_ns || op->requests) && regs->REG_IP == op->ip &&
	       BPF_CORE_READ(mapping, host, i_ino) == op->ino;
}

SEC("tp_btf/mm_filemap_fault")
int file_fault(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct address_space *mapping = (struct address_space *)ctx[0];
	struct op *op = op_for_fault(task);

	if (!op || !regs)
		return 0;
	if (is_second_try(op, regs, mapping) && op->page == ctx[1]) {
		fault_ends(task, op);
		return 0;
	}
	if (has_op(op, FILE_OP_LOOSE))
		end_loose(task, op);
	fault_begins(task, op, regs, ctx[1]);
	if (is_inside_call(regs))
		op->may_be_over = 1;
	else
		op->flags |= FILE_OP_LOOSE;
	note_inode(task, op, BPF_CORE_READ(mapping, host));
	return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int file_fault_maps(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct op *op = bpf_task_storage_get(&ops, task, 0, 0);

	if (op && regs && is_second_try(op, regs, (struct address_space *)ctx[0]) && op->page >= ctx[1] &&
	    op->page <= ctx[2])
		fault_ends(task, op);
	return 0;
}

SEC("kprobe.multi")
int file_fault_function(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct vm_fault *fault = (struct vm_fault *)ctx->REG_FIRST;
	struct file *file = BPF_CORE_READ(fault, vma, vm_file);
	struct op *op = op_for_fault(task);

	if (!op || !regs || !file)
		return 0;
	fault_begins(task, op, regs, BPF_CORE_READ(fault, pgoff));
	note_path(op, file);
	return 0;
}

SEC("kretprobe.multi")
int file_fault_function_end(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct op *op = bpf_task_storage_get(&ops, task, 0, 0);

	if (!op || !has_op(op, FILE_OP_FAULT))
		return 0;
	if (ctx->REG_RESULT & (VM_FAULT_MAJOR | VM_FAULT_RETRY))
		fault_ends(task, op);
	op->start_ns = 0;
	return 0;
}

#endif
