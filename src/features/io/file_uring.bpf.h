/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations on files through io_uring: from where the kernel takes one (io_uring_submit_req) to its result
 * (io_uring_complete). No thread is in them, so threads' waits are not counted; disk requests are, which the submitter
 * makes while submitting, or an io_uring worker while it executes the operation.
 */
#ifndef FEATURES_IO_FILE_URING_BPF_H
#define FEATURES_IO_FILE_URING_BPF_H

#include "features/io/file_state.bpf.h"

#define URING_OPS_MAX 16384

/* IORING_OP_*: bits of those on files; user space has their names. */
const volatile __u64 uring_file_ops, uring_open_ops;

struct uring_op {
	__u64 start_ns;
	__u32 pid, tid, opcode, requests;
	char comm[FILE_COMM_LEN];
	char process[FILE_COMM_LEN];
};

MAP_FLAGS(uring_ops, HASH, __u64, struct uring_op, URING_OPS_MAX, BPF_F_NO_PREALLOC);	/* struct io_kiocb * */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_cqe {
	__s32 res;
};

struct io_wq_work {
	int flags;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	struct io_cqe cqe;
	struct io_wq_work work;
};

struct task_struct___worker {
	void *worker_private;
};

#pragma clang attribute pop

/* The operation that a thread is executing; 0: none. */
static __always_inline __u64 uring_at_hand(struct task_struct *task, const struct op *op)
{
	struct io_worker *worker;
	__u64 work;

	if (!(task->flags & PF_IO_WORKER))
		return op ? op->uring : 0;
	worker = BPF_CORE_READ((struct task_struct___worker *)task, worker_private);
	work = worker ? (__u64)BPF_CORE_READ(worker, cur_work) : 0;
	return work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

static __always_inline int uring_begins(struct io_kiocb *req)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uring_op u = { .start_ns = bpf_ktime_get_ns() };
	__u64 key = (__u64)req;
	struct op *op;

	if (!is_open || !is_ours(task))
		return 0;
	u.opcode = BPF_CORE_READ(req, opcode);
	if (u.opcode >= 64 || !(uring_file_ops & 1ULL << u.opcode)) {
		count(FILE_URING);
		return 0;
	}
	u.pid = task->tgid;
	u.tid = task->pid;
	BPF_CORE_READ_INTO(&u.comm, task, comm);
	BPF_CORE_READ_INTO(&u.process, task, group_leader, comm);
	if (bpf_map_update_elem(&uring_ops, &key, &u, BPF_ANY))
		count(FILE_LOST_ROOM);
	op = bpf_task_storage_get(&ops, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (op)
		op->uring = key;
	return 0;
}

#endif
