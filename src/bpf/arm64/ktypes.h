/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_KTYPES_H
#define BPF_ARM64_KTYPES_H

/* Included by bpf/ktypes.h, which reads fields by CO-RE. */
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;		/* the first argument of a system call, whose result goes to regs[0] */
	__s32 syscallno;	/* -1: it is in none */
};

/* Of a thread that is off CPU: where it left its kernel stack. */
struct cpu_context {
	unsigned long fp, sp, pc;
};

struct user_words {
	unsigned long tp_value;
};

struct thread_struct {
	struct cpu_context cpu_context;
	struct user_words uw;	/* the kernel's has no name */
};

#define PSR_MODE32_BIT 0x10	/* arch/arm64/include/uapi/asm/ptrace.h */

#endif
