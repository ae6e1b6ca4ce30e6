/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind_abi.h"
#include "unwind/cfi.h"

/*
 * What the rules of unwind tables mean, in plain C, in step_NAME.c for each architecture: bpf/walk/unwind.bpf.h follows
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

/* What an instruction makes of the frame of the function it is in, and where it goes on. */

enum code_where {
	CODE_KEPT,	/* where it was as the function began */
	CODE_SAVED,	/* at CFA + an offset */
	CODE_LOST,
};

/* Of the canonical frame address (CFA), which is what the stack pointer was before the call. */
struct code_state {
	int32_t sp_off;	/* CFA = stack pointer + sp_off */
	int32_t bp_off;	/* CFA = frame pointer + bp_off */
	int32_t bp_at, ra_at;
	uint8_t bp, ra;	/* enum code_where: the caller's frame pointer, and the return address where a register has it */
	bool has_sp, has_bp;	/* those two are known */
	bool is_outermost;	/* set up as the ABI marks the outermost frame */
	uint8_t page_reg;	/* arm64: has the address of a page */
	uint64_t page;
};

enum code_flow {
	CODE_STOPS,	/* or nothing is known of what follows */
	CODE_GOES_ON,
	CODE_BRANCHES,	/* to the target, too */
	CODE_JUMPS,	/* to the target */
	CODE_JUMPS_ANYWHERE,
	CODE_CALLS,	/* the target, or any function where that is 0; and goes on */
	CODE_RETURNS,
};

struct code_step {
	size_t bytes;	/* 0: unknown */
	enum code_flow flow;
	uint64_t target;
	uint64_t reference;	/* an address that is taken; 0: none */
	uint64_t constant;	/* put in a register: an address, too, where a program is loaded where it is linked to */
};

/* The address that it takes; is_fixed: of a program that is loaded where it is linked to.  0: none. */
static inline uint64_t code_step_taken(const struct code_step *step, bool is_fixed)
{
	return step->reference || !is_fixed ? step->reference : step->constant;
}

#define CODE_NEAR 130

/* One of these for each architecture that this is done for. */
struct code_arch {
	unsigned insn_bytes;	/* of the shortest instruction; they begin at multiples of it */
	/* What leads far ends with 4 bytes that say how far, or which address; all else leads at most CODE_NEAR bytes on. */
	bool leads_by_words;
	uint32_t relative, irelative;	/* types of relocations with nothing but an address */
	/* At the first instruction of a function, and where it may return. */
	struct code_state entry;
	bool (*is_balanced)(const struct code_state *state);
	/* Over the instruction at vaddr, of which and of what follows `len` bytes are there. */
	struct code_step (*step)(const uint8_t *code, size_t len, uint64_t vaddr, struct code_state *state);
	/* Does an instruction begin there that fills up to the next function? */
	bool (*is_padding)(const uint8_t *code, size_t len);
	/* Is it the function that a signal's handler returns to?  What its rule is, then. */
	bool (*is_signal_return)(const uint8_t *code, size_t len, uint32_t *ret_rule);
};

extern const struct code_arch code_x86_64, code_aarch64;

struct unwind_arch;
/* The rule of struct unwind_row; 0: not known. */
uint32_t code_rule(const struct code_state *state, const struct unwind_arch *arch);

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

/* Making the rules of abi/unwind_abi.h. */

static inline uint32_t unwind_make_rule(enum unwind_cfa kind, uint32_t arg)
{
	return (uint32_t)kind << 16 | (arg & 0xffff);
}

/* value / 8 as a signed field of `bits` bits; false when it does not fit. */
static inline bool unwind_scaled(int64_t value, unsigned bits, uint32_t *ret)
{
	int64_t limit = (int64_t)1 << (bits - 1);

	if (value % 8 || value / 8 < -limit || value / 8 >= limit)
		return false;
	*ret = (uint32_t)(value / 8) & ((1u << bits) - 1);
	return true;
}

static inline uint32_t unwind_make_offset_rule(enum unwind_cfa kind, int64_t off)
{
	uint32_t arg;

	return unwind_scaled(off, 16, &arg) ? unwind_make_rule(kind, arg) : unwind_make_rule(UNWIND_CFA_COMPLEX, 0);
}

#endif
