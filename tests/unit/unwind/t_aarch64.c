/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Unwinding on arm64, on any machine: what call frame information becomes, and what the rules do. */
#include <elf.h>
#include <glib.h>
#include <string.h>

#include "abi/unwind_abi.h"
#include "elf_image.h"
#include "unwind/arch.h"
#include "unwind/table.h"

#define CIE_RA_COLUMN 14	/* as put_cie_of() writes it */

/* The rows of one function of 64 bytes, in words. */
static char *rows_of(const char *program, size_t bytes)
{
	static const char *const saved[] = { "link", "record", "return", "return, x29 lost" };
	g_autoptr(GByteArray) frame = g_byte_array_new(), image = NULL;
	uint32_t cie = put_cie_of(frame, "zR", "\x1b", 1, 4, "\x0c\x1f\x00", 3);
	GString *s = g_string_new(NULL);
	struct unwind_table *t;

	frame->data[cie + CIE_RA_COLUMN] = AARCH64_X30;
	put_fde(frame, cie, 0, 64, program, bytes);
	image = image_of(IMAGE_SECTION, frame, NULL);
	((Elf64_Ehdr *)(void *)image->data)->e_machine = EM_AARCH64;
	t = unwind_table_build_memory(image->data, image->len, NULL);
	g_assert_nonnull(t);
	for (uint32_t i = 0; i + 1 < t->row_cnt; i++) {	/* the last is the gap behind it */
		uint32_t rule = t->rows[i].rule;

		g_string_append_printf(s, "%s%x ", i ? "; " : "", t->rows[i].pc);
		switch (unwind_rule_cfa(rule)) {
		case UNWIND_CFA_END:
			g_string_append(s, "end");
			continue;
		case UNWIND_CFA_COMPLEX:
			g_string_append(s, "complex");
			continue;
		}
		g_string_append_printf(s, "%s+%d %s", unwind_rule_cfa(rule) == UNWIND_CFA_SP ? "sp" : "x29",
				       unwind_rule_offset(rule), saved[unwind_rule_bp(rule)]);
		if (unwind_rule_bp(rule))
			g_string_append_printf(s, " %d", unwind_rule_bp_offset(rule));
	}
	unwind_table_free(t);
	return g_string_free(s, FALSE);
}

#define ROWS(program, rows) \
	do { \
		g_autofree char *got_ = rows_of(program, sizeof(program) - 1); \
		g_assert_cmpstr(got_, ==, rows); \
	} while (0)

static void test_rows(void)
{
	/* stp x29, x30, [sp, -32]!; ...; ldp */
	ROWS("\x41\x0e\x20\x9d\x04\x9e\x03\x44\xde\xdd\x0e\x00", "0 sp+0 link; 4 sp+32 record -32; 14 sp+0 link");
	/* the same with paciasp before */
	ROWS("\x41\x2d\x41\x0e\x20\x9d\x04\x9e\x03", "0 sp+0 link; 8 sp+32 record -32");
	/* mov x29, sp: the frame goes by it */
	ROWS("\x41\x0e\x20\x9d\x04\x9e\x03\x41\x0d\x1d", "0 sp+0 link; 4 sp+32 record -32; 8 x29+32 record -32");
	/* a frame of 8208 bytes, saved at its lower end, which is nearer to sp */
	ROWS("\x41\x0e\x90\x40\x9d\x82\x08\x9e\x81\x08", "0 sp+0 link; 4 sp+8208 record 0");
	/* in the middle of 20,000 bytes neither end is near enough */
	ROWS("\x41\x0e\xa0\x9c\x01\x9d\xe2\x09\x9e\xe1\x09", "0 sp+0 link; 4 complex");
	/* str x30, [sp, -16]! */
	ROWS("\x41\x0e\x10\x9e\x02", "0 sp+0 link; 4 sp+16 return -16");
	/* x30 and x29 apart */
	ROWS("\x41\x0e\x20\x9e\x04\x9d\x02", "0 sp+0 link; 4 sp+32 return, x29 lost -32");
	/* x29 alone is saved: its place would be lost */
	ROWS("\x41\x0e\x10\x9d\x02", "0 sp+0 link; 4 complex");
	/* _start and clone(): cfi_undefined x30 */
	ROWS("\x07\x1e", "0 end");
	/* the CFA by another register, and by an expression */
	ROWS("\x41\x0c\x09\x10", "0 sp+0 link; 4 complex");
	ROWS("\x41\x0f\x02\x8f\x00", "0 sp+0 link; 4 complex");
}

