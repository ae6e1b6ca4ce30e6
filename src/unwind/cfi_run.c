/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/cfi.h"

#include "base/cursor.h"
#include "unwind/arch.h"
#include "unwind/dwarf_cfi.h"

#define REMEMBER_MAX 32	/* compilers use one level */

struct run {
	struct cursor c;
	const struct cfi_cie *cie;
	const struct unwind_arch *arch;
	const struct cfi_state *initial;	/* NULL: this is the CIE's own program */
	struct cfi_state state;
	struct cfi_state remembered[REMEMBER_MAX];
	unsigned remembered_cnt;
	uint64_t loc, end;
	bool is_changed;	/* since the last row */
	bool is_done;	/* past the end, or the receiver has stopped it */
	cfi_row_fn row;
	void *ctx;
};

static enum cfi_column column_no(const struct run *r, uint64_t reg)
{
	if (reg == r->arch->ra_reg)
		return CFI_RA;
	if (reg == r->arch->sp_reg)
		return CFI_SP;
	return reg == r->arch->bp_reg ? CFI_BP : CFI_COLUMN_CNT;
}

static void set_rule(struct run *r, uint64_t reg, struct cfi_rule rule)
{
	enum cfi_column no = column_no(r, reg);

	if (no == CFI_COLUMN_CNT)
		return;
	r->state.column[no] = rule;
	r->is_changed = true;
}

static void set_how(struct run *r, uint64_t reg, enum cfi_how how)
{
	set_rule(r, reg, (struct cfi_rule){ .how = how });
}

/* `off` is in units of the data alignment; an overflowing product is as invalid as any absurd offset. */
static void set_offset(struct run *r, uint64_t reg, enum cfi_how how, int64_t off)
{
	int64_t bytes;

	if (__builtin_mul_overflow(off, r->cie->data_align, &bytes))
		bytes = INT64_MAX;
	set_rule(r, reg, (struct cfi_rule){ .how = how, .off = bytes });
}

static int64_t uleb_clamped(struct run *r)
{
	uint64_t value = cursor_uleb(&r->c);

	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static bool restore(struct run *r, uint64_t reg)
{
	enum cfi_column no = column_no(r, reg);

	if (!r->initial)
		return false;
	if (no != CFI_COLUMN_CNT)
		set_rule(r, reg, r->initial->column[no]);
	return true;
}

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	r->state.cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = reg, .off = off };
	r->is_changed = true;
}

static int64_t sleb_scaled(struct run *r)
{
	int64_t off;

	if (__builtin_mul_overflow(cursor_sleb(&r->c), r->cie->data_align, &off))
		return INT64_MAX;
	return off;
}

static struct cfi_rule read_expr(struct run *r, enum cfi_how how)
{
	uint64_t bytes = cursor_uleb(&r->c);
	const uint8_t *expr = cursor_take(&r->c, bytes);

	return (struct cfi_rule){ .how = how, .expr = expr, .expr_bytes = expr ? bytes : 0 };
}

/* Passes on the state up to now before moving. */
static bool advance_to(struct run *r, uint64_t to)
{
	if (!r->initial || to < r->loc || r->c.bad)
		return false;
	if (to > r->loc && r->is_changed) {
		r->is_done = !r->row(r->ctx, r->loc, &r->state);
		r->is_changed = false;
	}
	r->loc = to;
	r->is_done |= to >= r->end;
	return true;
}

static bool advance(struct run *r, uint64_t units)
{
	uint64_t bytes, to;

	if (__builtin_mul_overflow(units, r->cie->code_align, &bytes) || __builtin_add_overflow(r->loc, bytes, &to))
		return false;
	return advance_to(r, to);
}

static bool set_loc(struct run *r)
{
	const struct cfi_section *s = r->cie->section;
	uint64_t vaddr = s->vaddr + (uint64_t)(r->c.at - s->bytes);

	return advance_to(r, cfi_pointer(&r->c, r->cie->encoding, vaddr, 0));
}

static bool remember(struct run *r)
{
	if (r->remembered_cnt >= REMEMBER_MAX)
		return false;
	r->remembered[r->remembered_cnt++] = r->state;
	return true;
}

static bool restore_remembered(struct run *r)
{
	if (!r->remembered_cnt)
		return false;
	r->state = r->remembered[--r->remembered_cnt];
	r->is_changed = true;
	return true;
}

/* Operations on the CFA; false for others. */
static bool run_cfa_op(struct run *r, uint8_t op, bool *ret_ok)
{
	struct cfi_rule *cfa = &r->state.cfa;
	uint64_t reg;

	*ret_ok = true;
	switch (op) {
	case DW_CFA_def_cfa:
		reg = cursor_uleb(&r->c);
		set_cfa(r, reg, uleb_clamped(r));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cursor_uleb(&r->c);
		set_cfa(r, reg, sleb_scaled(r));
		return true;
	case DW_CFA_def_cfa_register:
		*ret_ok = cfa->how == CFI_REGISTER;
		set_cfa(r, cursor_uleb(&r->c), cfa->off);
		return true;
	case DW_CFA_def_cfa_offset:
		*ret_ok = cfa->how == CFI_REGISTER;
		set_cfa(r, cfa->reg, uleb_clamped(r));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		*ret_ok = cfa->how == CFI_REGISTER;
		set_cfa(r, cfa->reg, sleb_scaled(r));
		return true;
	case DW_CFA_def_cfa_expression:
		*cfa = read_expr(r, CFI_EXPR);
		r->is_changed = true;
		return true;
	default: return false;
	}
}

