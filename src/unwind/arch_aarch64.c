/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/arch.h"

#include <elf.h>

#define COMPLEX unwind_make_rule(UNWIND_CFA_COMPLEX, 0)

/* What a frame has saved at CFA + off; false if the rule cannot express that. */
static bool saved_at(enum unwind_arm64_saved what, const struct cfi_rule *cfa, int64_t off, uint32_t *rule)
{
	uint32_t field;

	if (off >= 0)	/* a frame's data is below its CFA */
		return false;
	/* if it is too far from one end of the frame, use the other */
	if (!unwind_scaled(off, 10, &field) &&
	    (cfa->off < 0 || cfa->off + off < 0 || !unwind_scaled(cfa->off + off, 10, &field)))
		return false;
	*rule |= (uint32_t)what << 20 | field << 22;
	return true;
}

static bool is_kept(const struct cfi_rule *r)
{
	return r->how == CFI_UNSPECIFIED || r->how == CFI_SAME;
}

/* Compilers save x29 and x30 side by side, or x30 alone. */
static bool add_saved(const struct cfi_state *s, uint32_t *rule)
{
	const struct cfi_rule *ra = &s->column[CFI_RA], *bp = &s->column[CFI_BP];

	if (is_kept(ra))	/* having saved only x29 cannot be expressed; x30 is about to be saved */
		return is_kept(bp);
	if (ra->how != CFI_OFFSET)
		return false;
	if (bp->how == CFI_OFFSET && bp->off == ra->off - 8)
		return saved_at(UNWIND_ARM64_RECORD, &s->cfa, bp->off, rule);
	return saved_at(is_kept(bp) ? UNWIND_ARM64_RETURN : UNWIND_ARM64_RETURN_LOST, &s->cfa, ra->off, rule);
}

static uint32_t aarch64_compile(const struct cfi_state *s)
{
	uint32_t rule;

	if (s->column[CFI_RA].how == CFI_UNDEFINED)
		return unwind_make_rule(UNWIND_CFA_END, 0);
	if (s->column[CFI_SP].how != CFI_UNSPECIFIED || s->cfa.how != CFI_REGISTER ||
	    (s->cfa.reg != AARCH64_SP && s->cfa.reg != AARCH64_X29))
		return COMPLEX;
	rule = unwind_make_offset_rule(s->cfa.reg == AARCH64_SP ? UNWIND_CFA_SP : UNWIND_CFA_BP, s->cfa.off);
	if (unwind_rule_cfa(rule) == UNWIND_CFA_COMPLEX || !add_saved(s, &rule))
		return COMPLEX;
	return rule;
}

const struct unwind_arch unwind_arch_aarch64 = {
	.machine = EM_AARCH64, .ra_reg = AARCH64_X30, .sp_reg = AARCH64_SP, .bp_reg = AARCH64_X29,
	.padding_bytes = 15, .compile = aarch64_compile, .step = unwind_aarch64_step,
	.step_fp = unwind_aarch64_step_fp, .code = &code_aarch64, .signs_returns = true,
};
