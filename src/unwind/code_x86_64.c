/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <elf.h>
#include <string.h>

#include "abi/unwind_abi.h"
#include "base/insn_x86.h"
#include "unwind/arch.h"

enum { RSP = 4, RBP = 5 };

#define WORD 8
/* Limit of a frame's size, which keeps sums far from overflow. */
#define FRAME_MAX (1 << 24)

static unsigned reg_of(const struct insn *i)
{
	return (i->modrm >> 3 & 7) | (i->rex & 4) << 1;
}

static unsigned rm_of(const struct insn *i)
{
	return (i->modrm & 7) | (i->rex & 1) << 3;
}

static bool is_register(const struct insn *i, unsigned rm)
{
	return i->has_modrm && i->modrm >> 6 == 3 && rm_of(i) == rm;
}

/* disp(%base), without an index. */
static bool is_based_on(const struct insn *i, unsigned base)
{
	unsigned mod = i->modrm >> 6;

	if (!i->has_modrm || mod == 3 || i->rex & 3)
		return false;
	if (base == RSP)
		return (i->modrm & 7) == 4 && i->sib == 0x24;
	return (i->modrm & 7) == base && mod;
}

static void add_to_sp(struct code_state *s, int64_t bytes)
{
	int64_t off = s->sp_off - bytes;

	if (bytes < -FRAME_MAX || bytes > FRAME_MAX || off < -FRAME_MAX || off > FRAME_MAX)
		s->has_sp = false;
	s->sp_off = s->has_sp ? (int32_t)off : 0;
}

static void lose_bp(struct code_state *s)
{
	s->has_bp = false;
	if (s->bp == CODE_KEPT)
		s->bp = CODE_LOST;
}

/* rbp is loaded from CFA + at. */
static void load_bp(struct code_state *s, bool is_known, int32_t at)
{
	s->has_bp = false;
	if (s->bp == CODE_SAVED && is_known && at == s->bp_at)
		s->bp = CODE_KEPT;
	else if (s->bp == CODE_KEPT)
		s->bp = CODE_LOST;
}

static void push(struct code_state *s, bool is_bp)
{
	add_to_sp(s, -WORD);
	if (is_bp && s->bp == CODE_KEPT && s->has_sp) {
		s->bp = CODE_SAVED;
		s->bp_at = -s->sp_off;
	}
}

static void pop(struct code_state *s, unsigned reg)
{
	if (reg == RBP)
		load_bp(s, s->has_sp, -s->sp_off);
	add_to_sp(s, WORD);
	if (reg == RSP)
		s->has_sp = false;
}

/* mov %rbp,%rsp */
static void sp_from_bp(struct code_state *s, int32_t disp)
{
	s->has_sp = s->has_bp;
	s->sp_off = s->has_bp ? s->bp_off : 0;
	add_to_sp(s, disp);
}

static void bp_from_sp(struct code_state *s, int32_t disp)
{
	int32_t off = s->sp_off - disp;
	bool is_known = s->has_sp;

	lose_bp(s);
	s->has_bp = is_known;
	s->bp_off = off;
}

/* Opcodes of two and more bytes that write a general register; most others are vector instructions. */
static bool two_bytes_write(const struct insn *i, bool is_reg, bool is_rm)
{
	uint8_t op = i->opcode;

	if ((op >= 0x40 && op <= 0x4f) || op == 0xaf || op == 0xb6 || op == 0xb7 || op == 0xb8 ||
	    (op >= 0xbc && op <= 0xbf))
		return is_reg;	/* cmov, imul, movzx, popcnt, bsf, bsr, movsx */
	if ((op >= 0x90 && op <= 0x9f) || op == 0xa4 || op == 0xa5 || op == 0xab || op == 0xac || op == 0xad ||
	    op == 0xb0 || op == 0xb1 || op == 0xb3 || op == 0xbb || op == 0xc7 || op == 0x7e)
		return is_rm;	/* set, shld, shrd, bts, cmpxchg, btr, btc, rdrand, movd */
	if (op == 0xba)	/* /4: bt */
		return is_rm && (i->modrm >> 3 & 7) > 4;
	if (op == 0xc0 || op == 0xc1)	/* xadd */
		return is_reg || is_rm;
	if (op == 0x02 || op == 0x03 || op == 0x2c || op == 0x2d || op == 0x50 || op == 0xc5 || op == 0xd7)
		return is_reg;	/* lar, lsl, cvtsd2si, movmsk, pextrw, pmovmskb */
	if (op == 0x38)
		return is_reg && (i->third == 0xf0 || i->third == 0xf1);	/* movbe, crc32 */
	return op == 0x3a && is_rm && i->third >= 0x14 && i->third <= 0x17;	/* pextr */
}

/* The same for AVX, and for bit manipulations in its encoding. */
static bool vex_writes(const struct insn *i, bool is_reg, bool is_rm)
{
	uint8_t op = i->opcode;

	return (op >= 0xf0 || op == 0x2c || op == 0x2d || op == 0x50 || op == 0x7e || op == 0x93 || op == 0xc5 ||
		op == 0xd7 || (op >= 0x14 && op <= 0x17)) &&
	       (is_reg || is_rm);
}

