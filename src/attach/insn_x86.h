/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_INSN_X86_H
#define ATTACH_INSN_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instructions of 64-bit x86, as far as it takes to put a probe where it costs least. */

enum insn_kind {
	INSN_UNKNOWN = 0,	/* not decoded: nothing is known of what follows */
	INSN_PLAIN,		/* goes on to the next one, the stack pointer as it was */
	INSN_PUSH,		/* these the kernel emulates where a probe lies: it does not stop and step over them */
	INSN_NOP,
	INSN_JUMP,		/* or a conditional one */
	INSN_CALL,
	INSN_OTHER,		/* changes the stack pointer, or does not go on to the next one */
};

/* The length of the instruction at code, of which len bytes are there; 0: unknown. */
size_t insn_decode(const uint8_t *code, size_t len, enum insn_kind *ret_kind);

/*
 * How far behind the entry of a function a probe is to lie: at the first push or nop, if each run of the function
 * passes it once, with the stack as at the entry.  0: at the entry.
 */
size_t insn_entry_place(const uint8_t *code, size_t len);
/*
 * The same behind a call: at the first instruction that the kernel emulates, with the stack pointer as after the call.
 */
size_t insn_return_place(const uint8_t *code, size_t len);

#endif
