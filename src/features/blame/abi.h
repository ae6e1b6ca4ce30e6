/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BLAME_ABI_H
#define BLAME_ABI_H

/*
 * Run-queue blame: who held the CPU while a thread stood in its queue.  Summed in the kernel
 * under the sufferer and the culprit, read out by user space.
 */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

#define BLAME_COMM_LEN 16

enum blame_kind {
	BLAME_THREAD = 1,
	BLAME_IDLE,		/* nobody: the CPU was idle, on its way to the thread that was woken */
	BLAME_THROTTLED,	/* nobody: the thread's cgroup had used up its share of CPU time */
};

struct blame_key {
	__u64 culprit;	/* the threads of one name in one process; 0: none */
	__u32 tno;	/* of the sufferer, see offcpu_rec_thread */
	__u32 kind;	/* enum blame_kind */
};

/* What is not blamed on anybody is in no sum: the sufferer's account says how much there is. */
struct blame_sum {
	__u64 runnable_ns;
	__u64 preempted_ns;
	__u64 stretch_cnt;	/* of the culprit on the CPU meanwhile */
	__u32 pid;
	__u32 tid;		/* 0: several threads of that name */
	char comm[BLAME_COMM_LEN];
};

/*
 * The same of one wait, for `offcpu events`: not summed but sent, each part before the wait's own record.  A
 * culprit may have several, of the queues of several CPUs too.
 */
struct offcpu_rec_blame {
	__u32 type;
	__u32 kind;		/* enum blame_kind */
	__u32 tid;		/* of the sufferer */
	__u32 pad;
	__u64 since_ns;		/* when its wait began */
	__u64 ns;
	__u64 stretch_cnt;
	__u32 by_pid;
	__u32 by_tid;		/* 0: several threads of that name, or nobody */
	char by_comm[BLAME_COMM_LEN];
};

#endif
