/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/insn_x86.h"

#define INSN_MAX_BYTES 15
#define RSP 4

/* What follows an opcode. */
enum form {
	F_BAD = 0,
	F_NONE = 1,
	F_MODRM = 2,
	F_IMM8 = 4,
	F_IMM32 = 8,	/* 16 bits with an operand-size prefix */
	F_IMM16 = 16,
};

struct decoder {
	const uint8_t *code;
	size_t len, at;
	struct insn *insn;
};

static unsigned form_of_one_byte(uint8_t op)
{
	if (op < 0x40) {	/* arithmetic: four with ModRM, two on the accumulator, two not in 64-bit mode */
		unsigned low = op & 7;

		return low < 4 ? F_MODRM : low == 4 ? F_IMM8 : low == 5 ? F_IMM32 : F_BAD;
	}
	if (op >= 0x50 && op <= 0x5f)
		return F_NONE;
	if (op >= 0x70 && op <= 0x7f)
		return F_IMM8;
	if (op >= 0x84 && op <= 0x8f)
		return F_MODRM;
	if ((op >= 0x90 && op <= 0x9f && op != 0x9a) || (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) ||
	    (op >= 0xec && op <= 0xef) || (op >= 0xf8 && op <= 0xfd))
		return F_NONE;
	if (op >= 0xb0 && op <= 0xb7)
		return F_IMM8;
	if (op >= 0xb8 && op <= 0xbf)
		return F_IMM32;
	if ((op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf))
		return F_MODRM;
	switch (op) {
	case 0x63: case 0xfe: case 0xff: case 0xf6: case 0xf7:
		return F_MODRM;
	case 0x68: case 0xa9: case 0xe8: case 0xe9:
		return F_IMM32;
	case 0x69: case 0x81: case 0xc7:
		return F_MODRM | F_IMM32;
	case 0x6a: case 0xa8: case 0xcd: case 0xe0: case 0xe1: case 0xe2: case 0xe3: case 0xe4: case 0xe5: case 0xe6:
	case 0xe7: case 0xeb:
		return F_IMM8;
	case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6:
		return F_MODRM | F_IMM8;
	case 0xc2: return F_IMM16;
	case 0xc3: case 0xc9: case 0xcc: case 0xf4:
		return F_NONE;
	}
	return F_BAD;
}

static unsigned form_of_two_bytes(uint8_t op)
{
	if ((op >= 0x10 && op <= 0x1f) || (op >= 0x28 && op <= 0x2f) || (op >= 0x40 && op <= 0x6f) ||
	    (op >= 0x74 && op <= 0x76) || op == 0x7e || op == 0x7f || (op >= 0x90 && op <= 0x9f) || op >= 0xd0)
		return F_MODRM;
	if (op >= 0x80 && op <= 0x8f)
		return F_IMM32;
	if (op >= 0x70 && op <= 0x73)
		return F_MODRM | F_IMM8;
	switch (op) {
	case 0x05: case 0x06: case 0x08: case 0x09: case 0x0b: case 0x30: case 0x31: case 0x32: case 0x33: case 0x77:
	case 0xa0: case 0xa1: case 0xa2: case 0xa8: case 0xa9:
		return F_NONE;
	case 0x00: case 0x01: case 0x0d:
	case 0xa3:
	case 0xa5:
	case 0xab:
	case 0xad:
	case 0xae:
	case 0xaf:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xb6:
	case 0xb7:
	case 0xb8: case 0xbb: case 0xbc: case 0xbd: case 0xbe: case 0xbf: case 0xc0: case 0xc1: case 0xc7:
		return F_MODRM;
	case 0xa4: case 0xac: case 0xba: case 0xc2: case 0xc4: case 0xc5: case 0xc6:
		return F_MODRM | F_IMM8;
	}
	return op >= 0xc8 && op <= 0xcf ? F_NONE : F_BAD;
}