/* Are its registers one byte wide? Then numbers 4 and 5 are AH and CH; with a REX prefix they are SPL and BPL. */
static bool has_high_bytes(const struct insn *i)
{
	uint8_t op = i->opcode;

	if (i->is_vex || i->rex || !i->has_modrm)
		return false;
	if (i->is_two_byte)
		return (op >= 0x90 && op <= 0x9f) || op == 0xb0 || op == 0xc0;	/* set, cmpxchg, xadd */
	return !(op & 1) && op != 0x8c;	/* mov from a segment register */
}

/* May an instruction whose operands are not modelled write the register? */
static bool may_write(const struct insn *i, unsigned reg)
{
	uint8_t op = i->opcode;
	bool is_reg = i->has_modrm && reg_of(i) == reg, is_rm = is_register(i, reg);

	if (has_high_bytes(i))
		return false;
	if (i->is_vex)
		return vex_writes(i, is_reg, is_rm);
	if (i->is_two_byte)
		return (op >= 0xc8 && op <= 0xcf && (op & 7u) + ((i->rex & 1) << 3) == reg) ||
		       two_bytes_write(i, is_reg, is_rm);
	if (!i->has_modrm)
		return (op >= 0xb8 && op <= 0xbf && (op & 7u) + ((i->rex & 1) << 3) == reg) ||
		       (op >= 0x91 && op <= 0x97 && (op & 7u) + ((i->rex & 1) << 3) == reg);
	if (op < 0x40)	/* arithmetic: to memory or a register, from a register; cmp writes nothing */
		return op >= 0x38 ? false : op & 2 ? is_reg : is_rm;
	switch (op) {
	case 0x84: case 0x85:	/* test */
		return false;
	case 0x80: case 0x81: case 0x83:	/* /7: cmp */
		return is_rm && (i->modrm >> 3 & 7) != 7;
	case 0x88:
	case 0x89:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xfe: return is_rm;
	case 0x8a: case 0x8b: case 0x8d: case 0x63: case 0x69: case 0x6b:
		return is_reg;
	case 0xf6: case 0xf7:	/* not and neg of this group; multiplications write other registers */
		return is_rm && ((i->modrm >> 3 & 7) == 2 || (i->modrm >> 3 & 7) == 3);
	case 0xff: return is_rm && (i->modrm >> 3 & 7) < 2;
	default: return op < 0xd8 || op > 0xdf ? is_reg || is_rm : false;
	}
}

/* The forms used by compilers and assembly code; false: another one. */
static bool known_sp_change(const struct insn *i, struct code_state *s)
{
	uint8_t op = i->opcode;
	unsigned group = i->modrm >> 3 & 7;

	if (!(i->rex & 8) || i->is_two_byte || i->is_vex)
		return false;
	if ((op == 0x81 || op == 0x83) && is_register(i, RSP) && (group == 0 || group == 5)) {
		add_to_sp(s, group ? -i->imm : i->imm);
	} else if (op == 0x8d && reg_of(i) == RSP && is_based_on(i, RSP)) {
		add_to_sp(s, i->disp);
	} else if (op == 0x8d && reg_of(i) == RSP && is_based_on(i, RBP)) {
		sp_from_bp(s, i->disp);
	} else if (op == 0x8d && reg_of(i) == RBP && is_based_on(i, RSP)) {
		bp_from_sp(s, i->disp);
	} else if ((op == 0x89 && is_register(i, RSP) && reg_of(i) == RBP) ||
		   (op == 0x8b && is_register(i, RBP) && reg_of(i) == RSP)) {
		sp_from_bp(s, 0);
	} else if ((op == 0x89 && is_register(i, RBP) && reg_of(i) == RSP) ||
		   (op == 0x8b && is_register(i, RSP) && reg_of(i) == RBP)) {
		bp_from_sp(s, 0);
	} else if (op == 0x89 && reg_of(i) == RBP && is_based_on(i, RSP) && s->has_sp && s->bp == CODE_KEPT) {
		s->bp = CODE_SAVED;	/* mov %rbp,disp(%rsp) */
		s->bp_at = i->disp - s->sp_off;
	} else if (op == 0x8b && reg_of(i) == RBP && is_based_on(i, RSP)) {
		load_bp(s, s->has_sp, i->disp - s->sp_off);
	} else {
		return false;
	}
	return true;
}

static void change_state(const struct insn *i, struct code_state *s)
{
	uint8_t op = i->opcode;
	bool is_one_byte = !i->is_two_byte && !i->is_vex;

	if (is_one_byte && (op == 0x31 || op == 0x33) && is_register(i, RBP) && reg_of(i) == RBP &&
	    s->bp == CODE_KEPT) {	/* xor %ebp,%ebp */
		s->is_outermost = true;
		return;
	}
	if (known_sp_change(i, s))
		return;
	if (may_write(i, RSP))
		s->has_sp = false;
	if (may_write(i, RBP))
		lose_bp(s);
}

