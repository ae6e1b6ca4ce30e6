/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Encodings: Arm Architecture Reference Manual, C4.1. */
#include <elf.h>
#include <glib.h>
#include <string.h>

#include "unwind/arch.h"

enum { FP = 29, LR = 30, SP = 31 };	/* as a general register 31 is the zero register */

#define INSN_BYTES 4
#define FRAME_MAX (1 << 24)
#define RT_SIGRETURN 0xd2801168u	/* mov x8, #139 */
#define SVC 0xd4000001u

static uint32_t bits(uint32_t insn, unsigned from, unsigned cnt)
{
	return insn >> from & ((1u << cnt) - 1);
}

static int32_t signed_bits(uint32_t insn, unsigned from, unsigned cnt)
{
	return (int32_t)(insn << (32 - from - cnt)) >> (32 - cnt);
}

static void add_to_sp(struct code_state *s, int64_t bytes)
{
	int64_t off = s->sp_off - bytes;

	if (off < -FRAME_MAX || off > FRAME_MAX)
		s->has_sp = false;
	s->sp_off = s->has_sp ? (int32_t)off : 0;
	/* the first frame of a new thread: it was not pushed, but left there by the thread's creator */
	s->is_outermost |= s->has_sp && off < 0;
}

static void save_register(struct code_state *s, unsigned reg, int64_t at)
{
	uint8_t *where = reg == FP ? &s->bp : &s->ra;

	if ((reg != FP && reg != LR) || *where != CODE_KEPT || !s->has_sp || (reg == FP && s->has_bp) || at >= 0)
		return;
	*where = CODE_SAVED;
	*(reg == FP ? &s->bp_at : &s->ra_at) = (int32_t)at;
}

static void overwrite(struct code_state *s, unsigned reg)
{
	uint8_t *where = reg == FP ? &s->bp : &s->ra;

	if (reg == FP)
		s->has_bp = false;
	if ((reg == FP || reg == LR) && *where == CODE_KEPT)
		*where = CODE_LOST;
}

static void load_register(struct code_state *s, unsigned reg, bool is_known, int64_t at)
{
	uint8_t *where = reg == FP ? &s->bp : &s->ra;

	if (reg != FP && reg != LR)
		return;
	if (is_known && *where == CODE_SAVED && at == (reg == FP ? s->bp_at : s->ra_at)) {
		*where = CODE_KEPT;
		s->has_bp &= reg != FP;
	} else {
		overwrite(s, reg);
	}
}

/* Offset of base + disp from the CFA; false: not known. */
static bool offset_from_cfa(const struct code_state *s, unsigned base, int64_t disp, int64_t *ret)
{
	if (base == SP && s->has_sp)
		*ret = disp - s->sp_off;
	else if (base == FP && s->has_bp)
		*ret = disp - s->bp_off;
	else
		return false;
	return true;
}

enum access { ACCESS_NONE, ACCESS_OFFSET, ACCESS_BEFORE, ACCESS_BEHIND };	/* the base register changes before
										 * or after the access */

struct access_to {
	enum access how;
	bool is_load, is_vector;
	unsigned regs[2], cnt, bytes, base;
	int64_t disp;
};

/* Loads and stores of one or two registers, with a constant offset. */
static struct access_to access_of(uint32_t insn)
{
	struct access_to a = {
		.base = bits(insn, 5, 5), .is_vector = bits(insn, 26, 1), .cnt = 1, .regs = { bits(insn, 0, 5) }
	};
	unsigned size = bits(insn, 30, 2);