/* Operations on other registers; false if unknown or failed. */
static bool run_register_op(struct run *r, uint8_t op)
{
	uint64_t reg = cursor_uleb(&r->c);

	switch (op) {
	case DW_CFA_offset_extended:
		set_offset(r, reg, CFI_OFFSET, uleb_clamped(r));
		return true;
	case DW_CFA_offset_extended_sf:
		set_offset(r, reg, CFI_OFFSET, cursor_sleb(&r->c));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_offset(r, reg, CFI_OFFSET, -uleb_clamped(r));
		return true;
	case DW_CFA_val_offset:
		set_offset(r, reg, CFI_VAL_OFFSET, uleb_clamped(r));
		return true;
	case DW_CFA_val_offset_sf:
		set_offset(r, reg, CFI_VAL_OFFSET, cursor_sleb(&r->c));
		return true;
	case DW_CFA_restore_extended: return restore(r, reg);
	case DW_CFA_undefined:
		set_how(r, reg, CFI_UNDEFINED);
		return true;
	case DW_CFA_same_value:
		set_how(r, reg, CFI_SAME);
		return true;
	case DW_CFA_register:
		set_rule(r, reg, (struct cfi_rule){ .how = CFI_REGISTER, .reg = cursor_uleb(&r->c) });
		return true;
	case DW_CFA_expression:
		set_rule(r, reg, read_expr(r, CFI_EXPR));
		return true;
	case DW_CFA_val_expression:
		set_rule(r, reg, read_expr(r, CFI_VAL_EXPR));
		return true;
	default: return false;
	}
}

static bool run_op(struct run *r)
{
	uint8_t op = cursor_u8(&r->c), low = op & 0x3f;
	bool ok;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc: return advance(r, low);
	case DW_CFA_offset:
		set_offset(r, low, CFI_OFFSET, uleb_clamped(r));
		return true;
	case DW_CFA_restore: return restore(r, low);
	}
	switch (op) {
	case DW_CFA_nop: return true;
	case DW_CFA_set_loc: return set_loc(r);
	case DW_CFA_advance_loc1: return advance(r, cursor_u8(&r->c));
	case DW_CFA_advance_loc2: return advance(r, cursor_u16(&r->c));
	case DW_CFA_advance_loc4: return advance(r, cursor_u32(&r->c));
	case DW_CFA_remember_state: return remember(r);
	case DW_CFA_restore_state: return restore_remembered(r);
	case DW_CFA_AARCH64_negate_ra_state:	/* whether it is signed does not matter: see unwind_abi.h */
	case DW_CFA_AARCH64_negate_ra_state_with_pc: return r->arch->signs_returns;
	case DW_CFA_GNU_args_size:
		cursor_uleb(&r->c);
		return true;
	}
	return run_cfa_op(r, op, &ok) ? ok : run_register_op(r, op);
}

/* False if an operation is unknown, damaged or misplaced. */
static bool run_all(struct run *r)
{
	while (cursor_left(&r->c) && !r->is_done)
		if (!run_op(r) || r->c.bad)
			return false;
	return true;
}

void cfi_cie_init_state(struct cfi_cie *cie, const struct unwind_arch *arch)
{
	struct run r;

	/* the remembered states, which are most of it, need no clearing */
	memset(&r, 0, offsetof(struct run, remembered));
	memset((char *)&r + offsetof(struct run, remembered_cnt), 0,
	       sizeof(r) - offsetof(struct run, remembered_cnt));
	r.c = cursor_of(cie->init, cie->init_bytes);
	r.cie = cie;
	r.arch = arch;
	cie->is_init_bad = !run_all(&r);
	cie->state = r.state;
}

bool cfi_run(const struct cfi_entries *e, const struct cfi_fde *fde, const struct unwind_arch *arch,
	     cfi_row_fn row, void *ctx, uint64_t *ret_vaddr)
{
	const struct cfi_cie *cie = &g_array_index(e->cies, struct cfi_cie, fde->cie);
	struct run r;

	*ret_vaddr = fde->start;
	if (cie->is_init_bad || cie->is_foreign)
		return false;
	r.c = cursor_of(fde->program, fde->program_bytes);
	r.cie = cie;
	r.arch = arch;
	r.initial = &cie->state;
	r.state = cie->state;
	r.remembered_cnt = 0;
	r.loc = fde->start;
	r.end = fde->end;
	r.is_changed = true;
	r.is_done = false;
	r.row = row;
	r.ctx = ctx;
	if (!run_all(&r)) {
		*ret_vaddr = r.loc;
		return false;
	}
	if (!r.is_done && r.is_changed)
		row(ctx, r.loc, &r.state);
	return true;
}
