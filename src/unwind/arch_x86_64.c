/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/arch.h"

#include <elf.h>

#include "base/cursor.h"
#include "unwind/dwarf_cfi.h"

static uint32_t packed_rule(enum unwind_cfa kind, int64_t off, uint64_t extra)
{
	uint32_t arg;

	if (extra > 15 || !unwind_scaled(off, 12, &arg))
		return unwind_make_rule(UNWIND_CFA_COMPLEX, 0);
	return unwind_make_rule(kind, arg << 4 | (uint32_t)extra);
}

/* DW_OP_breg6/7 N [DW_OP_deref [DW_OP_plus_uconst M]]: what compilers and assembly code use. */
struct simple_expr {
	uint8_t reg;
	int64_t off;
	bool is_deref;
	uint64_t add;
};

static bool expr_simple(const struct cfi_rule *r, struct simple_expr *ret)
{
	struct cursor c = cursor_of(r->expr, r->expr_bytes);
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
 * What linkers write for the PLT, whose entries push one word halfway: breg7 8, breg16 0, lit15, and, lit11, ge, lit3,
 * shl, plus.
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
	*ret_rule = unwind_make_rule(UNWIND_CFA_PLT, (uint32_t)from << 8 | e[1]);
	return true;
}

static uint32_t compile_cfa(const struct cfi_rule *cfa)
{
	struct simple_expr e;
	uint32_t rule;

	if (cfa->how == CFI_REGISTER) {
		e = (struct simple_expr){ .reg = (uint8_t)MIN(cfa->reg, 255), .off = cfa->off };
	} else if (cfa->how != CFI_EXPR) {
		return unwind_make_rule(UNWIND_CFA_COMPLEX, 0);
	} else if (!expr_simple(cfa, &e)) {
		return expr_plt(cfa, &rule) ? rule : unwind_make_rule(UNWIND_CFA_COMPLEX, 0);
	}
	if (!e.is_deref) {
		if (e.reg == X86_64_RSP || e.reg == X86_64_RBP)
			return unwind_make_offset_rule(e.reg == X86_64_RSP ? UNWIND_CFA_SP : UNWIND_CFA_BP, e.off);
		return packed_rule(UNWIND_CFA_REG, e.off, e.reg);
	}
	if ((e.reg != X86_64_RSP && e.reg != X86_64_RBP) || e.add % 8)
		return unwind_make_rule(UNWIND_CFA_COMPLEX, 0);
	return packed_rule(e.reg == X86_64_RSP ? UNWIND_CFA_DEREF_SP : UNWIND_CFA_DEREF_BP, e.off, e.add / 8);
}

static uint32_t compile_bp(const struct cfi_rule *bp)
{
	struct simple_expr e;
	uint32_t off = 0, kind = UNWIND_BP_LOST;

	if (bp->how == CFI_UNSPECIFIED || bp->how == CFI_SAME)
		kind = UNWIND_BP_SAME;
	else if (bp->how == CFI_OFFSET && unwind_scaled(bp->off, 10, &off))
		kind = UNWIND_BP_AT_CFA;
	else if (bp->how == CFI_EXPR && expr_simple(bp, &e) && !e.is_deref && e.reg == X86_64_RBP &&
		 unwind_scaled(e.off, 10, &off))
		kind = UNWIND_BP_AT_BP;
	return kind << 20 | off << 22;
}

/* All registers are saved at sp + constant: a signal frame, if they are placed as in a ucontext. */
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
	*ret_rule = unwind_make_offset_rule(UNWIND_CFA_SIGNAL, cfa.off - UNWIND_UCONTEXT_RSP);
	return true;
}

static uint32_t x86_64_compile(const struct cfi_state *s)
{
	const struct cfi_rule *ra = &s->column[CFI_RA];
	uint32_t rule;

	if (ra->how == CFI_UNDEFINED)
		return unwind_make_rule(UNWIND_CFA_END, 0);
	if (compile_signal(s, &rule))
		return rule;
	if (s->column[CFI_SP].how != CFI_UNSPECIFIED)
		return unwind_make_rule(UNWIND_CFA_COMPLEX, 0);
	rule = compile_cfa(&s->cfa);
	/* glibc's vfork keeps its return address in a register: the child will use the same stack */
	if (ra->how == CFI_REGISTER && unwind_rule_cfa(rule) == UNWIND_CFA_SP)
		rule = packed_rule(UNWIND_CFA_RA_REG, unwind_rule_offset(rule), ra->reg);
	else if (ra->how != CFI_OFFSET || ra->off != UNWIND_RA_OFFSET)
		return unwind_make_rule(UNWIND_CFA_COMPLEX, 0);
	if (unwind_rule_cfa(rule) == UNWIND_CFA_COMPLEX)
		return rule;
	return rule | compile_bp(&s->column[CFI_BP]);
}

const struct unwind_arch unwind_arch_x86_64 = {
	.machine = EM_X86_64, .ra_reg = X86_64_RIP, .sp_reg = X86_64_RSP, .bp_reg = X86_64_RBP,
	.padding_bytes = 15, .compile = x86_64_compile, .step = unwind_x86_64_step,
	.step_fp = unwind_x86_64_step_fp, .code = &code_x86_64, .finds_frames = true,
};
