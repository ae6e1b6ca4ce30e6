/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Disk requests that a thread makes during a call on a file: the time in which there was one. */
#ifndef FEATURES_IO_FILE_DISK_BPF_H
#define FEATURES_IO_FILE_DISK_BPF_H

#include "features/io/file_state.bpf.h"
#include "features/io/file_uring.bpf.h"

/* Times with disk requests during one call. */
struct disk_use {
	__u64 since_ns, sum_ns;
	__u32 open, pad;
};

MAP(disk_uses, LRU_HASH, __u64, struct disk_use, 16384);	/* key: thread and turn, or a struct io_kiocb * */
MAP(file_requests, HASH, __u64, __u64, 65536);	/* struct request * -> key of disk_uses */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct request___io {
	unsigned int __data_len;
};

#pragma clang attribute pop

static __always_inline void read_disk(struct buffer *b, __u64 key, __u64 now)
{
	struct disk_use *use = bpf_map_lookup_elem(&disk_uses, &key);

	if (!use)
		return;
	b->walk.rec.disk_ns = use->sum_ns;
	if ((__s32)use->open > 0 && now > use->since_ns)
		b->walk.rec.disk_ns += now - use->since_ns;
}

/* What a new request is made for: a thread's call, or an io_uring operation. 0: neither. */
static __always_inline __u64 asker(struct task_struct *task)
{
	struct op *op = bpf_task_storage_get(&ops, task, 0, 0);
	struct uring_op *u;
	__u64 req;

	if (op && op->start_ns && !(op->flags & FILE_OP_FAULT && has_left(task, op))) {
		op->requests++;
		return key_of(task, op);
	}
	req = uring_at_hand(task, op);
	u = req ? bpf_map_lookup_elem(&uring_ops, &req) : NULL;
	if (!u)
		return 0;
	u->requests++;
	return req;
}

static __always_inline int request_begins(__u64 request)
{
	struct disk_use fresh = { .since_ns = bpf_ktime_get_ns(), .open = 1 }, *use;
	__u64 key = asker(bpf_get_current_task_btf());

	if (!key)
		return 0;
	if (bpf_map_update_elem(&file_requests, &request, &key, BPF_ANY)) {
		count(FILE_LOST_DISK);
		return 0;
	}
	use = bpf_map_lookup_elem(&disk_uses, &key);
	if (!use) {
		if (bpf_map_update_elem(&disk_uses, &key, &fresh, BPF_NOEXIST))
			count(FILE_LOST_DISK);
	} else if (__sync_fetch_and_add(&use->open, 1) == 0) {
		use->since_ns = fresh.since_ns;
	}
	return 0;
}

static __always_inline int request_ends(__u64 request)
{
	__u64 *key = bpf_map_lookup_elem(&file_requests, &request);
	struct disk_use *use;
	__u64 since_ns;

	if (!key)
		return 0;
	use = bpf_map_lookup_elem(&disk_uses, key);
	if (use) {
		/* read first: the next request may begin at once, on another CPU */
		since_ns = use->since_ns;
		if (__sync_fetch_and_add(&use->open, -1) == 1)
			__sync_fetch_and_add(&use->sum_ns, bpf_ktime_get_ns() - since_ns);
	}
	bpf_map_delete_elem(&file_requests, &request);
	return 0;
}

/* Since Linux 6.5 (5a80bd075f3b). */
SEC("tp_btf/block_io_start")
int file_block_start(__u64 *ctx)
{
	return request_begins(ctx[0]);
}

SEC("tp_btf/block_io_done")
int file_block_done(__u64 *ctx)
{
	return request_ends(ctx[0]);
}

/* Before that: for a request that is not queued, its issue. */
SEC("tp_btf/block_rq_insert")
int file_block_insert(__u64 *ctx)
{
	return request_begins(ctx[0]);
}

SEC("tp_btf/block_rq_issue")
int file_block_issue(__u64 *ctx)
{
	__u64 request = ctx[0];

	return bpf_map_lookup_elem(&file_requests, &request) ? 0 : request_begins(request);
}

/* Its last part completes it. */
SEC("tp_btf/block_rq_complete")
int file_block_complete(__u64 *ctx)
{
	struct request___io *rq = (struct request___io *)ctx[0];

	return (__u32)ctx[2] < BPF_CORE_READ(rq, __data_len) ? 0 : request_ends(ctx[0]);
}

/* It was merged into a request that may be another thread's. */
SEC("tp_btf/block_rq_merge")
int file_block_merge(__u64 *ctx)
{
	return request_ends(ctx[0]);
}

#endif
