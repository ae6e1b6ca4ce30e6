/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/insn_x86.h"

#include <string.h>

#define INSN_MAX_BYTES 15
#define WALK_MAX 8	/* instructions that a probe is put off by */
#define RSP 4

/* What an opcode is followed by. */
enum form {
	F_BAD = 0,
	F_NONE = 1,
	F_MODRM = 2,
	F_IMM8 = 4,
	F_IMM32 = 8,	/* 16 bits with an operand-size prefix */
	F_IMM16 = 16,
};

struct insn {
	const uint8_t *code;
	size_t len, at;
	uint8_t opcode, modrm, rex;
	bool is_two_byte, has_modrm, has_16_bit, has_prefix;
};

static unsigned form_of_one_byte(uint8_t op)
{
	if (op < 0x40) {	/* arithmetic: four with ModRM, two on the accumulator, two that are gone in 64 bits */
		unsigned low = op & 7;

		return low < 4 ? F_MODRM : low == 4 ? F_IMM8 : low == 5 ? F_IMM32 : F_BAD;
	}
	if (op >= 0x50 && op <= 0x5f)
		return F_NONE;
	if (op >= 0x70 && op <= 0x7f)
		return F_IMM8;
	if (op >= 0x84 && op <= 0x8f)
		return F_MODRM;
	if (op >= 0x90 && op <= 0x99)
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
	case 0x6a: case 0xa8: case 0xeb:
		return F_IMM8;
	case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6:
		return F_MODRM | F_IMM8;
	case 0xc2:
		return F_IMM16;
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
	case 0x05: case 0x0b: case 0x31: case 0x77: case 0xa2:
		return F_NONE;
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
	case 0xa4: case 0xac: case 0xba: case 0xc2: case 0xc6:
		return F_MODRM | F_IMM8;
	}
	return op >= 0xc8 && op <= 0xcf ? F_NONE : F_BAD;
}

static bool take(struct insn *i, uint8_t *ret)
{
	if (i->at >= i->len || i->at >= INSN_MAX_BYTES)
		return false;
	*ret = i->code[i->at++];
	return true;
}

static bool skip(struct insn *i, size_t bytes)
{
	i->at += bytes;
	return i->at <= i->len && i->at <= INSN_MAX_BYTES;
}

static bool take_prefixes(struct insn *i)
{
	while (i->at < i->len && i->at < INSN_MAX_BYTES) {
		uint8_t b = i->code[i->at];

		if (b != 0x66 && b != 0xf2 && b != 0xf3 && b != 0x2e && b != 0x3e && b != 0x64 && b != 0x65)
			break;
		i->has_16_bit |= b == 0x66;
		i->has_prefix = true;
		i->at++;
	}
	if (i->at < i->len && (i->code[i->at] & 0xf0) == 0x40)
		i->rex = i->code[i->at++];
	return i->at < i->len;
}

static bool skip_address(struct insn *i)
{
	unsigned mod = i->modrm >> 6, rm = i->modrm & 7;
	uint8_t sib = 0;

	if (mod == 3)
		return true;
	if (rm == 4 && !take(i, &sib))
		return false;
	if (mod == 1)
		return skip(i, 1);
	if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
		return skip(i, 4);
	return true;
}

static bool take_opcode(struct insn *i, unsigned *ret_form)
{
	if (!take(i, &i->opcode))
		return false;
	if (i->opcode != 0x0f) {
		*ret_form = form_of_one_byte(i->opcode);
		return true;
	}
	i->is_two_byte = true;
	if (!take(i, &i->opcode))
		return false;
	*ret_form = form_of_two_bytes(i->opcode);
	if (i->opcode == 0x38 || i->opcode == 0x3a) {
		*ret_form = i->opcode == 0x38 ? F_MODRM : F_MODRM | F_IMM8;
		return skip(i, 1);
	}
	return true;
}