static bool take_byte(struct decoder *d, uint8_t *ret)
{
	if (d->at >= d->len || d->at >= INSN_MAX_BYTES)
		return false;
	*ret = d->code[d->at++];
	return true;
}

/* A little-endian number of that many bytes, sign-extended; 0 bytes: 0. */
static bool take_number(struct decoder *d, size_t bytes, int64_t *ret)
{
	uint64_t value = 0;

	if (d->at + bytes > d->len || d->at + bytes > INSN_MAX_BYTES)
		return false;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)d->code[d->at++] << 8 * i;
	if (bytes && bytes < 8 && value >> (8 * bytes - 1))
		value |= ~0ull << 8 * bytes;
	*ret = (int64_t)value;
	return true;
}

static bool take_prefixes(struct decoder *d)
{
	while (d->at < d->len && d->at < INSN_MAX_BYTES) {
		uint8_t b = d->code[d->at];

		if (b != 0x66 && b != 0x67 && b != 0xf0 && b != 0xf2 && b != 0xf3 && b != 0x2e && b != 0x3e &&
		    b != 0x64 && b != 0x65)
			break;
		d->insn->has_16_bit |= b == 0x66;
		d->insn->has_prefix = true;
		d->at++;
	}
	if (d->at < d->len && (d->code[d->at] & 0xf0) == 0x40)
		d->insn->rex = d->code[d->at++];
	return d->at < d->len;
}

static bool take_address(struct decoder *d)
{
	struct insn *i = d->insn;
	unsigned mod, rm;
	int64_t disp = 0;
	bool is_taken;

	if (!take_byte(d, &i->modrm))
		return false;
	i->has_modrm = true;
	mod = i->modrm >> 6;
	rm = i->modrm & 7;
	if (mod == 3)
		return true;
	if (rm == 4 && !take_byte(d, &i->sib))
		return false;
	is_taken = take_number(d, mod == 1 ? 1 : mod == 2 || rm == 5 || (rm == 4 && (i->sib & 7) == 5) ? 4 : 0, &disp);
	i->disp = (int32_t)disp;
	return is_taken;
}

/* In 64-bit mode these bytes are always AVX or AVX-512, whose fields select the opcode map. */
static bool take_vex(struct decoder *d, uint8_t first, unsigned *ret_form)
{
	uint8_t byte, rest, map = 1;

	if (!take_byte(d, &byte))
		return false;
	if (first == 0xc4)
		map = byte & 31;
	else if (first == 0x62)
		map = byte & 7;
	for (unsigned i = 0; i < (first == 0xc5 ? 0 : first == 0xc4 ? 1 : 2); i++)
		if (!take_byte(d, &rest))
			return false;
	d->insn->is_vex = true;
	if (!take_byte(d, &d->insn->opcode))
		return false;
	*ret_form = F_MODRM;
	if (map == 3)
		*ret_form = F_MODRM | F_IMM8;
	else if (map == 1)
		*ret_form = d->insn->opcode == 0x77 ? F_NONE : form_of_two_bytes(d->insn->opcode) & (F_MODRM | F_IMM8);
	return true;
}

static bool take_opcode(struct decoder *d, unsigned *ret_form)
{
	struct insn *i = d->insn;

	if (!take_byte(d, &i->opcode))
		return false;
	if (i->opcode == 0xc4 || i->opcode == 0xc5 || i->opcode == 0x62)
		return take_vex(d, i->opcode, ret_form);
	if (i->opcode != 0x0f) {
		*ret_form = form_of_one_byte(i->opcode);
		return true;
	}
	i->is_two_byte = true;
	if (!take_byte(d, &i->opcode))
		return false;
	*ret_form = form_of_two_bytes(i->opcode);
	if (i->opcode == 0x38 || i->opcode == 0x3a) {
		*ret_form = i->opcode == 0x38 ? F_MODRM : F_MODRM | F_IMM8;
		return take_byte(d, &i->third);
	}
	return true;
}