#define STACK 0x7ff000u
#define WORDS 128
static uint64_t words[WORDS];
static uint64_t code;

static bool read_words(void *ctx, uint64_t addr, void *ret, size_t bytes)
{
	if (addr == 0x400100 && bytes == sizeof(code)) {
		memcpy(ret, &code, sizeof(code));
		return true;
	}
	if (addr < STACK || addr - STACK > sizeof(words) - bytes)
		return false;
	memcpy(ret, (const char *)words + (addr - STACK), bytes);
	return true;
}

static struct unwind_regs begin(uint64_t sp, uint64_t x29, uint64_t x30)
{
	struct unwind_regs regs = { .ip = 0x400000, .known = UINT32_MAX };

	regs.reg[AARCH64_SP] = sp;
	regs.reg[AARCH64_X29] = x29;
	regs.reg[AARCH64_X30] = x30;
	return regs;
}

static uint32_t rule(enum unwind_cfa cfa, int bytes, enum unwind_arm64_saved saved, int offset)
{
	return (uint32_t)cfa << 16 | ((uint32_t)(bytes / 8) & 0xffff) | (uint32_t)saved << 20 | (uint32_t)(offset / 8) << 22;
}

#define SIGNED_RETURN 0x00ab000000500004ULL	/* with a code of pointer authentication */

static void test_steps(void)
{
	struct unwind_regs regs = begin(STACK, STACK + 64, SIGNED_RETURN);

	/* the innermost frame has saved nothing */
	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_SP, 0, UNWIND_ARM64_LINK, 0), &regs, read_words, NULL), ==, UNWIND_STEP_OK);
	g_assert_cmphex(regs.ip, ==, 0x500004);
	g_assert_cmphex(regs.reg[AARCH64_SP], ==, STACK);
	/* none but the innermost can have */
	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_SP, 0, UNWIND_ARM64_LINK, 0), &regs, read_words, NULL), ==,
			UNWIND_STEP_UNKNOWN_REG);
	/* a record at the frame's lower end, told from its upper one and from sp */
	words[0] = STACK + 96;
	words[1] = SIGNED_RETURN + 4;
	for (int offset = -32; offset <= 0; offset += 32) {
		regs = begin(STACK, 0x1234, 0);
		g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_SP, 32, UNWIND_ARM64_RECORD, offset), &regs, read_words, NULL), ==,
				UNWIND_STEP_OK);
		g_assert_cmphex(regs.ip, ==, 0x500008);
		g_assert_cmphex(regs.reg[AARCH64_SP], ==, STACK + 32);
		g_assert_cmphex(regs.reg[AARCH64_X29], ==, STACK + 96);
	}
	/* the return address alone: x29 stays what it was, or is lost */
	words[2] = 0x500010;
	regs = begin(STACK, 0x1234, 0);
	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_SP, 32, UNWIND_ARM64_RETURN, -16), &regs, read_words, NULL), ==, UNWIND_STEP_OK);
	g_assert_cmphex(regs.ip, ==, 0x500010);
	g_assert_cmphex(regs.reg[AARCH64_X29], ==, 0x1234);
	regs = begin(STACK, STACK, 0);
	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_SP, 32, UNWIND_ARM64_RETURN_LOST, -16), &regs, read_words, NULL), ==,
			UNWIND_STEP_OK);
	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_BP, 32, UNWIND_ARM64_RECORD, -32), &regs, read_words, NULL), ==,
			UNWIND_STEP_UNKNOWN_REG);
	/* a stack that runs backwards, and one that cannot be read */
	regs = begin(STACK + 64, STACK, 0);
	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_BP, 32, UNWIND_ARM64_RECORD, -32), &regs, read_words, NULL), ==,
			UNWIND_STEP_BACKWARDS);
	regs = begin(STACK + 8 * WORDS, 0, 0);
	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_SP, 32, UNWIND_ARM64_RECORD, -32), &regs, read_words, NULL), ==,
			UNWIND_STEP_MEMORY);
}

