/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/arch_x86_64.h"

#include <elf.h>

#include "abi/unwind_abi.h"
#include "base/cursor.h"
#include "unwind/dwarf_cfi.h"

#define REG_CNT 16
/* The stack pointer at the start of a signal trampoline points at the ucontext, whose registers begin here. */
#define UCONTEXT_REGS 40
#define UCONTEXT_REG_CNT 17

/* struct sigcontext's order; RIP comes last. */
static const uint8_t ucontext_reg[UCONTEXT_REG_CNT] = {
	X86_64_R8, X86_64_R9, X86_64_R10, X86_64_R11, X86_64_R12, X86_64_R13, X86_64_R14, X86_64_R15, X86_64_RDI,
	X86_64_RSI, X86_64_RBP, X86_64_RBX, X86_64_RDX, X86_64_RAX, X86_64_RCX, X86_64_RSP, X86_64_RIP,
};

static uint32_t rule_of(enum unwind_cfa kind, uint32_t arg)
{
	return (uint32_t)kind << 16 | (arg & 0xffff);
}

/* value / 8 as a signed field of `bits` bits; false when it does not fit. */
static bool scaled(int64_t value, unsigned bits, uint32_t *ret)
{
	int64_t limit = (int64_t)1 << (bits - 1);

	if (value % 8 || value / 8 < -limit || value / 8 >= limit)
		return false;
	*ret = (uint32_t)(value / 8) & ((1u << bits) - 1);
	return true;
}

static uint32_t offset_rule(enum unwind_cfa kind, int64_t off)
{
	uint32_t arg;

	return scaled(off, 16, &arg) ? rule_of(kind, arg) : rule_of(UNWIND_CFA_COMPLEX, 0);
}

static uint32_t packed_rule(enum unwind_cfa kind, int64_t off, uint64_t extra)
{
	uint32_t arg;

	if (extra > 15 || !scaled(off, 12, &arg))
		return rule_of(UNWIND_CFA_COMPLEX, 0);
	return rule_of(kind, arg << 4 | (uint32_t)extra);
}

/* DW_OP_breg6/7 N [DW_OP_deref [DW_OP_plus_uconst M]], the expressions compilers and assembly use. */
struct simple_expr {
	uint8_t reg;
	int64_t off;
	bool is_deref;
	uint64_t add;
};

static bool expr_simple(const struct cfi_rule *r, struct simple_expr *ret)
{
	struct cursor c = { .at = r->expr, .end = r->expr + r->expr_bytes };
	uint8_t op = cursor_u8(&c);

	*ret = (struct simple_expr){ .reg = (uint8_t)(op - DW_OP_breg0) };
	if (op < DW_OP_breg0 || op > DW_OP_breg15)
		return false;
	ret->off = cursor_sleb(&c);
	if (cursor_left(&c)) {
		ret->is_deref = true;
		if (cursor_u8(&c) != DW_OP_deref)
			return false;
	}
	if (cursor_left(&c)) {
		if (cursor_u8(&c) != DW_OP_plus_uconst)
			return false;
		ret->add = cursor_uleb(&c);
	}
	return !c.bad && !cursor_left(&c);
}

/*
 * What linkers write for the PLT, whose entries push one word midway:
 * breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus.
 */
static bool expr_plt(const struct cfi_rule *r, uint32_t *ret_rule)
{
	const uint8_t *e = r->expr;
	uint8_t from;

	if (r->expr_bytes != 11 || e[0] != DW_OP_breg7 || e[1] >= 0x40 || e[2] != DW_OP_breg16 || e[3] ||
	    e[4] != DW_OP_lit15 || e[5] != DW_OP_and || e[6] < DW_OP_lit0 || e[6] > DW_OP_lit15 ||
	    e[7] != DW_OP_ge || e[8] != DW_OP_lit3 || e[9] != DW_OP_shl || e[10] != DW_OP_plus)
		return false;
	from = (uint8_t)(e[6] - DW_OP_lit0);
	*ret_rule = rule_of(UNWIND_CFA_PLT, (uint32_t)from << 8 | e[1]);
	return true;
}

