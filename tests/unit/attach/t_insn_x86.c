/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <string.h>

#include "attach/probe.h"
#include "base/insn_x86.h"

#define CODE(bytes) (const uint8_t *)(bytes), sizeof(bytes) - 1

static void test_lengths(void)
{
	static const struct {
		const char *code;
		size_t len;
		enum insn_kind kind;
	} known[] = {
		{ "\xf3\x0f\x1e\xfa", 4, INSN_PLAIN },				/* endbr64 */
		{ "\x55", 1, INSN_PUSH },					/* push %rbp */
		{ "\x41\x57", 2, INSN_PUSH },					/* push %r15 */
		{ "\x90", 1, INSN_NOP },
		{ "\x0f\x1f\x44\x00\x00", 5, INSN_PLAIN },			/* nopl 0x0(%rax,%rax,1) */
		{ "\x48\x89\xe5", 3, INSN_OTHER },				/* mov %rsp,%rbp: it names the stack pointer */
		{ "\x48\x83\xec\x18", 4, INSN_OTHER },				/* sub $0x18,%rsp */
		{ "\x48\x89\xfb", 3, INSN_PLAIN },				/* mov %rdi,%rbx */
		{ "\x89\x44\x24\x2c", 4, INSN_PLAIN },				/* mov %eax,0x2c(%rsp) */
		{ "\x48\x8b\x05\xcb\x8f\x07\x00", 7, INSN_PLAIN },		/* mov 0x78fcb(%rip),%rax */
		{ "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10, INSN_PLAIN },	/* movabs */
		{ "\xb8\x01\x00\x00\x00", 5, INSN_PLAIN },			/* mov $1,%eax */
		{ "\x66\xb8\x01\x00", 4, INSN_PLAIN },				/* mov $1,%ax */
		{ "\xf6\xc1\x01", 3, INSN_PLAIN },				/* test $1,%cl */
		{ "\xf6\xd9", 2, INSN_PLAIN },					/* neg %cl */
		{ "\x83\x3d\x81\xea\x1a\x00\x00", 7, INSN_PLAIN },		/* cmpl $0,0x1aea81(%rip) */
		{ "\x8b\x84\xc8\x00\x01\x00\x00", 7, INSN_PLAIN },		/* mov 0x100(%rax,%rcx,8),%eax */
		{ "\xe8\x00\x00\x00\x00", 5, INSN_CALL },
		{ "\xeb\x10", 2, INSN_JUMP },
		{ "\x74\x10", 2, INSN_JUMP },
		{ "\x0f\x84\x00\x01\x00\x00", 6, INSN_JUMP },
		{ "\xff\xd0", 2, INSN_OTHER },					/* call *%rax */
		{ "\xff\xc0", 2, INSN_PLAIN },					/* inc %eax */
		{ "\x5d", 1, INSN_OTHER },					/* pop %rbp */
		{ "\xc3", 1, INSN_OTHER },
		{ "\x66\x0f\x38\x00\xc1", 5, INSN_PLAIN },			/* pshufb */
		{ "\xf2\x0f\x10\x05\x00\x00\x00\x00", 8, INSN_PLAIN },		/* movsd 0x0(%rip),%xmm0 */
		{ "\xc5\xf8\x77", 3, INSN_PLAIN },				/* vzeroupper */
		{ "\xc4\xe3\x7d\x19\xc1\x01", 6, INSN_PLAIN },			/* vextractf128 $1,%ymm0,%xmm1 */
		{ "\x62\xf1\x7c\x48\x10\x06", 6, INSN_PLAIN },			/* vmovups (%rsi),%zmm0 */
		{ "\xf3\x48\xab", 3, INSN_PLAIN },				/* rep stos */
		{ "\xf0\x0f\xb1\x17", 4, INSN_PLAIN },				/* lock cmpxchg %edx,(%rdi) */
		{ "\x66\xe8\x00\x00\x00\x00", 0, INSN_UNKNOWN },
		{ "\x06\x00\x00\x00\x00\x00", 0, INSN_UNKNOWN },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
		uint8_t code[16] = { 0 };
		struct insn insn;

		memcpy(code, known[i].code, known[i].len ? known[i].len : 6);
		g_assert_cmpuint(insn_decode(code, sizeof(code), &insn), ==, known[i].len);
		g_assert_cmpint(insn.kind, ==, known[i].kind);
		/* cut short it is unknown, and no byte behind the end is read: the sanitizers look */
		for (size_t len = 0; len < known[i].len; len++) {
			g_autofree uint8_t *cut = g_memdup2(code, len);

			g_assert_cmpuint(insn_decode(cut, len, &insn), ==, 0);
		}
	}
}

static void test_places(void)
{
	/* endbr64; push %rbx */
	g_assert_cmpuint(insn_entry_place(CODE("\xf3\x0f\x1e\xfa\x53\x90")), ==, 4);
	/* mov %rdi,%rax; push %rbx */
	g_assert_cmpuint(insn_entry_place(CODE("\x48\x89\xf8\x53")), ==, 3);
	/* sub $0x18,%rsp; push %rbx: the stack is another one there */
	g_assert_cmpuint(insn_entry_place(CODE("\x48\x83\xec\x18\x53")), ==, 0);
	/* test %edi,%edi; je: a loop may lead back there */
	g_assert_cmpuint(insn_entry_place(CODE("\x85\xff\x74\x10\x53")), ==, 0);
	g_assert_cmpuint(insn_entry_place(CODE("")), ==, 0);
	/* Go: cmp 16(%r14),%rsp; jbe, and the same with a large frame, whose bound is computed; others compare, too */
	g_assert_cmpuint(insn_entry_place(CODE("\x49\x3b\x66\x10\x76\x20\x48\x83\xec\x18")), ==, 4);
	g_assert_cmpuint(insn_entry_place(CODE("\x49\x3b\x66\x10\x0f\x86\x20\x01\x00\x00")), ==, 4);
	g_assert_cmpuint(insn_entry_place(CODE("\x4c\x8d\x64\x24\xe8\x4d\x3b\x66\x10\x76\x20")), ==, 9);
	g_assert_cmpuint(insn_entry_place(CODE("\x4c\x8d\xa4\x24\x00\xff\xff\xff\x4d\x3b\x66\x10\x76\x20")), ==, 12);
	g_assert_cmpuint(insn_entry_place(CODE("\x49\x3b\x66\x10\x75\x20\x48\x83\xec\x18")), ==, 0);
	g_assert_cmpuint(insn_entry_place(CODE("\x49\x3b\x66\x10\x76")), ==, 0);
	/* mov %eax,0x2c(%rsp); mov 0x2c(%rsp),%edi; call */
	g_assert_cmpuint(insn_return_place(CODE("\x89\x44\x24\x2c\x8b\x7c\x24\x2c\xe8\x01\x02\x03\x04")), ==, 8);
	/* add $8,%rsp; ret */
	g_assert_cmpuint(insn_return_place(CODE("\x48\x83\xc4\x08\xc3")), ==, 0);
	/* test %eax,%eax; jne */
	g_assert_cmpuint(insn_return_place(CODE("\x85\xc0\x75\x10")), ==, 2);
}

static void test_any_bytes(void)
{
	GRand *rand = g_rand_new_with_seed(30);

	for (unsigned i = 0; i < 200000; i++) {
		size_t len = (size_t)g_rand_int_range(rand, 0, 20), at;
		g_autofree uint8_t *code = g_malloc(MAX(len, 1));
		struct insn insn;

		for (size_t k = 0; k < len; k++)
			code[k] = (uint8_t)g_rand_int_range(rand, 0, 256);
		at = insn_decode(code, len, &insn);
		g_assert_cmpuint(at, <=, MIN(len, 15));
		g_assert_true((at == 0) == (insn.kind == INSN_UNKNOWN));
		at = insn_entry_place(code, len);
		g_assert_true(at == 0 || at < len);
		at = insn_return_place(code, len);
		g_assert_true(at == 0 || at < len);
	}
	g_rand_free(rand);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/insn/lengths", test_lengths);
	g_test_add_func("/insn/places", test_places);
	g_test_add_func("/insn/any-bytes", test_any_bytes);
	return g_test_run();
}
