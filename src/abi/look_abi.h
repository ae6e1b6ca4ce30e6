/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LOOK_ABI_H
#define LOOK_ABI_H

/* What src/bpf/look.bpf.c says of a thread at each look. User space reads it from the iterator's file. */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define LOOK_FRAMES_MAX 127
#define LOOK_STACK_BYTES 2048	/* of the user stack, from the stack pointer up; the rest is read when needed */
#define LOOK_COMM_LEN 16

enum look_flag {
	LOOK_KERNEL = 1 << 0,
	LOOK_RUNS = 1 << 1,	/* it is on a CPU */
	LOOK_STOOD = 1 << 2,	/* has not run since the last look, so its stacks are left out */
	LOOK_MOVED = 1 << 3,	/* ran while its stacks were read */
};

/* Followed by `frames` kernel addresses, innermost first, and `stack_bytes` bytes of user stack. */
struct look_record {
	__u32 pid, tid;
	__u64 start_ns;		/* since boot */
	__u64 code;		/* start of the program's code: changes with an exec */
	__u64 run_ns, queue_ns, runs;	/* as /proc/PID/schedstat has them */
	__u32 state;		/* TASK_* */
	__u32 flags;		/* enum look_flag */
	__u64 ip, sp, bp, link;	/* of user space; ip 0: none; link: arm64's return address of the innermost call */
	__u32 frames, stack_bytes;
	char comm[LOOK_COMM_LEN];
};

/* A thread that was on a CPU during the look: the same data in a record of fixed size. */
struct look_sample {
	struct look_record rec;
	__u64 frame[LOOK_FRAMES_MAX + 1];
	__u8 stack[LOOK_STACK_BYTES];
};

#endif
