/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offcpu sample: an iterator over all threads, which runs only while user space reads its file, once for each look. A
 * thread that has not run since the last look gets a short record. For others the kernel stack, the registers and the
 * innermost part of the user stack are added; user space walks the latter.
 */
#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "abi/look_abi.h"
#include "bpf/cgroups.bpf.h"
#include "features/io/stack.bpf.h"
#include "bpf/walk/regs.bpf.h"
#include "bpf/running.bpf.h"

static __always_inline __u64 word_at(__u64 addr)
{
	__u64 word;

	return bpf_probe_read_kernel(&word, sizeof(word), (const void *)addr) ? 0 : word;
}

const volatile __u32 page_shift;	/* log2 of the kernel's page size */
#define PAGE_SHIFT page_shift
#include "bpf/walk/page_view.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 pidns_inum;	/* the tracer's pid namespace; 0: the initial one */
const volatile bool by_tgid, by_tid, by_cgroup, want_user, want_kernel, want_ustack, want_kstack;
const volatile __u32 self_tgid;

MAP(wanted_tgids, HASH, __u32, __u8, 4096);
MAP(wanted_tids, HASH, __u32, __u8, 4096);

/* Number of times a thread had got a CPU when its stacks were last sent; keyed by its start and number. */
MAP(told, LRU_HASH, __u64, __u64, 131072);

/* There is one reader at a time, so one buffer. */
MAP(buffers, ARRAY, __u32, struct look_sample, 1);

/* What the timers found: threads on a CPU. */
MAP(cpu_buffers, PERCPU_ARRAY, __u32, struct look_sample, 1);
RING(ran, 4 << 20);

__u64 ran_lost = 0;

/* Used by the reader only. */
static struct page_view view;

/* Its id in our pid namespace; 0: it is outside. */
static __always_inline __u32 id_in_namespace(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i < 8; i++) {
		struct upid upid;

		if (i > level)
			break;
		if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]))
			break;
		if (BPF_CORE_READ(upid.ns, ns.inum) == pidns_inum)
			return upid.nr;
	}
	return 0;
}

static __always_inline bool identify(struct task_struct *task, struct look_record *rec)
{
	rec->tid = task->pid;
	rec->pid = task->tgid;
	if (pidns_inum) {
		rec->tid = id_in_namespace(task);
		rec->pid = id_in_namespace(BPF_CORE_READ(task, group_leader));
	}
	return rec->tid && rec->pid;
}

static __always_inline bool is_wanted(struct task_struct *task, const struct look_record *rec)
{
	__u32 pid = rec->pid, tid = rec->tid;

	if (pid == self_tgid || (task->flags & PF_KTHREAD ? !want_kernel : !want_user))
		return false;
	if (by_cgroup && !in_cgroups(task))
		return false;
	if (!by_tgid && !by_tid)
		return true;
	return (by_tgid && bpf_map_lookup_elem(&wanted_tgids, &pid)) ||
	       (by_tid && bpf_map_lookup_elem(&wanted_tids, &tid));
}

static __always_inline void read_counts(struct task_struct *task, struct look_record *rec)
{
	rec->run_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	if (bpf_core_field_exists(task->sched_info)) {
		rec->queue_ns = BPF_CORE_READ(task, sched_info.run_delay);
		rec->runs = BPF_CORE_READ(task, sched_info.pcount);
	} else {
		rec->runs = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	}
}

static __always_inline __u32 state_now(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (__u32)BPF_CORE_READ((struct task_struct___old *)task, state);
}

#define LOOK_STACK_WORDS (LOOK_STACK_BYTES / sizeof(__u64))

struct top_of_stack {
	__u64 sp, *words;
	__u32 cnt;
};

static long read_word(__u32 i, struct top_of_stack *t)
{
	if (i >= LOOK_STACK_WORDS || !viewed_word(&view, t->sp + i * sizeof(__u64), &t->words[i]))
		return 1;
	t->cnt++;
	return 0;
}

/* A page that is not in memory may belong to a file system that never answers: it is left out. */
static __always_inline bool read_stack(struct task_struct *task, __u64 sp, __u64 *words)
{
	struct top_of_stack t = { .sp = sp, .words = words };

	if (!direct_map)
		return false;
	view.pgd = (__u64)BPF_CORE_READ(task, mm, pgd);
	view.user = view.page = view.moved = 0;
	bpf_loop(LOOK_STACK_WORDS, read_word, &t, 0);
	return t.cnt == LOOK_STACK_WORDS && view_held(&view);
}

static __always_inline void read_user(struct task_struct *task, struct look_sample *b)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!regs || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return;
	b->rec.ip = BPF_CORE_READ(regs, REG_IP);
	b->rec.sp = BPF_CORE_READ(regs, REG_SP);
	b->rec.bp = BPF_CORE_READ(regs, REG_BP);
	b->rec.link = READ_LINK(regs);
	if (b->rec.sp && read_stack(task, b->rec.sp, (__u64 *)b->stack))
		b->rec.stack_bytes = LOOK_STACK_BYTES;
}

