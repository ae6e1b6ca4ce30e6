/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind_abi.h"
#include "unwind/cfi.h"

/*
 * The meaning of unwind rules, in plain C, in step_NAME.c for each architecture: bpf/walk/unwind.bpf.h interprets them
 * the same way, in the kernel.
 */

#define UNWIND_REG_MAX 32

/* Registers by DWARF number. */
struct unwind_regs {
	uint64_t ip;
	uint64_t reg[UNWIND_REG_MAX];
	uint32_t known;	/* bit n: reg[n] is known */
};

/* Reads memory of the walked thread; false when any byte is unreadable. */
typedef bool (*unwind_read_fn)(void *ctx, uint64_t addr, void *ret, size_t bytes);

enum unwind_step {
	UNWIND_STEP_OK,
	UNWIND_STEP_SIGNAL,	/* done, and ip was interrupted by a signal: it is not a return address */
	UNWIND_STEP_END,	/* this is the outermost frame */
	UNWIND_STEP_NO_INFO,
	UNWIND_STEP_COMPLEX,
	UNWIND_STEP_UNKNOWN_REG,	/* needs a register that is not known in this frame */
	UNWIND_STEP_MEMORY,	/* the stack is unreadable */
	UNWIND_STEP_BACKWARDS,	/* the caller's frame would not be above: the rule or the stack is wrong */
};

/* From a frame to its caller, by a rule; *regs changes only on success. */
typedef enum unwind_step (*unwind_step_fn)(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx);
/* The same without a rule: by the frame pointer, or by recognising the code. */
typedef enum unwind_step (*unwind_step_fp_fn)(struct unwind_regs *regs, unwind_read_fn read, void *ctx);

/* The effect of an instruction on its function's frame, and where it continues. */

enum code_where {
	CODE_KEPT,	/* as at the start of the function */
	CODE_SAVED,	/* at CFA + an offset */
	CODE_LOST,
};

/* Relative to the canonical frame address (CFA), which is the stack pointer before the call. */
struct code_state {
	int32_t sp_off;	/* CFA = stack pointer + sp_off */
	int32_t bp_off;	/* CFA = frame pointer + bp_off */
	int32_t bp_at, ra_at;
	uint8_t bp, ra;	/* enum code_where: caller's frame pointer, return address if in a register */
	bool has_sp, has_bp;	/* sp_off is known, bp_off is known */
	bool is_outermost;	/* prepared as the ABI marks the outermost frame */
	uint8_t page_reg;	/* arm64: register with the address of a page */
	uint64_t page;
};

enum code_flow {
	CODE_STOPS,	/* or what follows is unknown */
	CODE_GOES_ON,
	CODE_BRANCHES,	/* to the target or the next one */
	CODE_JUMPS,	/* to the target only */
	CODE_JUMPS_ANYWHERE,
	CODE_CALLS,	/* to the target, or any function if that is 0; then to the next one */
	CODE_RETURNS,
};

struct code_step {
	size_t bytes;	/* 0: unknown */
	enum code_flow flow;
	uint64_t target;
	uint64_t reference;	/* an address that it takes; 0: none */
	uint64_t constant;	/* loaded into a register: also an address, in a program that is not relocated */
};

/* The address that it takes; is_fixed: the program is not relocated. 0: none. */
static inline uint64_t code_step_taken(const struct code_step *step, bool is_fixed)
{
	return step->reference || !is_fixed ? step->reference : step->constant;
}

#define CODE_NEAR 130

/* Text without tables is supported on architectures that have this. */
struct code_arch {
	unsigned insn_bytes;	/* of the shortest instruction, and alignment of all */
	/* Far references end with 4 bytes of distance or address; all others reach at most CODE_NEAR bytes. */
	bool leads_by_words;
	uint32_t relative, irelative;	/* types of relocations that consist of just an address */
	/* State at the first instruction of a function, and at each return. */
	struct code_state entry;
	bool (*is_balanced)(const struct code_state *state);
	/* Over the instruction at vaddr; `len` bytes from there are available. */
	struct code_step (*step)(const uint8_t *code, size_t len, uint64_t vaddr, struct code_state *state);
	/* Does an instruction at code fill the space before the next function? */
	bool (*is_padding)(const uint8_t *code, size_t len);
	/* Is it the function to which a signal handler returns? Then *ret_rule is its rule. */
	bool (*is_signal_return)(const uint8_t *code, size_t len, uint32_t *ret_rule);
};

extern const struct code_arch code_x86_64, code_aarch64;

struct unwind_arch;
/* The rule in struct unwind_row; 0: not known. */
uint32_t code_rule(const struct code_state *state, const struct unwind_arch *arch);

/* Everything that depends on the machine; one for each architecture, in arch_NAME.c. */

struct unwind_arch {
	uint16_t machine;	/* EM_* */
	uint8_t ra_reg, sp_reg, bp_reg;	/* DWARF numbers */
	uint8_t padding_bytes;	/* maximal alignment padding between functions */
	/* The rule in struct unwind_row for a state. */
	uint32_t (*compile)(const struct cfi_state *state);
	unwind_step_fn step;
	unwind_step_fp_fn step_fp;
	const struct code_arch *code;	/* for text without tables */
	bool signs_returns;	/* has DW_CFA_AARCH64_negate_ra_state */
	bool finds_frames;	/* a saved frame pointer can be recognised on the stack: see walk.c */
};

/* NULL for a machine without tables. */
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

/* Constructing the rules of abi/unwind_abi.h. */

static inline uint32_t unwind_make_rule(enum unwind_cfa kind, uint32_t arg)
{
	return (uint32_t)kind << 16 | (arg & 0xffff);
}

/* value / 8 as a signed field of `bits` bits; false if it does not fit. */
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
