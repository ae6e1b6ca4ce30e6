/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_INSN_X86_H
#define BASE_INSN_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instructions of 64-bit x86: how long they are, and what they do to the stack. */

enum insn_kind {
	INSN_UNKNOWN = 0,	/* not decoded: nothing is known of what follows */
	INSN_PLAIN,		/* goes on to the next one, the stack pointer as it was */
	INSN_PUSH,		/* these the kernel emulates where a probe lies: it does not stop and step over them */
	INSN_NOP,
	INSN_JUMP,		/* or a conditional one */
	INSN_CALL,
	INSN_OTHER,		/* changes the stack pointer, or does not go on to the next one */
};

/* Its parts, as in the processor's manual; what it has not is 0. */
struct insn {
	enum insn_kind kind;
	uint8_t opcode;	/* of two bytes and more: the second */
	uint8_t third;	/* of 0f 38 and 0f 3a */
	uint8_t modrm, sib, rex;
	bool is_two_byte, is_vex, has_modrm, has_16_bit, has_prefix;
	int32_t disp;	/* of an operand in memory */
	int64_t imm;	/* also the distance of a jump from the next instruction */
};

/* The length of the instruction at code, of which len bytes are there; 0: unknown. */
size_t insn_decode(const uint8_t *code, size_t len, struct insn *ret);

/* lea disp(%rip): takes the address of what lies `disp` behind it. */
static inline bool insn_is_address(const struct insn *i)
{
	return !i->is_two_byte && !i->is_vex && i->opcode == 0x8d && i->modrm >> 6 == 0 && (i->modrm & 7) == 5;
}

#endif