static __always_inline void read_stacks(struct task_struct *task, struct look_sample *b)
{
	__u64 runs = b->rec.runs;

	if (want_kstack) {
		long bytes = bpf_get_task_stack(task, b->frame, LOOK_FRAMES_MAX * sizeof(__u64), 0);

		b->rec.frames = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
	}
	if (want_ustack)
		read_user(task, b);
	read_counts(task, &b->rec);
	if (b->rec.runs != runs || is_on_cpu(task))
		b->rec.flags |= LOOK_MOVED;
}

static __always_inline void fill_who(struct task_struct *task, struct look_record *rec)
{
	rec->start_ns = BPF_CORE_READ(task, start_boottime);
	rec->code = BPF_CORE_READ(task, mm, start_code);
	rec->ip = rec->sp = rec->bp = rec->link = 0;
	rec->frames = rec->stack_bytes = 0;
	rec->flags = task->flags & PF_KTHREAD ? LOOK_KERNEL : 0;
	BPF_CORE_READ_INTO(&rec->comm, task, comm);
}

static __always_inline void fill(struct task_struct *task, struct look_sample *b, __u64 key)
{
	struct look_record *rec = &b->rec;
	__u64 *last = bpf_map_lookup_elem(&told, &key);

	fill_who(task, rec);
	read_counts(task, rec);
	rec->state = state_now(task);
	if (is_on_cpu(task))
		rec->flags |= LOOK_RUNS;
	else if (last && *last == rec->runs)
		rec->flags |= LOOK_STOOD;
	else
		read_stacks(task, b);
}

/* If the file's buffer is full the kernel repeats the thread, so a record counts as sent only after the write. */
static __always_inline bool tell(struct seq_file *seq, struct look_sample *b)
{
	__u32 frames = b->rec.frames;

	if (bpf_seq_write(seq, &b->rec, sizeof(b->rec)))
		return false;
	if (frames > LOOK_FRAMES_MAX)
		return true;
	if (frames && bpf_seq_write(seq, b->frame, frames * sizeof(__u64)))
		return false;
	return !b->rec.stack_bytes || !bpf_seq_write(seq, b->stack, LOOK_STACK_BYTES);
}

SEC("iter/task")
int look_at_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 zero = 0;
	struct look_sample *b = bpf_map_lookup_elem(&buffers, &zero);
	__u64 key, runs;

	if (!task || !b || !task->pid || task->exit_state || !identify(task, &b->rec) || !is_wanted(task, &b->rec))
		return 0;
	key = BPF_CORE_READ(task, start_boottime) * 0x9e3779b97f4a7c15ULL ^ task->pid;
	fill(task, b, key);
	if (!tell(ctx->meta->seq, b))
		return 0;
	/* the stacks of a running thread change before it sleeps with this same count */
	runs = b->rec.flags & (LOOK_RUNS | LOOK_MOVED) ? ~0ULL : b->rec.runs;
	if (!(b->rec.flags & LOOK_STOOD))
		bpf_map_update_elem(&told, &key, &runs, BPF_ANY);
	return 0;
}

/* User registers of a thread on a CPU: interrupted in user mode, or in a system call. */
static __always_inline void read_running(struct oncpu_context *ctx, struct task_struct *task, struct look_sample *b)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER) || !regs)
		return;
	if (ran_in_user_mode(ctx)) {
		b->rec.ip = ctx->REG_IP;
		b->rec.sp = ctx->REG_SP;
		b->rec.bp = ctx->REG_BP;
		b->rec.link = LINK_OF(ctx);
	} else {
		b->rec.ip = BPF_CORE_READ(regs, REG_IP);
		b->rec.sp = BPF_CORE_READ(regs, REG_SP);
		b->rec.bp = BPF_CORE_READ(regs, REG_BP);
		b->rec.link = READ_LINK(regs);
	}
	if (b->rec.sp && !bpf_probe_read_user(b->stack, LOOK_STACK_BYTES, (void *)b->rec.sp))
		b->rec.stack_bytes = LOOK_STACK_BYTES;
}

SEC("perf_event")
int look_on_cpu(struct oncpu_context *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0;
	struct look_sample *b = bpf_map_lookup_elem(&cpu_buffers, &zero);

	if (!b || !task->pid || task->exit_state || !identify(task, &b->rec) || !is_wanted(task, &b->rec))
		return 0;
	fill_who(task, &b->rec);
	b->rec.flags |= LOOK_RUNS;
	if (want_kstack && !ran_in_user_mode(ctx)) {
		long bytes = bpf_get_stack(ctx, b->frame, LOOK_FRAMES_MAX * sizeof(__u64), 0);

		b->rec.frames = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
	}
	if (want_ustack)
		read_running(ctx, task, b);
	if (!io_ring_send(&ran, b, sizeof(*b)))
		__sync_fetch_and_add(&ran_lost, 1);
	return 0;
}
