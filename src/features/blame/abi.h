/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_BLAME_ABI_H
#define FEATURES_BLAME_ABI_H

/*
 * Run-queue blame: which thread held the CPU while another one was queued. Summed in the kernel by victim and culprit,
 * read by user space.
 */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define BLAME_COMM_LEN 16

enum blame_kind {
	BLAME_THREAD = 1,
	BLAME_IDLE,		/* no culprit: the CPU was idle, on its way to the woken thread */
	BLAME_THROTTLED,	/* no culprit: the thread's cgroup had used up its CPU quota */
};

struct blame_key {
	__u64 culprit;	/* threads of one name in one process; 0: none */
	__u32 tno;	/* of the victim, see offcpu_rec_thread */
	__u32 kind;	/* enum blame_kind */
};

/* Time without a known culprit is in no sum: the victim's account has the total. */
struct blame_sum {
	__u64 runnable_ns;
	__u64 preempted_ns;
	__u64 stretch_cnt;	/* stretches of the culprit on the CPU in that time */
	__u32 pid;
	__u32 tid;		/* 0: several threads of that name */
	char comm[BLAME_COMM_LEN];
};

/*
 * The same for one wait, for `offcpu events`: sent instead of summed, each part before the wait's own record. A
 * culprit may have several parts, also from run queues of several CPUs.
 */
struct offcpu_rec_blame {
	__u32 type;
	__u32 kind;		/* enum blame_kind */
	__u32 tid;		/* of the victim */
	__u32 pad;
	__u64 since_ns;		/* when its wait began */
	__u64 ns;
	__u64 stretch_cnt;
	__u32 by_pid;
	__u32 by_tid;		/* 0: several threads of that name, or no culprit */
	char by_comm[BLAME_COMM_LEN];
};

#endif
