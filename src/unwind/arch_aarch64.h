/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ARCH_AARCH64_H
#define UNWIND_ARCH_AARCH64_H

#include "unwind/arch.h"

/* DWARF numbers; x0 to x28 are 0 to 28. */
enum { AARCH64_X29 = 29, AARCH64_X30 = 30, AARCH64_SP = 31 };

enum unwind_step unwind_aarch64_step(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx);
enum unwind_step unwind_aarch64_step_fp(struct unwind_regs *regs, unwind_read_fn read, void *ctx);

extern const struct unwind_arch unwind_arch_aarch64;

#endif
