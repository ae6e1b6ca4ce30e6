/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/probe.h"

#include <string.h>

#include "base/insn_x86.h"

#define WALK_MAX 8	/* maximal number of instructions to skip */

static bool insn_is_endbr64(const uint8_t *code, size_t len)
{
	return len >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0;
}

/*
 * Go's functions first compare the stack pointer to its limit, and jump to grow the stack: the place of that jump, or
 * 0. For a large frame the compared value is computed before.
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

/* The first instruction of these kinds (1 << enum insn_kind) from `at` on, behind plain ones only; 0: none. */
static size_t first_of_kinds(const uint8_t *code, size_t len, size_t at, unsigned kinds)
{
	for (unsigned n = 0; n < WALK_MAX && at < len; n++) {
		struct insn insn;
		size_t bytes = insn_decode(code + at, len - at, &insn);

		if (kinds >> insn.kind & 1)
			return at;
		if (insn.kind != INSN_PLAIN)
			break;
		at += bytes;
	}
	return 0;
}

size_t insn_entry_place(const uint8_t *code, size_t len)
{
	size_t go_at = go_entry_place(code, len);

	return go_at ? go_at
		     : first_of_kinds(code, len, insn_is_endbr64(code, len) ? 4 : 0, 1 << INSN_PUSH | 1 << INSN_NOP);
}

size_t insn_return_place(const uint8_t *code, size_t len)
{
	return first_of_kinds(code, len, 0, 1 << INSN_PUSH | 1 << INSN_NOP | 1 << INSN_JUMP | 1 << INSN_CALL);
}
