/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/arch.h"

#include <elf.h>

static struct cfi_rule rule_where(uint8_t where, int32_t at)
{
	if (where == CODE_SAVED)
		return (struct cfi_rule){ .how = CFI_OFFSET, .off = at };
	return (struct cfi_rule){ .how = where == CODE_KEPT ? CFI_SAME : CFI_UNDEFINED };
}

/* The frame pointer points to the caller's frame pointer, which the return address follows. */
static bool has_record(const struct code_state *s)
{
	return s->has_bp && s->bp == CODE_SAVED && s->bp_at == -s->bp_off && s->ra == CODE_SAVED &&
	       s->ra_at == s->bp_at + 8;
}

uint32_t code_rule(const struct code_state *s, const struct unwind_arch *arch)
{
	struct cfi_state cfi = { .cfa.how = CFI_REGISTER };
	uint32_t rule;

	if (s->is_outermost) {
		cfi.column[CFI_RA].how = CFI_UNDEFINED;
		return arch->compile(&cfi);
	}
	/* walks cross it by frame pointer; V8's callees pop their arguments, so sp is not known there */
	if (s->ra == CODE_LOST || has_record(s))
		return 0;
	if (s->has_sp && s->sp_off >= arch->code->entry.sp_off) {
		cfi.cfa.reg = arch->sp_reg;
		cfi.cfa.off = s->sp_off;
	} else if (s->has_bp && s->bp_off >= arch->code->entry.sp_off) {
		cfi.cfa.reg = arch->bp_reg;
		cfi.cfa.off = s->bp_off;
	} else {
		return 0;
	}
	cfi.column[CFI_RA] = rule_where(s->ra, s->ra_at);
	cfi.column[CFI_BP] = rule_where(s->bp, s->bp_at);
	rule = arch->compile(&cfi);
	return unwind_rule_cfa(rule) == UNWIND_CFA_COMPLEX ? 0 : rule;
}

const struct unwind_arch *unwind_arch_of(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64: return &unwind_arch_x86_64;
	case EM_AARCH64: return &unwind_arch_aarch64;
	default: return NULL;
	}
}

const struct unwind_arch *unwind_arch_here(void)
{
#ifdef __aarch64__
	return &unwind_arch_aarch64;
#else
	return &unwind_arch_x86_64;
#endif
}