static uint32_t compile_cfa(const struct cfi_rule *cfa)
{
	struct simple_expr e;
	uint32_t rule;

	if (cfa->how == CFI_REGISTER) {
		e = (struct simple_expr){ .reg = (uint8_t)MIN(cfa->reg, 255), .off = cfa->off };
	} else if (cfa->how != CFI_EXPR) {
		return rule_of(UNWIND_CFA_COMPLEX, 0);
	} else if (!expr_simple(cfa, &e)) {
		return expr_plt(cfa, &rule) ? rule : rule_of(UNWIND_CFA_COMPLEX, 0);
	}
	if (!e.is_deref) {
		if (e.reg == X86_64_RSP || e.reg == X86_64_RBP)
			return offset_rule(e.reg == X86_64_RSP ? UNWIND_CFA_SP : UNWIND_CFA_BP, e.off);
		return packed_rule(UNWIND_CFA_REG, e.off, e.reg);
	}
	if ((e.reg != X86_64_RSP && e.reg != X86_64_RBP) || e.add % 8)
		return rule_of(UNWIND_CFA_COMPLEX, 0);
	return packed_rule(e.reg == X86_64_RSP ? UNWIND_CFA_DEREF_SP : UNWIND_CFA_DEREF_BP, e.off, e.add / 8);
}

static uint32_t compile_bp(const struct cfi_rule *bp)
{
	struct simple_expr e;
	uint32_t off = 0, kind = UNWIND_BP_LOST;

	if (bp->how == CFI_UNSPECIFIED || bp->how == CFI_SAME)
		kind = UNWIND_BP_SAME;
	else if (bp->how == CFI_OFFSET && scaled(bp->off, 10, &off))
		kind = UNWIND_BP_AT_CFA;
	else if (bp->how == CFI_EXPR && expr_simple(bp, &e) && !e.is_deref && e.reg == X86_64_RBP &&
		 scaled(e.off, 10, &off))
		kind = UNWIND_BP_AT_BP;
	return kind << 20 | off << 22;
}

/* All registers are saved at sp + constant: a signal's frame, if they lie as in a ucontext. */
static bool compile_signal(const struct cfi_state *s, uint32_t *ret_rule)
{
	struct simple_expr cfa, ra, bp;

	if (s->cfa.how != CFI_EXPR || s->column[CFI_RA].how != CFI_EXPR || s->column[CFI_BP].how != CFI_EXPR ||
	    !expr_simple(&s->cfa, &cfa) || !expr_simple(&s->column[CFI_RA], &ra) ||
	    !expr_simple(&s->column[CFI_BP], &bp))
		return false;
	if (cfa.reg != X86_64_RSP || ra.reg != X86_64_RSP || bp.reg != X86_64_RSP || !cfa.is_deref || cfa.add ||
	    ra.is_deref || bp.is_deref || cfa.off < INT16_MIN || cfa.off > INT16_MAX ||
	    ra.off != cfa.off - UNWIND_UCONTEXT_RSP + UNWIND_UCONTEXT_RIP ||
	    bp.off != cfa.off - UNWIND_UCONTEXT_RSP + UNWIND_UCONTEXT_RBP)
		return false;
	*ret_rule = offset_rule(UNWIND_CFA_SIGNAL, cfa.off - UNWIND_UCONTEXT_RSP);
	return true;
}

static uint32_t x86_64_compile(const struct cfi_state *s)
{
	const struct cfi_rule *ra = &s->column[CFI_RA];
	uint32_t rule;

	if (ra->how == CFI_UNDEFINED)
		return rule_of(UNWIND_CFA_END, 0);
	if (compile_signal(s, &rule))
		return rule;
	if (s->column[CFI_SP].how != CFI_UNSPECIFIED)
		return rule_of(UNWIND_CFA_COMPLEX, 0);
	rule = compile_cfa(&s->cfa);
	/* glibc's vfork keeps its return address in a register: the child will use the same stack. */
	if (ra->how == CFI_REGISTER && unwind_rule_cfa(rule) == UNWIND_CFA_SP)
		rule = packed_rule(UNWIND_CFA_RA_REG, unwind_rule_offset(rule), ra->reg);
	else if (ra->how != CFI_OFFSET || ra->off != UNWIND_RA_OFFSET)
		return rule_of(UNWIND_CFA_COMPLEX, 0);
	if (unwind_rule_cfa(rule) == UNWIND_CFA_COMPLEX)
		return rule;
	return rule | compile_bp(&s->column[CFI_BP]);
}

static bool known(const struct unwind_regs *regs, uint32_t reg)
{
	return regs->known >> reg & 1;
}

