/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_KTYPES_H
#define BPF_X86_KTYPES_H

/* Included by bpf/ktypes.h, which reads fields by CO-RE. */
struct pt_regs {
	unsigned long r8, r10, r14;
	unsigned long ax, bx, cx, dx, si, di;
	unsigned long orig_ax;	/* the system call's number */
	unsigned long bp;
	unsigned long ip;
	unsigned long cs;
	unsigned long sp;
};

struct thread_struct {
	unsigned long sp;	/* x86: saved stack pointer of a thread that is off CPU */
	unsigned long fsbase;	/* its thread pointer */
};

#define X86_USER32_CS 0x23	/* arch/x86/include/asm/segment.h: __USER32_CS */

#endif
