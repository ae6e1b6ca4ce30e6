/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "abi/unwind_abi.h"
#include "unwind/arch.h"

#define FRAME_RANGE (8u << 20)	/* as in bpf/walk/unwind.bpf.h */
#define UCONTEXT_REGS 184	/* x0 to x30, sp, pc */
#define SIGNAL_RETURN 0xd4000001d2801168ULL	/* mov x8, #139 (rt_sigreturn); svc #0 */

static bool is_known(const struct unwind_regs *regs, uint32_t reg)
{
	return regs->known >> reg & 1;
}

/* Pointer authentication uses bits that addresses do not have: those above our own stack's. */
static uint64_t code_address(uint64_t word)
{
#ifdef __aarch64__
	uint64_t top = (uint64_t)(uintptr_t)__builtin_frame_address(0);
#else
	uint64_t top = 1ULL << 47;
#endif
	return word & ((2ULL << (63 - __builtin_clzll(top))) - 1);
}

static enum unwind_step step_context(uint64_t at, struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint64_t saved[33];

	if (!is_known(regs, AARCH64_SP))
		return UNWIND_STEP_UNKNOWN_REG;
	if (!read(ctx, at + UCONTEXT_REGS, saved, sizeof(saved)))
		return UNWIND_STEP_MEMORY;
	for (unsigned i = 0; i < 32; i++)
		regs->reg[i] = saved[i];
	regs->reg[AARCH64_X30] = code_address(saved[AARCH64_X30]);
	regs->ip = code_address(saved[32]);
	regs->known = UINT32_MAX;
	return UNWIND_STEP_SIGNAL;
}

/*
 * The base of the frame's address. A step by frame pointer leaves sp unknown, since a frame record lies anywhere in
 * its frame; then x29 points to the frame's own record, from which sp follows.
 */
static bool find_base(uint32_t rule, const struct unwind_regs *regs, uint64_t *ret)
{
	int32_t record = unwind_rule_bp_offset(rule);

	if (unwind_rule_cfa(rule) != UNWIND_CFA_SP || !is_known(regs, AARCH64_SP)) {
		*ret = regs->reg[AARCH64_X29];
		if (!is_known(regs, AARCH64_X29) || *ret % 8)
			return false;
		if (unwind_rule_cfa(rule) != UNWIND_CFA_SP)
			return true;
		*ret -= (uint64_t)(int64_t)(record < 0 ? unwind_rule_offset(rule) + record : record);
		return unwind_rule_bp(rule) == UNWIND_ARM64_RECORD;
	}
	*ret = regs->reg[AARCH64_SP];
	return true;
}

/* The caller's x29 and the return address. */
static enum unwind_step restore(uint32_t rule, uint64_t at, struct unwind_regs *to, unwind_read_fn read, void *ctx)
{
	uint64_t saved[2];

	switch (unwind_rule_bp(rule)) {
	case UNWIND_ARM64_LINK:
		if (!is_known(to, AARCH64_X30))
			return UNWIND_STEP_UNKNOWN_REG;
		to->ip = code_address(to->reg[AARCH64_X30]);
		return UNWIND_STEP_OK;
	case UNWIND_ARM64_RECORD:
		if (!read(ctx, at, saved, sizeof(saved)))
			return UNWIND_STEP_MEMORY;
		to->reg[AARCH64_X29] = saved[0];
		to->known |= 1u << AARCH64_X29;
		to->ip = code_address(saved[1]);
		return UNWIND_STEP_OK;
	case UNWIND_ARM64_RETURN_LOST: to->known &= ~(1u << AARCH64_X29); break;
	}
	if (!read(ctx, at, saved, sizeof(saved[0])))
		return UNWIND_STEP_MEMORY;
	to->ip = code_address(saved[0]);
	return UNWIND_STEP_OK;
}

enum unwind_step unwind_aarch64_step(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint32_t kind = unwind_rule_cfa(rule);
	bool is_link = unwind_rule_bp(rule) == UNWIND_ARM64_LINK;
	int64_t record = unwind_rule_bp_offset(rule);
	struct unwind_regs to = *regs;
	enum unwind_step step;
	uint64_t base, cfa;

	switch (kind) {
	case UNWIND_CFA_GAP: return UNWIND_STEP_NO_INFO;
	case UNWIND_CFA_END: return UNWIND_STEP_END;
	case UNWIND_CFA_SIGNAL:
		return step_context(regs->reg[AARCH64_SP] + (uint64_t)(int64_t)unwind_rule_offset(rule), regs, read,
				    ctx);
	case UNWIND_CFA_SP:
	case UNWIND_CFA_BP:
	case UNWIND_CFA_BP_SWITCH:
		break;
	default: return UNWIND_STEP_COMPLEX;
	}
	if (!find_base(rule, regs, &base))
		return UNWIND_STEP_UNKNOWN_REG;
	cfa = base + (uint64_t)(int64_t)unwind_rule_offset(rule);
	step = restore(rule, (record < 0 ? cfa : base) + (uint64_t)record, &to, read, ctx);
	if (step)
		return step;
	/* A frame that saved nothing may be empty; otherwise the caller's is above it, unless stacks are switched. */
	if (kind != UNWIND_CFA_BP_SWITCH && (cfa < regs->reg[AARCH64_SP] || (cfa == regs->reg[AARCH64_SP] && !is_link)))
		return UNWIND_STEP_BACKWARDS;
	to.reg[AARCH64_SP] = cfa;
	to.known = (to.known & 1u << AARCH64_X29) | 1u << AARCH64_SP;
	*regs = to;
	return UNWIND_STEP_OK;
}

enum unwind_step unwind_aarch64_step_fp(struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint64_t bp = regs->reg[AARCH64_X29], saved[2], code;

	/* a signal handler returns to code without rules (see arch/arm64/kernel/vdso/sigreturn.S) */
	if (is_known(regs, AARCH64_SP) && read(ctx, regs->ip, &code, sizeof(code)) && code == SIGNAL_RETURN)
		return step_context(regs->reg[AARCH64_SP] + UNWIND_ARM64_SIGNAL_FRAME, regs, read, ctx);
	if (!is_known(regs, AARCH64_X29))
		return UNWIND_STEP_UNKNOWN_REG;
	if (!bp)	/* the ABI's mark of the outermost frame */
		return UNWIND_STEP_END;
	if (bp % 8 || bp < regs->reg[AARCH64_SP] || bp - regs->reg[AARCH64_SP] > FRAME_RANGE)
		return UNWIND_STEP_BACKWARDS;
	if (!read(ctx, bp, saved, sizeof(saved)))
		return UNWIND_STEP_MEMORY;
	regs->reg[AARCH64_X29] = saved[0];
	regs->reg[AARCH64_SP] = bp + sizeof(saved);	/* a lower bound */
	regs->ip = code_address(saved[1]);
	regs->known = 1u << AARCH64_X29;
	return UNWIND_STEP_OK;
}