static void change_by_push(const struct insn *i, struct code_state *s)
{
	uint8_t op = i->opcode;

	if (i->has_16_bit) {
		s->has_sp = false;
		return;
	}
	if (op >= 0x58 && op <= 0x5f)
		pop(s, (op & 7u) | (i->rex & 1) << 3);
	else if (op == 0x8f)
		pop(s, is_register(i, RSP) ? RSP : is_register(i, RBP) ? RBP : 0);
	else if (op == 0x9d)
		pop(s, 0);
	else
		push(s, op == 0x55 && !(i->rex & 1));
}

static bool is_push_or_pop(const struct insn *i)
{
	uint8_t op = i->opcode;

	return (op >= 0x50 && op <= 0x5f) || op == 0x68 || op == 0x6a || op == 0x8f || op == 0x9c || op == 0x9d ||
	       (op == 0xff && (i->modrm >> 3 & 7) == 6);
}

static enum code_flow flow_of_two_bytes(const struct insn *i)
{
	if (i->opcode >= 0x80 && i->opcode <= 0x8f)
		return CODE_BRANCHES;
	return i->opcode == 0x0b ? CODE_STOPS : CODE_GOES_ON;	/* ud2 */
}

static enum code_flow flow_of_one_byte(const struct insn *i)
{
	uint8_t op = i->opcode;
	unsigned group = i->modrm >> 3 & 7;

	if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3))
		return CODE_BRANCHES;
	if (op == 0xe9 || op == 0xeb)
		return CODE_JUMPS;
	if (op == 0xe8)
		return CODE_CALLS;
	if (op == 0xff && group >= 2 && group <= 5)
		return group <= 3 ? CODE_CALLS : CODE_JUMPS_ANYWHERE;
	if (op == 0xc2 || op == 0xc3)
		return CODE_RETURNS;
	return op == 0xcc || op == 0xf4 ? CODE_STOPS : CODE_GOES_ON;	/* int3, hlt */
}

/* mov $constant to a 32-bit register, or to a 64-bit one with sign extension. */
static bool is_constant(const struct insn *i)
{
	if (i->opcode == 0xc7)
		return i->has_modrm && i->modrm >> 6 == 3 && !(i->modrm >> 3 & 7);
	return i->opcode >= 0xb8 && i->opcode <= 0xbf && !(i->rex & 8);
}

static struct code_step x86_64_step(const uint8_t *code, size_t len, uint64_t vaddr, struct code_state *state)
{
	struct code_step step = { .flow = CODE_STOPS };
	struct insn i;
	bool is_one_byte;

	step.bytes = insn_decode(code, len, &i);
	if (!step.bytes)
		return step;
	is_one_byte = !i.is_two_byte && !i.is_vex;
	step.flow = i.is_vex ? CODE_GOES_ON : is_one_byte ? flow_of_one_byte(&i) : flow_of_two_bytes(&i);
	if (step.flow == CODE_BRANCHES || step.flow == CODE_JUMPS || (step.flow == CODE_CALLS && i.opcode == 0xe8))
		step.target = vaddr + step.bytes + (uint64_t)i.imm;
	if (insn_is_address(&i))
		step.reference = vaddr + step.bytes + (uint64_t)(int64_t)i.disp;
	if (is_one_byte && is_constant(&i))
		step.constant = (uint32_t)i.imm;
	if (step.flow != CODE_GOES_ON)
		return step;
	if (is_one_byte && is_push_or_pop(&i)) {
		change_by_push(&i, state);
	} else if (is_one_byte && i.opcode == 0xc9) {	/* leave */
		sp_from_bp(state, 0);
		pop(state, RBP);
	} else {
		change_state(&i, state);
	}
	return step;
}

static bool x86_64_is_balanced(const struct code_state *s)
{
	return s->has_sp && s->sp_off == WORD;
}

static bool x86_64_is_padding(const uint8_t *code, size_t len)
{
	struct insn i;

	if (!insn_decode(code, len, &i))
		return len && !*code;
	if (i.is_two_byte)
		return i.opcode == 0x1f;	/* nop of several bytes */
	return !i.is_vex && (i.opcode == 0x90 || i.opcode == 0xcc);
}

/* The kernel places a signal frame below the return to mov $15,%rax; syscall (rt_sigreturn). */
static bool x86_64_is_signal_return(const uint8_t *code, size_t len, uint32_t *ret_rule)
{
	static const uint8_t by_rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t by_eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	*ret_rule = unwind_make_rule(UNWIND_CFA_SIGNAL, 0);
	return (len >= sizeof(by_rax) && !memcmp(code, by_rax, sizeof(by_rax))) ||
	       (len >= sizeof(by_eax) && !memcmp(code, by_eax, sizeof(by_eax)));
}

const struct code_arch code_x86_64 = {
	.insn_bytes = 1, .leads_by_words = true, .relative = R_X86_64_RELATIVE,
	.irelative = R_X86_64_IRELATIVE,
	.entry = { .sp_off = WORD, .has_sp = true, .ra = CODE_SAVED, .ra_at = -WORD },
	.is_balanced = x86_64_is_balanced, .step = x86_64_step, .is_padding = x86_64_is_padding,
	.is_signal_return = x86_64_is_signal_return,
};