	if ((insn & 0x3a000000) == 0x28000000) {	/* register pair: mode in bits 24 and 23 */
		static const enum access how[] = { ACCESS_OFFSET, ACCESS_BEHIND, ACCESS_OFFSET, ACCESS_BEFORE };

		a.how = how[bits(insn, 23, 2)];
		a.is_load = bits(insn, 22, 1);
		a.regs[1] = bits(insn, 10, 5);
		a.cnt = 2;
		a.bytes = a.is_vector ? 4u << size : size == 2 ? 8 : 4;
		a.disp = (int64_t)signed_bits(insn, 15, 7) * a.bytes;
	} else if ((insn & 0x3b000000) == 0x39000000) {	/* unsigned offset */
		a.how = ACCESS_OFFSET;
		a.is_load = bits(insn, 22, 2) != 0;
		a.bytes = 1u << size;
		a.disp = (int64_t)bits(insn, 10, 12) * a.bytes;
	} else if ((insn & 0x3b200000) == 0x38000000) {	/* signed offset in bytes, mode in bits 11 and 10 */
		static const enum access how[] = { ACCESS_OFFSET, ACCESS_BEHIND, ACCESS_OFFSET, ACCESS_BEFORE };

		a.how = how[bits(insn, 10, 2)];
		a.is_load = bits(insn, 22, 2) != 0;
		a.bytes = 1u << size;
		a.disp = signed_bits(insn, 12, 9);
	}
	return a;
}

static void change_by_access(const struct access_to *a, struct code_state *s)
{
	int64_t at = 0;
	bool is_known;

	if (a->how == ACCESS_BEFORE && a->base == SP)
		add_to_sp(s, a->disp);
	is_known = offset_from_cfa(s, a->base, a->how == ACCESS_OFFSET || a->base != SP ? a->disp : 0, &at) &&
		   a->how != ACCESS_NONE && (a->how == ACCESS_OFFSET || a->base == SP);
	for (unsigned i = 0; i < a->cnt && !a->is_vector; i++) {
		int64_t there = at + (int64_t)i * a->bytes;

		if (a->is_load)
			load_register(s, a->regs[i], is_known && a->bytes == 8, is_known ? there : 0);
		else if (is_known && a->bytes == 8)
			save_register(s, a->regs[i], there);
	}
	if (a->how == ACCESS_BEHIND && a->base == SP)
		add_to_sp(s, a->disp);
	if (a->how != ACCESS_OFFSET && a->base != SP)
		overwrite(s, a->base);
}

/* add and sub with a constant: besides their extended forms the only arithmetic that can write sp. */
static void change_by_sum(uint32_t insn, struct code_state *s, uint64_t *ret_reference)
{
	unsigned to = bits(insn, 0, 5), from = bits(insn, 5, 5);
	int64_t value = (int64_t)bits(insn, 10, 12) << (bits(insn, 22, 1) ? 12 : 0);
	bool is_sum = !bits(insn, 30, 1), sets_flags = bits(insn, 29, 1), is_wide = bits(insn, 31, 1);

	if (is_sum && is_wide && s->page && from == s->page_reg && from != SP)
		*ret_reference = s->page + (uint64_t)value;
	value = is_sum ? value : -value;
	if (to == SP && !sets_flags) {
		if (from == SP) {
			add_to_sp(s, value);
		} else if (from == FP && s->has_bp) {
			s->has_sp = true;
			s->sp_off = s->bp_off;
			add_to_sp(s, value);
		} else {
			s->has_sp = false;
		}
	} else if (to == FP && from == SP && is_wide) {
		bool is_known = s->has_sp;

		overwrite(s, FP);
		s->has_bp = is_known;
		s->bp_off = s->sp_off - (int32_t)value;
	} else if (to != SP) {
		overwrite(s, to);
	}
}

/* Other instructions name the written general register in the lowest bits. */
static void change_by_other(uint32_t insn, struct code_state *s, uint64_t vaddr)
{
	unsigned to = bits(insn, 0, 5);

	if ((insn & 0x9f000000) == 0x90000000) {	/* adrp */
		s->page_reg = (uint8_t)to;
		s->page = (vaddr & ~4095ull) +
			  ((uint64_t)(int64_t)(signed_bits(insn, 5, 19) * 4 + (int32_t)bits(insn, 29, 2)) << 12);
		overwrite(s, to);
	} else if (insn == 0xd280001d && s->ra == CODE_KEPT && s->bp == CODE_KEPT) {	/* mov x29, #0 */
		s->is_outermost = true;
	} else if ((insn & 0x1fe00000) == 0x0b200000 && to == SP && !bits(insn, 29, 1)) {	/* add, sub (extended) */
		s->has_sp = false;
	} else if ((insn & 0x1f800000) == 0x12000000 && to == SP && bits(insn, 29, 2) != 3) {	/* and, orr, eor (immediate) */
		s->has_sp = false;
	} else if ((insn & 0x1c000000) == 0x10000000 || (insn & 0x0e000000) == 0x0a000000) {	/* data processing */
		overwrite(s, to);
	} else if ((insn & 0x3b000000) == 0x18000000 || ((insn & 0x3b200c00) == 0x38200800 && bits(insn, 22, 2))) {
		if (!bits(insn, 26, 1))	/* loads, PC-relative and by register */
			overwrite(s, to);
	}
}