/* A base register plus offset, for the kinds that have one; false when it is not known. */
static bool base_plus(const struct unwind_regs *regs, uint32_t reg, int32_t off, uint64_t *ret)
{
	*ret = regs->reg[reg] + (uint64_t)(int64_t)off;
	return known(regs, reg);
}

static enum unwind_step find_cfa(uint32_t rule, const struct unwind_regs *regs, unwind_read_fn read, void *ctx,
				 uint64_t *ret_cfa)
{
	uint32_t kind = unwind_rule_cfa(rule), reg = X86_64_RSP;
	bool is_deref = kind == UNWIND_CFA_DEREF_SP || kind == UNWIND_CFA_DEREF_BP;
	int32_t off = unwind_rule_packed_offset(rule);

	if (kind == UNWIND_CFA_SP || kind == UNWIND_CFA_BP)
		off = unwind_rule_offset(rule);
	else if (kind == UNWIND_CFA_PLT)
		off = (int32_t)(unwind_rule_plt_offset(rule) + ((regs->ip & 15) >= unwind_rule_plt_from(rule) ? 8 : 0));
	if (kind == UNWIND_CFA_BP || kind == UNWIND_CFA_DEREF_BP)
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

/* The caller's frame pointer into regs; its value, or that it is lost. */
static bool restore_bp(uint32_t rule, uint64_t cfa, struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint64_t at = (uint64_t)(int64_t)unwind_rule_bp_offset(rule), *bp = &regs->reg[X86_64_RBP];

	switch (unwind_rule_bp(rule)) {
	case UNWIND_BP_AT_CFA:
		regs->known |= 1u << X86_64_RBP;
		return read(ctx, cfa + at, bp, 8);
	case UNWIND_BP_AT_BP:
		return !known(regs, X86_64_RBP) || read(ctx, *bp + at, bp, 8);
	case UNWIND_BP_LOST:
		regs->known &= ~(1u << X86_64_RBP);
		return true;
	default:
		return true;
	}
}

static enum unwind_step x86_64_step(uint32_t rule, struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint32_t kind = unwind_rule_cfa(rule);
	struct unwind_regs to = *regs;
	enum unwind_step step;
	uint64_t cfa;

	if (kind == UNWIND_CFA_GAP || kind == UNWIND_CFA_END || kind == UNWIND_CFA_COMPLEX || kind > UNWIND_CFA_SIGNAL)
		return kind == UNWIND_CFA_GAP ? UNWIND_STEP_NO_INFO :
		       kind == UNWIND_CFA_END ? UNWIND_STEP_END : UNWIND_STEP_COMPLEX;
	if (kind == UNWIND_CFA_SIGNAL)
		return step_signal(rule, regs, read, ctx);
	step = find_cfa(rule, regs, read, ctx, &cfa);
	if (step)
		return step;
	if (kind == UNWIND_CFA_RA_REG) {
		to.ip = to.reg[unwind_rule_extra(rule)];
		if (!known(regs, unwind_rule_extra(rule)))
			return UNWIND_STEP_UNKNOWN_REG;
	} else if (!read(ctx, cfa + (uint64_t)UNWIND_RA_OFFSET, &to.ip, 8)) {
		return UNWIND_STEP_MEMORY;
	}
	/* Stacks are switched by registers and pointers only; else a caller's frame lies above. */
	if ((kind == UNWIND_CFA_SP || kind == UNWIND_CFA_BP) && cfa <= regs->reg[X86_64_RSP])
		return UNWIND_STEP_BACKWARDS;
	if (!restore_bp(rule, cfa, &to, read, ctx))
		return UNWIND_STEP_MEMORY;
	to.reg[X86_64_RSP] = cfa;
	to.known &= 1u << X86_64_RSP | 1u << X86_64_RBP;
	*regs = to;
	return UNWIND_STEP_OK;
}

static enum unwind_step x86_64_step_fp(struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	uint64_t bp = regs->reg[X86_64_RBP], saved[2];

	if (!known(regs, X86_64_RBP))
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

const struct unwind_arch unwind_arch_x86_64 = {
	.machine = EM_X86_64,
	.ra_reg = X86_64_RIP,
	.sp_reg = X86_64_RSP,
	.bp_reg = X86_64_RBP,
	.padding_bytes = 15,
	.compile = x86_64_compile,
	.step = x86_64_step,
	.step_fp = x86_64_step_fp,
};
