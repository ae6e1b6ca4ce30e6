/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_INSN_X86_H
#define BASE_INSN_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* x86-64 instructions: their length, and their effect on the stack. */

enum insn_kind {
	INSN_UNKNOWN = 0,	/* not decoded: what follows is not known */
	INSN_PLAIN,		/* continues with the next instruction, stack pointer unchanged */
	INSN_PUSH,		/* the following are emulated by the kernel at a probe, without single-stepping */
	INSN_NOP,
	INSN_JUMP,		/* also conditional */
	INSN_CALL,
	INSN_OTHER,		/* changes the stack pointer, or does not continue with the next instruction */
};

/* Its parts, as in the processor's manual; missing ones are 0. */
struct insn {
	enum insn_kind kind;
	uint8_t opcode;	/* the second byte, if there are two or more */
	uint8_t third;	/* of 0f 38 and 0f 3a */
	uint8_t modrm, sib, rex;
	bool is_two_byte, is_vex, has_modrm, has_16_bit, has_prefix;
	int32_t disp;	/* displacement of a memory operand */
	int64_t imm;	/* also a jump's distance from the next instruction */
};

/* The length of the instruction at code, where len bytes are available; 0: unknown. */
size_t insn_decode(const uint8_t *code, size_t len, struct insn *ret);

/* lea disp(%rip): takes the address at `disp` after the instruction. */
static inline bool insn_is_address(const struct insn *i)
{
	return !i->is_two_byte && !i->is_vex && i->opcode == 0x8d && i->modrm >> 6 == 0 && (i->modrm & 7) == 5;
}

#endif
