/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_CODE_X86_64_H
#define UNWIND_CODE_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an instruction makes of the frame of the function it is in, and where it goes on. */

enum code_bp {
	CODE_BP_SAME,	/* the caller's still */
	CODE_BP_SAVED,	/* at CFA + bp_at */
	CODE_BP_LOST,
};

/* Of the canonical frame address (CFA), which is what the stack pointer was before the call. */
struct code_state {
	int32_t sp_off;	/* CFA = rsp + sp_off */
	int32_t bp_off;	/* CFA = rbp + bp_off */
	int32_t bp_at;
	uint8_t bp;	/* enum code_bp: where the caller's rbp is */
	bool has_sp, has_bp;	/* those two are known */
	bool is_outermost;	/* rbp was set to 0, by which the psABI marks the outermost frame */
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
};

/* At the first instruction of a function. */
struct code_state code_x86_64_entry(void);
/* Over the instruction at vaddr, of which and of what follows `len` bytes are there. */
struct code_step code_x86_64_step(const uint8_t *code, size_t len, uint64_t vaddr, struct code_state *state);
/* The rule of struct unwind_row; 0: not known. */
uint32_t code_x86_64_rule(const struct code_state *state);

#endif