static struct code_step branch(uint32_t insn, uint64_t vaddr)
{
	struct code_step step = { .bytes = INSN_BYTES, .flow = CODE_GOES_ON };

	if ((insn & 0x7c000000) == 0x14000000) {
		step.flow = bits(insn, 31, 1) ? CODE_CALLS : CODE_JUMPS;
		step.target = vaddr + (uint64_t)((int64_t)signed_bits(insn, 0, 26) * INSN_BYTES);
	} else if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000) {	/* b.cond, cbz */
		step.flow = CODE_BRANCHES;
		step.target = vaddr + (uint64_t)((int64_t)signed_bits(insn, 5, 19) * INSN_BYTES);
	} else if ((insn & 0x7e000000) == 0x36000000) {	/* tbz */
		step.flow = CODE_BRANCHES;
		step.target = vaddr + (uint64_t)((int64_t)signed_bits(insn, 5, 14) * INSN_BYTES);
	} else if ((insn & 0xfe000000) == 0xd6000000) {	/* to a register: br, blr, ret, also with authentication */
		static const enum code_flow flow[] = { CODE_JUMPS_ANYWHERE, CODE_CALLS, CODE_RETURNS, CODE_STOPS };

		step.flow = flow[bits(insn, 21, 2)];
	} else if ((insn & 0xffe0001f) == 0xd4200000 || insn >> 16 == 0) {	/* brk, udf */
		step.flow = CODE_STOPS;
	}
	return step;
}

static struct code_step aarch64_step(const uint8_t *code, size_t len, uint64_t vaddr, struct code_state *s)
{
	struct code_step step = { .flow = CODE_STOPS };
	struct access_to a;
	uint32_t insn;

	if (len < INSN_BYTES)
		return step;
	memcpy(&insn, code, INSN_BYTES);
	insn = GUINT32_FROM_LE(insn);
	step = branch(insn, vaddr);
	if (step.flow != CODE_GOES_ON)
		return step;
	a = access_of(insn);
	if (a.how != ACCESS_NONE)
		change_by_access(&a, s);
	else if ((insn & 0x1f800000) == 0x11000000)
		change_by_sum(insn, s, &step.reference);
	else
		change_by_other(insn, s, vaddr);
	return step;
}

static bool aarch64_is_balanced(const struct code_state *s)
{
	return s->has_sp && !s->sp_off && s->ra == CODE_KEPT;
}

static bool aarch64_is_padding(const uint8_t *code, size_t len)
{
	uint32_t insn = 0;

	memcpy(&insn, code, MIN(len, INSN_BYTES));
	insn = GUINT32_FROM_LE(insn);
	return insn == 0xd503201f || !insn;	/* nop */
}

/* unwind_aarch64_step_fp() recognises it by its code, so it needs no rule. */
static bool aarch64_is_signal_return(const uint8_t *code, size_t len, uint32_t *ret_rule)
{
	uint32_t insns[2];

	*ret_rule = 0;
	if (len < sizeof(insns))
		return false;
	memcpy(insns, code, sizeof(insns));
	return GUINT32_FROM_LE(insns[0]) == RT_SIGRETURN && GUINT32_FROM_LE(insns[1]) == SVC;
}

const struct code_arch code_aarch64 = {
	.insn_bytes = INSN_BYTES, .relative = R_AARCH64_RELATIVE, .irelative = R_AARCH64_IRELATIVE,
	.entry = { .has_sp = true }, .is_balanced = aarch64_is_balanced, .step = aarch64_step,
	.is_padding = aarch64_is_padding, .is_signal_return = aarch64_is_signal_return,
};
