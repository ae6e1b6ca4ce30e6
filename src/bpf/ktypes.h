/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's types, reduced to the fields we read; CO-RE finds the real offsets. */
#ifndef BPF_KTYPES_H
#define BPF_KTYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

/* include/uapi/linux/bpf.h, which cannot be included beside our own types */
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1ULL << 0 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_USER_STACK = 1ULL << 8 };
enum { BPF_RB_NO_WAKEUP = 1ULL << 0, BPF_RB_FORCE_WAKEUP = 1ULL << 1 };
enum { BPF_F_NO_PREALLOC = 1U << 0, BPF_F_MMAPABLE = 1U << 10 };
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

/* Looked up by name at load time; the number is the kernel's own. */
enum bpf_func_id { BPF_FUNC_loop = 181 };

/* include/linux/sched.h; values hold for all kernels with BTF unless noted */
#define PF_KTHREAD 0x00200000
#define PF_IO_WORKER 0x00000010		/* 5.12; io_uring workers have no user registers */
#define PF_USER_WORKER 0x00004000	/* 6.4, vhost */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4		/* __TASK_STOPPED */
#define TASK_TRACED 0x8			/* __TASK_TRACED */
#define TASK_PARKED 0x40
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define TASK_NOLOAD 0x400
#define TASK_FROZEN 0x8000		/* 6.1 (f5d39b020809); unused bits in older kernels */
#define RT_PRIO_END 100			/* MAX_RT_PRIO: real-time threads are below it, deadline threads below 0 */
#define TASK_ON_RQ_MIGRATING 2		/* of on_rq: moving to another run queue */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];	/* 6.1; before, u64 ancestor_ids[] */
};

/* Before Linux 6.1 (7f203bc89eb6 "cgroup: Replace cgroup->ancestor_ids[] with ->ancestors[]"). */
struct cgroup___old {
	__u64 ancestor_ids[1];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

/* A cgroup's run queue on one CPU; the throttling fields only with CONFIG_CFS_BANDWIDTH. */
struct cfs_rq {
	__u64 throttled_clock_self_time;	/* 6.6 (677ea015f231) */
	__u64 throttled_clock_pelt_time;	/* 5.19 (64eaf50731ac) */
	int throttle_count;
};

struct thread_info {
	unsigned int cpu;	/* x86: 5.16 (bcf9033e5449); elsewhere before */
};

struct sched_entity {
	struct cfs_rq *cfs_rq;	/* with CONFIG_FAIR_GROUP_SCHED */
	__u64 sum_exec_runtime;
	unsigned char sched_delayed;	/* 6.12 (152e11f6df29 "sched/fair: Implement delayed dequeue") */
};

/* With CONFIG_SCHED_INFO. */
struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};

struct mm_struct {
	unsigned long *pgd;
	unsigned long task_size;	/* end of the program's address space */
	unsigned long start_code;
	int mm_lock_seq;		/* incremented by writers; 6.4 (5e31275cc997), with CONFIG_PER_VMA_LOCK */
};

/* Since Linux 6.14 (eb449bd96954 "mm: convert mm_lock_seq to a proper seqcount"). */
struct seqcount {
	unsigned int sequence;
};

struct mm_struct___seqcount {
	struct seqcount mm_lock_seq;
};

#ifdef __TARGET_ARCH_x86
#include "bpf/x86/ktypes.h"
#else
#include "bpf/arm64/ktypes.h"
#endif

struct list_head {
	struct list_head *next;
};

struct files_struct;
struct fs_struct;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;	/* 5.14 (2f064a59a11f); `state` before */
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int prio;
	struct sched_entity se;
	struct sched_info sched_info;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	struct mm_struct *mm;
	__u64 start_time;
	__u64 start_boottime;
	struct pid *thread_pid;
	unsigned long nvcsw, nivcsw;
	char comm[16];
	struct css_set *cgroups;
	struct thread_struct thread;
	void *stack;
	struct files_struct *files;
	struct fs_struct *fs;
	struct list_head children, sibling;
	int exit_state, exit_code;
	int softirq_disable_cnt;	/* with CONFIG_PREEMPT_RT only */
	unsigned int in_execve : 1;
	unsigned char throttled;	/* 6.18, with CONFIG_CFS_BANDWIDTH */
};

struct timespec64 {
	__s64 tv_sec;
};

struct task_struct___old {
	long state;
};

/* Since Linux 7: see bpf/running.bpf.h. */
struct task_struct___bytes {
	unsigned char on_cpu, on_rq;
};

struct task_struct___with_cpu {
	unsigned int cpu;
};

struct irqaction {
	const char *name;
};

struct gendisk {
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;	/* 5.15 (d152c682f03c) */
};

struct request {
	struct request_queue *q;
};

struct linux_binprm;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
