/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ARCH_X86_64_H
#define UNWIND_ARCH_X86_64_H

#include "unwind/arch.h"

/* DWARF numbers. */
enum {
	X86_64_RAX, X86_64_RDX, X86_64_RCX, X86_64_RBX, X86_64_RSI, X86_64_RDI, X86_64_RBP, X86_64_RSP,
	X86_64_R8, X86_64_R9, X86_64_R10, X86_64_R11, X86_64_R12, X86_64_R13, X86_64_R14, X86_64_R15,
	X86_64_RIP,
};

enum unwind_step unwind_x86_64_step(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx);
enum unwind_step unwind_x86_64_step_fp(struct unwind_regs *regs, unwind_read_fn read, void *ctx);

extern const struct unwind_arch unwind_arch_x86_64;

#endif
