/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_CODE_STEP_H
#define UNWIND_CODE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
