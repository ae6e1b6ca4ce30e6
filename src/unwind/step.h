/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the rules of unwind tables mean, in plain C, in step_NAME.c for each architecture: bpf/unwind.bpf.h follows
 * them the same way, within the kernel.
 */

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

/* From a frame to its caller, by a rule; *regs changes only on success. */
typedef enum unwind_step (*unwind_step_fn)(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx);
/* The same without one: by the frame pointer, or by what the code is. */
typedef enum unwind_step (*unwind_step_fp_fn)(struct unwind_regs *regs, unwind_read_fn read, void *ctx);

#endif
