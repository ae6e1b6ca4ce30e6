/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "abi/unwind_abi.h"
#include "unwind/arch.h"

#define REG_CNT 16
/* Offset of the registers in the ucontext, to which the stack pointer points at the start of a signal trampoline. */
#define UCONTEXT_REGS 40
#define UCONTEXT_REG_CNT 17

/* In the order of struct sigcontext; RIP comes last. */
static const uint8_t ucontext_reg[UCONTEXT_REG_CNT] = {
	X86_64_R8, X86_64_R9, X86_64_R10, X86_64_R11, X86_64_R12, X86_64_R13, X86_64_R14, X86_64_R15, X86_64_RDI,
	X86_64_RSI, X86_64_RBP, X86_64_RBX, X86_64_RDX, X86_64_RAX, X86_64_RCX, X86_64_RSP, X86_64_RIP,
};

static bool is_known(const struct unwind_regs *regs, uint32_t reg)
{
	return regs->known >> reg & 1;
}

/* Base register plus offset, for kinds that have one; false if it is not known. */
static bool base_plus(const struct unwind_regs *regs, uint32_t reg, int32_t off, uint64_t *ret)
{
	*ret = regs->reg[reg] + (uint64_t)(int64_t)off;
	return is_known(regs, reg);
}

static enum unwind_step find_cfa(uint32_t rule, const struct unwind_regs *regs, unwind_read_fn read, void *ctx,
				 uint64_t *ret_cfa)
{
	uint32_t kind = unwind_rule_cfa(rule), reg = X86_64_RSP;
	bool is_deref = kind == UNWIND_CFA_DEREF_SP || kind == UNWIND_CFA_DEREF_BP;
	int32_t off = unwind_rule_packed_offset(rule);

	if (kind == UNWIND_CFA_SP || kind == UNWIND_CFA_BP || kind == UNWIND_CFA_BP_SWITCH)
		off = unwind_rule_offset(rule);
	else if (kind == UNWIND_CFA_PLT)
		off = (int32_t)(unwind_rule_plt_offset(rule) + ((regs->ip & 15) >= unwind_rule_plt_from(rule) ? 8 : 0));
	if (kind == UNWIND_CFA_BP || kind == UNWIND_CFA_DEREF_BP || kind == UNWIND_CFA_BP_SWITCH)
		reg = X86_64_RBP;
	else if (kind == UNWIND_CFA_REG)
		reg = unwind_rule_extra(rule);
	if (!base_plus(regs, reg, off, ret_cfa))
		return UNWIND_STEP_UNKNOWN_REG;
	if (is_deref) {
		if (!read(ctx, *ret_cfa, ret_cfa, 8))
			return UNWIND_STEP_MEMORY;
		*ret_cfa += unwind_rule_extra(rule) * 8;
	}
	return UNWIND_STEP_OK;
}

static enum unwind_step step_signal(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint64_t saved[UCONTEXT_REG_CNT];
	uint64_t at = regs->reg[X86_64_RSP] + (uint64_t)(int64_t)unwind_rule_offset(rule) + UCONTEXT_REGS;

	if (!read(ctx, at, saved, sizeof(saved)))
		return UNWIND_STEP_MEMORY;
	for (unsigned i = 0; i < UCONTEXT_REG_CNT - 1; i++)
		regs->reg[ucontext_reg[i]] = saved[i];
	regs->ip = saved[UCONTEXT_REG_CNT - 1];
	regs->known = (1u << REG_CNT) - 1;
	return UNWIND_STEP_SIGNAL;
}

/* Restores the caller's frame pointer in regs, or marks it unknown. */
static bool restore_bp(uint32_t rule, uint64_t cfa, struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint64_t at = (uint64_t)(int64_t)unwind_rule_bp_offset(rule), *bp = &regs->reg[X86_64_RBP];

	switch (unwind_rule_bp(rule)) {
	case UNWIND_BP_AT_CFA:
		regs->known |= 1u << X86_64_RBP;
		return read(ctx, cfa + at, bp, 8);
	case UNWIND_BP_AT_BP: return !is_known(regs, X86_64_RBP) || read(ctx, *bp + at, bp, 8);
	case UNWIND_BP_LOST:
		regs->known &= ~(1u << X86_64_RBP);
		return true;
	default: return true;
	}
}

enum unwind_step unwind_x86_64_step(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint32_t kind = unwind_rule_cfa(rule);
	struct unwind_regs to = *regs;
	enum unwind_step step;
	uint64_t cfa;

	if (kind == UNWIND_CFA_GAP || kind == UNWIND_CFA_END || kind == UNWIND_CFA_COMPLEX ||
	    kind > UNWIND_CFA_BP_SWITCH)
		return kind == UNWIND_CFA_GAP ? UNWIND_STEP_NO_INFO :
		       kind == UNWIND_CFA_END ? UNWIND_STEP_END : UNWIND_STEP_COMPLEX;
	if (kind == UNWIND_CFA_SIGNAL)
		return step_signal(rule, regs, read, ctx);
	step = find_cfa(rule, regs, read, ctx, &cfa);
	if (step)
		return step;
	if (kind == UNWIND_CFA_RA_REG) {
		to.ip = to.reg[unwind_rule_extra(rule)];
		if (!is_known(regs, unwind_rule_extra(rule)))
			return UNWIND_STEP_UNKNOWN_REG;
	} else if (!read(ctx, cfa + (uint64_t)UNWIND_RA_OFFSET, &to.ip, 8)) {
		return UNWIND_STEP_MEMORY;
	}
	/* Only rules by registers and pointers switch stacks; otherwise a caller's frame is above */
	if ((kind == UNWIND_CFA_SP || kind == UNWIND_CFA_BP) && cfa <= regs->reg[X86_64_RSP])
		return UNWIND_STEP_BACKWARDS;
	if (!restore_bp(rule, cfa, &to, read, ctx))
		return UNWIND_STEP_MEMORY;
	to.reg[X86_64_RSP] = cfa;
	to.known &= 1u << X86_64_RSP | 1u << X86_64_RBP;
	*regs = to;
	return UNWIND_STEP_OK;
}

enum unwind_step unwind_x86_64_step_fp(struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint64_t bp = regs->reg[X86_64_RBP], saved[2];

	if (!is_known(regs, X86_64_RBP))
		return UNWIND_STEP_UNKNOWN_REG;
	if (!bp)	/* the ABI's mark of the outermost frame */
		return UNWIND_STEP_END;
	if (bp % 8 || bp < regs->reg[X86_64_RSP])
		return UNWIND_STEP_BACKWARDS;
	if (!read(ctx, bp, saved, sizeof(saved)))
		return UNWIND_STEP_MEMORY;
	regs->reg[X86_64_RBP] = saved[0];
	regs->reg[X86_64_RSP] = bp + 16;
	regs->ip = saved[1];
	regs->known = 1u << X86_64_RSP | 1u << X86_64_RBP;
	return UNWIND_STEP_OK;
}
