/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/code_step.h"
#include "unwind/step.h"

/* All that depends on the machine; one of these per architecture, in arch_NAME.c. */

struct unwind_arch {
	uint16_t machine;	/* EM_* */
	uint8_t ra_reg, sp_reg, bp_reg;	/* DWARF numbers */
	uint8_t padding_bytes;	/* most that lies between functions for alignment */
	/* The rule of struct unwind_row for a state. */
	uint32_t (*compile)(const struct cfi_state *state);
	unwind_step_fn step;
	unwind_step_fp_fn step_fp;
	const struct code_arch *code;	/* text without tables */
	bool signs_returns;	/* has DW_CFA_AARCH64_negate_ra_state */
	bool finds_frames;	/* a saved frame pointer can be told on the stack: see walk.c */
};

/* NULL for a machine we have no tables for. */
const struct unwind_arch *unwind_arch_of(uint16_t machine);
/* This machine's. */
const struct unwind_arch *unwind_arch_here(void);

/* DWARF numbers; x0 to x28 are 0 to 28. */
enum { AARCH64_X29 = 29, AARCH64_X30 = 30, AARCH64_SP = 31 };

enum unwind_step unwind_aarch64_step(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx);
enum unwind_step unwind_aarch64_step_fp(struct unwind_regs *regs, unwind_read_fn read, void *ctx);

extern const struct unwind_arch unwind_arch_aarch64;

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
