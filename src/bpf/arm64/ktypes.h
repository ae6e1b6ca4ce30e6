/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_KTYPES_H
#define BPF_ARM64_KTYPES_H

/* Included by bpf/ktypes.h, which reads fields by CO-RE. */
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;		/* the first argument of a system call, whose result overwrites regs[0] */
	__s32 syscallno;	/* -1: not in a system call */
};

/* Of a thread that is off CPU: its saved kernel stack pointer. */
struct cpu_context {
	unsigned long fp, sp, pc;
};

struct user_words {
	unsigned long tp_value;
};

struct thread_struct {
	struct cpu_context cpu_context;
	struct user_words uw;	/* anonymous in the kernel */
};

#define PSR_MODE32_BIT 0x10	/* arch/arm64/include/uapi/asm/ptrace.h */

#endif