/* After a step by the frame pointer nothing but the next frame's own record says where that one ends. */
static void test_frame_pointer(void)
{
	struct unwind_regs regs = begin(STACK, STACK + 16, 0);

	memset(words, 0, sizeof(words));
	words[2] = STACK + 64;
	words[3] = 0x500000;
	words[8] = STACK + 512;
	words[9] = 0x600000;
	g_assert_cmpint(unwind_aarch64_step_fp(&regs, read_words, NULL), ==, UNWIND_STEP_OK);
	g_assert_cmphex(regs.ip, ==, 0x500000);
	g_assert_cmphex(regs.known & (1u << AARCH64_SP), ==, 0);
	struct unwind_regs other = regs;

	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_SP, 48, UNWIND_ARM64_RETURN, -16), &other, read_words, NULL), ==,
			UNWIND_STEP_UNKNOWN_REG);
	g_assert_cmpint(unwind_aarch64_step(rule(UNWIND_CFA_SP, 48, UNWIND_ARM64_RECORD, -32), &regs, read_words, NULL), ==, UNWIND_STEP_OK);
	g_assert_cmphex(regs.ip, ==, 0x600000);
	g_assert_cmphex(regs.reg[AARCH64_SP], ==, STACK + 64 + 32);
}

/* struct rt_sigframe as the kernel lays it out: siginfo, ucontext. */
static void test_signal(void)
{
	struct unwind_regs regs = begin(STACK, 0, 0);
	uint64_t *context = words + UNWIND_ARM64_SIGNAL_FRAME / 8;

	memset(words, 0, sizeof(words));
	context[UNWIND_ARM64_UCONTEXT_X29 / 8] = STACK + 700;
	context[UNWIND_ARM64_UCONTEXT_X29 / 8 + 1] = SIGNED_RETURN;
	context[UNWIND_ARM64_UCONTEXT_SP / 8] = STACK + 640;
	context[UNWIND_ARM64_UCONTEXT_PC / 8] = 0x700000;
	code = 0xd4000001d2801168ULL;
	regs.ip = 0x400100;
	g_assert_cmpint(unwind_aarch64_step_fp(&regs, read_words, NULL), ==, UNWIND_STEP_SIGNAL);
	g_assert_cmphex(regs.ip, ==, 0x700000);
	g_assert_cmphex(regs.reg[AARCH64_SP], ==, STACK + 640);
	g_assert_cmphex(regs.reg[AARCH64_X29], ==, STACK + 700);
	g_assert_cmphex(regs.reg[AARCH64_X30], ==, 0x500004);
	/* other code is no signal's return */
	code--;
	regs = begin(STACK, 0, 0);
	regs.ip = 0x400100;
	g_assert_cmpint(unwind_aarch64_step_fp(&regs, read_words, NULL), ==, UNWIND_STEP_END);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/unwind/aarch64/rows", test_rows);
	g_test_add_func("/unwind/aarch64/steps", test_steps);
	g_test_add_func("/unwind/aarch64/frame-pointer", test_frame_pointer);
	g_test_add_func("/unwind/aarch64/signal", test_signal);
	return g_test_run();
}