/* An operand is the stack pointer itself: what the instruction does with it is not examined. */
static bool names_rsp(const struct insn *i)
{
	if (!i->has_modrm)
		return !i->is_two_byte && i->opcode >= 0x90 && i->opcode <= 0x97 && (i->opcode & 7) == RSP &&
		       !(i->rex & 1);
	if ((i->modrm >> 3 & 7) == RSP && !(i->rex & 4))
		return true;
	return i->modrm >> 6 == 3 && (i->modrm & 7) == RSP && !(i->rex & 1);
}

static enum insn_kind kind_of(const struct insn *i)
{
	uint8_t op = i->opcode;

	if (i->is_vex)
		return INSN_PLAIN;
	if (i->is_two_byte) {
		if (op >= 0x80 && op <= 0x8f)
			return i->has_prefix ? INSN_OTHER : INSN_JUMP;
		return op == 0x05 || op == 0x0b || names_rsp(i) ? INSN_OTHER : INSN_PLAIN;
	}
	if (op >= 0x50 && op <= 0x57)
		return i->has_prefix || (i->rex && i->rex != 0x41) ? INSN_OTHER : INSN_PUSH;
	if (op == 0x90)
		return i->has_prefix || i->rex ? INSN_PLAIN : INSN_NOP;
	if ((op >= 0x70 && op <= 0x7f) || op == 0xe9 || op == 0xeb)
		return i->has_prefix ? INSN_OTHER : INSN_JUMP;
	if (op == 0xe8)
		return i->has_prefix ? INSN_OTHER : INSN_CALL;
	if ((op >= 0x58 && op <= 0x5f) || op == 0x68 || op == 0x6a || op == 0x8f || op == 0xc2 || op == 0xc3 ||
	    op == 0xc9 || op == 0xcc || op == 0xf4 || op == 0x9c || op == 0x9d || op == 0xcd ||
	    (op >= 0xe0 && op <= 0xe3) || names_rsp(i))
		return INSN_OTHER;
	if (op == 0xff && (i->modrm >> 3 & 7) >= 2)	/* calls, jumps and push */
		return INSN_OTHER;
	/* the opcode extension is where a register would be */
	return INSN_PLAIN;
}

static size_t bytes_of_immediate(const struct insn *i, unsigned form)
{
	bool is_one_byte = !i->is_two_byte && !i->is_vex;

	if (is_one_byte && i->opcode >= 0xb8 && i->opcode <= 0xbf && i->rex & 8)
		return 8;
	if (is_one_byte && (i->opcode == 0xf6 || i->opcode == 0xf7) && (i->modrm >> 3 & 7) < 2)
		return i->opcode == 0xf6 ? 1 : i->has_16_bit ? 2 : 4;
	if (form & F_IMM32)
		return i->has_16_bit ? 2 : 4;
	return form & F_IMM16 ? 2 : form & F_IMM8 ? 1 : 0;
}

size_t insn_decode(const uint8_t *code, size_t len, struct insn *ret)
{
	struct decoder d = { .code = code, .len = len, .insn = ret };
	unsigned form = F_BAD;

	*ret = (struct insn){ .kind = INSN_UNKNOWN };
	if (!take_prefixes(&d) || !take_opcode(&d, &form) || form == F_BAD)
		return 0;
	/* with that prefix a branch has another length on some processors */
	if (ret->has_16_bit && !ret->is_vex &&
	    (ret->is_two_byte ? (ret->opcode & 0xf0) == 0x80 : ret->opcode == 0xe8 || ret->opcode == 0xe9))
		return 0;
	if (form & F_MODRM && !take_address(&d))
		return 0;
	if (!ret->is_two_byte && !ret->is_vex && ret->opcode == 0x8f && ret->modrm >> 3 & 7)
		return 0;	/* AMD's XOP */
	if (!take_number(&d, bytes_of_immediate(ret, form), &ret->imm))
		return 0;
	ret->kind = kind_of(ret);
	return d.at;
}
