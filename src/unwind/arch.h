/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* All that depends on the machine; one of these per architecture, in arch_NAME.c. */

#define UNWIND_REG_MAX 32

/* Registers by DWARF number. */
struct unwind_regs {
	uint64_t ip;
	uint64_t reg[UNWIND_REG_MAX];
	uint32_t known;	/* bit n: reg[n] is known */
};

/* Reads memory of the walked thread; false when any byte cannot be read. */
typedef bool (*unwind_read_fn)(void *ctx, uint64_t addr, void *ret, size_t bytes);

enum unwind_step {
	UNWIND_STEP_OK,
	UNWIND_STEP_SIGNAL,	/* done, and ip is where a signal struck: no return address */
	UNWIND_STEP_END,	/* this is the outermost frame */
	UNWIND_STEP_NO_INFO,
	UNWIND_STEP_COMPLEX,
	UNWIND_STEP_UNKNOWN_REG,	/* needs a register that is not known in this frame */
	UNWIND_STEP_MEMORY,	/* the stack could not be read */
	UNWIND_STEP_BACKWARDS,	/* the caller's frame would not lie above: the rule or the stack is wrong */
};

struct unwind_arch {
	uint16_t machine;	/* EM_* */
	uint8_t ra_reg, sp_reg, bp_reg;	/* DWARF numbers */
	uint8_t padding_bytes;	/* most that lies between functions for alignment */
	/* The rule of struct unwind_row for a state. */
	uint32_t (*compile)(const struct cfi_state *state);
	/* From a frame to its caller, by a rule and by the frame pointer; *regs changes only on success. */
	enum unwind_step (*step)(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx);
	enum unwind_step (*step_fp)(struct unwind_regs *regs, unwind_read_fn read, void *ctx);
};

/* NULL for a machine we have no tables for. */
const struct unwind_arch *unwind_arch_of(uint16_t machine);

#endif