/* An operand that is the stack pointer itself: what the instruction does with it is not looked at. */
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
	    op == 0xc9 || op == 0xcc || op == 0xf4 || names_rsp(i))
		return INSN_OTHER;
	if (op == 0xff && (i->modrm >> 3 & 7) >= 2)	/* calls, jumps and push */
		return INSN_OTHER;
	/* the group's number stands where a register would */
	return INSN_PLAIN;
}

size_t insn_decode(const uint8_t *code, size_t len, enum insn_kind *ret_kind)
{
	struct insn i = { .code = code, .len = len };
	unsigned form = F_BAD;
	size_t imm = 0;

	*ret_kind = INSN_UNKNOWN;
	if (!take_prefixes(&i) || !take_opcode(&i, &form) || form == F_BAD)
		return 0;
	/* with that prefix a branch is of another length on some processors */
	if (i.has_16_bit && (i.is_two_byte ? (i.opcode & 0xf0) == 0x80 : i.opcode == 0xe8 || i.opcode == 0xe9))
		return 0;
	if (form & F_MODRM) {
		i.has_modrm = true;
		if (!take(&i, &i.modrm) || !skip_address(&i))
			return 0;
	}
	if (form & F_IMM8)
		imm = 1;
	if (form & F_IMM16)
		imm = 2;
	if (form & F_IMM32)
		imm = i.has_16_bit ? 2 : 4;
	if (!i.is_two_byte && i.opcode >= 0xb8 && i.opcode <= 0xbf && i.rex & 8)
		imm = 8;
	if (!i.is_two_byte && (i.opcode == 0xf6 || i.opcode == 0xf7) && (i.modrm >> 3 & 7) < 2)
		imm = i.opcode == 0xf6 ? 1 : i.has_16_bit ? 2 : 4;
	if (!skip(&i, imm))
		return 0;
	*ret_kind = kind_of(&i);
	return i.at;
}

static bool insn_is_endbr64(const uint8_t *code, size_t len)
{
	return len >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0;
}

/*
 * Go's functions compare the stack pointer to its bound first, and jump to get a longer stack: the place of that jump,
 * or 0.  A large frame's bound is computed before.
 */
static size_t go_entry_place(const uint8_t *code, size_t len)
{
	size_t at = 0;

	if (len >= 8 && !memcmp(code, "\x4c\x8d\x64\x24", 4))	/* lea -N(%rsp),%r12 */
		at = 5;
	else if (len >= 8 && !memcmp(code, "\x4c\x8d\xa4\x24", 4))
		at = 8;
	if (at + 6 > len || memcmp(code + at, at ? "\x4d\x3b\x66\x10" : "\x49\x3b\x66\x10", 4) != 0)
		return 0;	/* cmp 16(%r14),%r12 or %rsp */
	at += 4;
	return code[at] == 0x76 || (code[at] == 0x0f && code[at + 1] == 0x86) ? at : 0;	/* jbe */
}

size_t insn_entry_place(const uint8_t *code, size_t len)
{
	size_t at = insn_is_endbr64(code, len) ? 4 : 0, go_at = go_entry_place(code, len);

	if (go_at)
		return go_at;
	for (unsigned n = 0; n < WALK_MAX && at < len; n++) {
		enum insn_kind kind;
		size_t bytes = insn_decode(code + at, len - at, &kind);

		if (kind == INSN_PUSH || kind == INSN_NOP)
			return at;
		if (kind != INSN_PLAIN)
			break;
		at += bytes;
	}
	return 0;
}

size_t insn_return_place(const uint8_t *code, size_t len)
{
	size_t at = 0;

	for (unsigned n = 0; n < WALK_MAX && at < len; n++) {
		enum insn_kind kind;
		size_t bytes = insn_decode(code + at, len - at, &kind);

		if (kind == INSN_PUSH || kind == INSN_NOP || kind == INSN_JUMP || kind == INSN_CALL)
			return at;
		if (kind != INSN_PLAIN)
			break;
		at += bytes;
	}
	return 0;
}
