/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offcpu io --block: requests to block devices, from their creation (block_io_start) through their issue to the driver
 * (block_rq_issue) to their completion (block_io_done). Before Linux 6.5 (5a80bd075f3b) the first and the last are
 * block_rq_insert, or else the issue itself, and block_rq_complete.
 */
#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "features/io/block_abi.h"
#include "features/io/alias.bpf.h"
#include "features/io/stack.bpf.h"
#include "features/io/chosen.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile bool want_ustack, want_kstack, want_file;

/* include/linux/blk_types.h */
#define REQ_OP_MASK 255
#define REQ_OP_READ 0
#define REQ_OP_FLUSH 2
#define REQ_OP_DRV_IN 34
/* include/linux/blk-mq.h, for kernels without the enum */
#define RQF_FLUSH_SEQ 4

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct block_device {
	struct gendisk *bd_disk;	/* 5.11 */
};

struct super_block {
	struct block_device *s_bdev;
};

struct inode {
	struct hlist_head i_dentry;
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct address_space {
	struct inode *host;
};

struct page {
	unsigned long compound_head;
	struct address_space *mapping;
};

/* Since Linux 7 it replaces compound_head. */
struct page___info {
	unsigned long compound_info;
};

struct bio_vec {
	struct page *bv_page;
};

struct bio {
	struct bio_vec *bi_io_vec;
};

/* The struct of ktypes.h with more fields. */
struct request___io {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
	__u64 start_time_ns;
};

/* The queue a kernel worker works for; part of tasks since Linux 5.17 (e32cf5dfbe22). */
struct workqueue_struct {
	char name[24];
};

struct pool_workqueue {
	struct workqueue_struct *wq;
};

struct worker {
	struct pool_workqueue *current_pwq;
};

struct kthread {
	void *data;
};

struct task_struct___worker {
	void *worker_private;
};

/* An enum since Linux 6.11; macros before. */
enum rqf_flags {
	__RQF_FLUSH_SEQ = 1,
};

#pragma clang attribute pop

/* A pending request. */
struct flight {
	__u64 number, asked_ns, start_ns, issue_ns, bytes, sector;
	__u32 pid, tid, op, has_stack, is_kernel, is_held, dirtier;
	char comm[BLOCK_COMM_LEN];
	char dirtier_comm[BLOCK_COMM_LEN];
	char disk[BLOCK_NAME_LEN];
	char file[BLOCK_NAME_LEN];
};

MAP(flights, HASH, __u64, struct flight, 65536);
RING(block_ring, 16 << 20);
MAP(block_counts, PERCPU_ARRAY, __u32, __u64, BLOCK_COUNTS);

struct buffer {
	struct flight flight;
	struct io_stack_buffer stack;
};

MAP(block_buffers, PERCPU_ARRAY, __u32, struct buffer, 1);

/* Key of the thread that last dirtied a file's page: a kernel thread writes its pages later. */
struct inode_key {
	__u64 inode, ino;	/* ino: an inode's memory may be reused */
};

struct dirtier {
	__u32 pid;
	__u32 is_wanted;
	char comm[BLOCK_COMM_LEN];
};

MAP(dirtiers, LRU_HASH, struct inode_key, struct dirtier, 16384);

/*
 * The thread that asked for a file's page. A control group's limit (blkio.throttle, io.max) delays a read before there
 * is a request, which a kernel thread then creates.
 */
#define HELD_MIN_NS 1000000	/* asking for a batch of pages takes less */

struct reader {
	__u64 asked_ns;
	__u32 pid, tid;
	__u32 is_wanted, pad;
	char comm[BLOCK_COMM_LEN];
};

MAP(readers, LRU_HASH, __u64, struct reader, 16384);	/* by the page, or the first one of its folio */

__u64 last_number = 0;
/* The window is open: attaching and detaching takes long, and the disks' own counts are read at these two instants. */
volatile __u8 is_open = 0;

static __always_inline void count(__u32 what)
{
	__u64 *value = bpf_map_lookup_elem(&block_counts, &what);

	if (value)
		++*value;
}

/* The first page of a page's folio: head has its address, or since Linux 7 the bits that both addresses share. */
static __always_inline struct page *head_of(struct page *page)
{
	struct page___info *new = (struct page___info *)page;
	unsigned long head;

	if (bpf_core_field_exists(page->compound_head))
		head = BPF_CORE_READ(page, compound_head);
	else
		head = BPF_CORE_READ(new, compound_info);
	if (!(head & 1))
		return page;
	if (head >> 32 == 0xffffffff)	/* pages have lower addresses */
		return (struct page *)((unsigned long)page & head);
	return (struct page *)(head - 1);
}

/* The file that a page belongs to, and its name; NULL for memory without a file, and for a direct read. */
static __always_inline struct inode *name_file(struct request___io *rq, char *to)
{
	struct page *page = BPF_CORE_READ(rq, bio, bi_io_vec, bv_page);
	unsigned long mapping;
	struct inode *host;
	struct hlist_node *alias;
	struct dentry *dentry;

	if (!page)
		return NULL;
	mapping = (unsigned long)BPF_CORE_READ(head_of(page), mapping);
	if (!mapping || mapping & 3)	/* anonymous or movable memory */
		return NULL;
	host = BPF_CORE_READ((struct address_space *)mapping, host);
	/* of another file system: the buffer of a direct read */
	if (!host || BPF_CORE_READ(host, i_sb, s_bdev, bd_disk) != BPF_CORE_READ(rq, q, disk))
		return NULL;
	alias = BPF_CORE_READ(host, i_dentry.first);
	if (!alias)
		return host;
	dentry = dentry_of(alias);
	bpf_probe_read_kernel_str(to, BLOCK_NAME_LEN, BPF_CORE_READ(dentry, d_name.name));
	return host;
}

/* Is the thread that last dirtied the file selected? */
static __always_inline bool look_for_dirtier(struct inode *inode, struct flight *f)
{
	struct inode_key key = { .inode = (__u64)inode, .ino = BPF_CORE_READ(inode, i_ino) };
	struct dirtier *d = bpf_map_lookup_elem(&dirtiers, &key);

	if (!d)
		return false;
	f->dirtier = d->pid;
	__builtin_memcpy(f->dirtier_comm, d->comm, sizeof(d->comm));
	return d->is_wanted;
}

/*
 * Argument: struct address_space *mapping; the tracepoint is writeback_dirty_page before Linux 5.18 (203a31516616),
 * with the same arguments.
 */
static __always_inline int dirty(struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode_key key = { 0 };
	struct dirtier fresh = { 0 }, *d;
	struct inode *inode;

	if (!is_open || !mapping || task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return 0;
	inode = BPF_CORE_READ(mapping, host);
	key.inode = (__u64)inode;
	key.ino = BPF_CORE_READ(inode, i_ino);
	d = bpf_map_lookup_elem(&dirtiers, &key);
	if (d && d->pid == (__u32)task->tgid)
		return 0;
	fresh.pid = task->tgid;
	fresh.is_wanted = is_wanted(task);
	BPF_CORE_READ_INTO(&fresh.comm, task, group_leader, comm);
	bpf_map_update_elem(&dirtiers, &key, &fresh, BPF_ANY);
	return 0;
}

/* (struct folio *folio), before Linux 5.16 (struct page *page): it is about to be read, or written as a whole. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int block_page_asked(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct reader fresh = { 0 };
	__u64 page = ctx[0];

	if (!is_open || task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return 0;
	fresh.asked_ns = bpf_ktime_get_ns();
	fresh.pid = task->tgid;
	fresh.tid = task->pid;
	fresh.is_wanted = is_wanted(task);
	BPF_CORE_READ_INTO(&fresh.comm, task, comm);
	bpf_map_update_elem(&readers, &page, &fresh, BPF_ANY);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int block_dirty_folio(__u64 *ctx)
{
	return dirty((struct address_space *)ctx[1]);
}

SEC("tp_btf/writeback_dirty_page")
int block_dirty_page(__u64 *ctx)
{
	return dirty((struct address_space *)ctx[1]);
}

static __always_inline bool send_stack(void *ctx, struct task_struct *task, struct buffer *b)
{
	struct io_rec_stack *rec = &b->stack.rec;

	rec->type = BLOCK_REC_STACK;
	rec->number = b->flight.number;
	rec->pid = b->flight.pid;
	rec->ip = rec->sp = rec->bp = rec->link = rec->code = 0;
	rec->stack_bytes = rec->frames = 0;
	if (want_kstack) {
		long bytes = bpf_get_stack(ctx, rec->frame, IO_FRAMES_MAX * sizeof(__u64), 0);

		rec->frames = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
	}
	if (want_ustack)
		read_user_stack(task, &b->stack);
	return send_io_stack(&block_ring, &b->stack);
}

/* For requests that may be inserted more than once: is it the one being followed? */
static __always_inline bool is_same(struct request___io *rq, const struct flight *f)
{
	return f && BPF_CORE_READ(rq, start_time_ns) <= f->start_ns;
}

#define PF_WQ_WORKER 0x00000020	/* include/linux/sched.h */
#define KTHROTLD 0x646c746f7268746bULL	/* "kthrotld", as a word: block/blk-throttle.c */

/* Does the task create requests that a control group's limit has delayed? */
static __always_inline bool lets_go_of_held(struct task_struct *task)
{
	struct task_struct___worker *of = (void *)task;
	struct kthread *kthread;
	struct worker *worker;
	__u64 name = 0;

	if (!(task->flags & PF_WQ_WORKER) || !bpf_core_field_exists(of->worker_private))
		return false;
	kthread = BPF_CORE_READ(of, worker_private);
	worker = BPF_CORE_READ(kthread, data);
	bpf_probe_read_kernel(&name, sizeof(name), (void *)BPF_CORE_READ(worker, current_pwq, wq) +
						   bpf_core_field_offset(struct workqueue_struct, name));
	return name == KTHROTLD;
}

/*
 * If the request's first page was asked for long before, the request belongs to that thread. An earlier use of the
 * page does not matter: it was added to the cache again since. The buffer of a direct read is in no cache.
 */
static __always_inline bool look_for_reader(struct request___io *rq, struct flight *f)
{
	struct page *page = BPF_CORE_READ(rq, bio, bi_io_vec, bv_page);
	struct reader *r;
	unsigned long mapping;
	__u64 key;

	if (f->op != REQ_OP_READ || !page)
		return false;
	page = head_of(page);
	key = (__u64)page;
	mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	r = mapping && !(mapping & 3) ? bpf_map_lookup_elem(&readers, &key) : NULL;
	if (!r || f->start_ns < r->asked_ns + HELD_MIN_NS)
		return false;
	f->asked_ns = r->asked_ns;
	f->pid = r->pid;
	f->tid = r->tid;
	f->is_kernel = 0;
	__builtin_memcpy(f->comm, r->comm, sizeof(r->comm));
	return r->is_wanted;
}

static __always_inline int begin(void *ctx, struct request___io *rq, bool is_issue)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 key = (__u64)rq, now = bpf_ktime_get_ns();
	__u32 zero = 0;
	struct buffer *b = bpf_map_lookup_elem(&block_buffers, &zero);
	bool is_kernel = task->flags & (PF_KTHREAD | PF_IO_WORKER),
	     is_ours = is_wanted(task);
	struct inode *inode = NULL;

	if (!b || !is_open || (!is_ours && !is_kernel))
		return 0;
	__builtin_memset(&b->flight, 0, sizeof(b->flight));
	b->flight.number = __sync_fetch_and_add(&last_number, 1) + 1;
	b->flight.start_ns = now;
	b->flight.issue_ns = is_issue ? now : 0;
	b->flight.bytes = BPF_CORE_READ(rq, __data_len);
	b->flight.sector = BPF_CORE_READ(rq, __sector);
	b->flight.op = BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK;
	b->flight.pid = task->tgid;
	b->flight.tid = task->pid;
	b->flight.is_kernel = is_kernel;
	BPF_CORE_READ_INTO(&b->flight.comm, task, comm);
	if (bpf_core_field_exists(rq->q->disk))
		bpf_probe_read_kernel_str(b->flight.disk, BLOCK_NAME_LEN, BPF_CORE_READ(rq, q, disk, disk_name));
	if (want_file && bpf_core_field_exists(rq->q->disk))
		inode = name_file(rq, b->flight.file);
	if (is_kernel && inode && look_for_dirtier(inode, &b->flight))
		is_ours = true;
	if (is_kernel) {
		b->flight.is_held = lets_go_of_held(task);
		is_ours |= look_for_reader(rq, &b->flight);
	}
	if (!is_ours)
		return 0;
	if (want_kstack || want_ustack) {
		b->flight.has_stack = send_stack(ctx, task, b);
		if (!b->flight.has_stack)
			count(BLOCK_LOST_STACK);
	}
	if (bpf_map_lookup_elem(&flights, &key))
		count(BLOCK_UNSEEN);
	if (bpf_map_update_elem(&flights, &key, &b->flight, BPF_ANY))
		count(BLOCK_LOST_ROOM);
	return 0;
}

/*
 * A write with a flush around it (FUA) completes once, continues in the flush sequence, and completes once more: the
 * disk counts the second time.
 */
static __always_inline bool is_in_sequence(struct request___io *rq)
{
	__u32 bit = RQF_FLUSH_SEQ;

	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		bit = bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	return BPF_CORE_READ(rq, rq_flags) >> bit & 1;
}

static __always_inline int end(struct request___io *rq)
{
	__u64 key = (__u64)rq;
	struct flight *f = bpf_map_lookup_elem(&flights, &key);
	struct block_rec_done *rec;

	if (!is_open || is_in_sequence(rq))
		return 0;
	if (!f) {
		/* the kernel's own flushes, and drivers' commands, belong to no thread and have no start */
		if ((BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK) < REQ_OP_DRV_IN &&
		    (BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK) != REQ_OP_FLUSH)
			count(BLOCK_OPEN_AT_START);
		return 0;
	}
	rec = NULL;
	if (io_ring_enter()) {
		rec = bpf_ringbuf_reserve(&block_ring, sizeof(*rec), 0);
		io_ring_leave();
	}
	/* one test for both: Linux 6.1 does not recognise the same pointer at a second one */
	if (rec) {
		rec->type = BLOCK_REC_DONE;
		rec->op = f->op;
		rec->number = f->number;
		rec->asked_ns = f->asked_ns;
		rec->start_ns = f->start_ns;
		rec->issue_ns = f->issue_ns;
		rec->done_ns = bpf_ktime_get_ns();
		rec->bytes = f->bytes;
		rec->sector = f->sector;
		rec->pid = f->pid;
		rec->tid = f->tid;
		rec->has_stack = f->has_stack;
		rec->is_kernel = f->is_kernel;
		rec->dirtier = f->dirtier;
		rec->is_held = f->is_held || f->asked_ns;
		__builtin_memcpy(rec->dirtier_comm, f->dirtier_comm, sizeof(rec->dirtier_comm));
		__builtin_memcpy(rec->comm, f->comm, sizeof(rec->comm));
		__builtin_memcpy(rec->disk, f->disk, sizeof(rec->disk));
		__builtin_memcpy(rec->file, f->file, sizeof(rec->file));
		bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
		count(BLOCK_DONE);
	} else {
		count(BLOCK_LOST_DONE);
	}
	bpf_map_delete_elem(&flights, &key);
	return 0;
}

SEC("tp_btf/block_io_start")
int block_start(__u64 *ctx)
{
	return begin(ctx, (struct request___io *)ctx[0], false);
}

SEC("tp_btf/block_rq_insert")
int block_insert(__u64 *ctx)
{
	__u64 key = ctx[0];

	if (is_same((struct request___io *)key, bpf_map_lookup_elem(&flights, &key)))
		return 0;
	return begin(ctx, (struct request___io *)ctx[0], false);
}

static __always_inline int issue(__u64 *ctx, bool may_begin)
{
	__u64 key = ctx[0];
	struct flight *f = bpf_map_lookup_elem(&flights, &key);

	if (!f)
		return may_begin ? begin(ctx, (struct request___io *)ctx[0], true) : 0;
	f->issue_ns = bpf_ktime_get_ns();
	/* bios may have been merged into it meanwhile */
	f->bytes = BPF_CORE_READ((struct request___io *)key, __data_len);
	f->sector = BPF_CORE_READ((struct request___io *)key, __sector);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int block_issue(__u64 *ctx)
{
	return issue(ctx, false);
}

/* Where block_io_start is missing, for requests that are issued at once. */
SEC("tp_btf/block_rq_issue")
int block_issue_or_start(__u64 *ctx)
{
	return issue(ctx, true);
}

SEC("tp_btf/block_rq_merge")
int block_merge(__u64 *ctx)
{
	__u64 key = ctx[0];

	if (!bpf_map_delete_elem(&flights, &key))
		count(BLOCK_MERGED);
	return 0;
}

SEC("tp_btf/block_io_done")
int block_done(__u64 *ctx)
{
	return end((struct request___io *)ctx[0]);
}

/* Its last part completes it. */
SEC("tp_btf/block_rq_complete")
int block_complete(__u64 *ctx)
{
	struct request___io *rq = (struct request___io *)ctx[0];

	return (__u32)ctx[2] < BPF_CORE_READ(rq, __data_len) ? 0 : end(rq);
}
