/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rows found in instructions: of short pieces of code, of libraries against the compiler's own, and of any bytes. */
#include <fcntl.h>
#include <glib.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "abi/unwind_abi.h"
#include "base/elf_file.h"
#include "elf_image.h"
#include "unwind/arch.h"
#include "unwind/cfi.h"
#include "unwind/frames.h"
#include "unwind/table.h"

#define CODE(bytes) (const uint8_t *)(bytes), sizeof(bytes) - 1

static void check_rule(const char *what, const uint8_t *code, size_t len, const char *expected)
{
	struct code_state state = code_x86_64.entry;
	g_autofree char *text = NULL;

	for (size_t at = 0; at < len;) {
		struct code_step step = code_x86_64.step(code + at, len - at, at, &state);

		g_assert_cmpuint(step.bytes, >, 0);
		at += step.bytes;
	}
	text = rule_text(code_rule(&state, &unwind_arch_x86_64));
	if (strcmp(text, expected) != 0)
		g_error("%s: %s in place of %s", what, text, expected);
}

static void test_rules(void)
{
	check_rule("entry", CODE(""), "sp+8");
	check_rule("push %rbx; sub $0x18,%rsp", CODE("\x53\x48\x83\xec\x18"), "sp+40");
	check_rule("sub $0x1000,%rsp", CODE("\x48\x81\xec\x00\x10\x00\x00"), "sp+4104");
	check_rule("push %rbp; mov %rsp,%rbp", CODE("\x55\x48\x89\xe5"), "gap");
	check_rule("and $-16,%rsp in a frame", CODE("\x55\x48\x89\xe5\x48\x83\xe4\xf0"), "gap");
	check_rule("sub %rax,%rsp in a frame", CODE("\x55\x48\x89\xe5\x48\x29\xc4"), "gap");
	check_rule("lea -8(%rbp),%rsp; pop %rbx; pop %rbp", CODE("\x55\x48\x89\xe5\x48\x29\xc4\x48\x8d\x65\xf8\x5b\x5d"), "sp+8");
	check_rule("leave", CODE("\x55\x48\x89\xe5\x48\x29\xc4\xc9"), "sp+8");
	check_rule("sub %rax,%rsp without a frame", CODE("\x48\x29\xc4"), "gap");
	check_rule("push $1; pop %rax", CODE("\x6a\x01\x58"), "sp+8");
	check_rule("push %rbp; xor %ebp,%ebp", CODE("\x55\x31\xed"), "sp+16 bp=cfa-16");
	check_rule("push %rbp; pop %rbp", CODE("\x55\x5d"), "sp+8");
	check_rule("push %rbp; mov %rsp,%rbp; mov %rdi,%rbp", CODE("\x55\x48\x89\xe5\x48\x89\xfd"), "sp+16 bp=cfa-16");
	check_rule("mov %rdi,%rbp: the caller's is lost", CODE("\x48\x89\xfd"), "sp+8 bp lost");
	check_rule("mov %rbp,8(%rsp) of a red zone", CODE("\x48\x89\x6c\x24\xf8"), "sp+8 bp=cfa-16");
	check_rule("xor %ebp,%ebp: the outermost frame", CODE("\x31\xed"), "end");
	check_rule("bt $30,%eax: its group is no stack pointer", CODE("\x0f\xba\xe0\x1e"), "sp+8");
	check_rule("addsd %xmm5,%xmm4: nor is its register", CODE("\xf2\x0f\x58\xe5"), "sp+8");
	check_rule("mov (%rdi),%rsp", CODE("\x48\x8b\x27"), "gap");
	check_rule("xchg %ah,%al: its 4 is no stack pointer", CODE("\x86\xc4"), "sp+8");
	check_rule("or $0x40,%ah", CODE("\x80\xcc\x40"), "sp+8");
	check_rule("sete %ch: nor is its 5 a frame pointer", CODE("\x0f\x94\xc5"), "sp+8");
	check_rule("sete %bpl", CODE("\x40\x0f\x94\xc5"), "sp+8 bp lost");
}

static void test_flow(void)
{
	static const struct {
		const char *code;
		size_t len;
		enum code_flow flow;
		uint64_t target;
	} known[] = {
		{ "\xe8\x10\x00\x00\x00", 5, CODE_CALLS, 0x1015 },
		{ "\xff\xd0", 2, CODE_CALLS, 0 },
		{ "\xff\x25\x00\x00\x00\x00", 6, CODE_JUMPS_ANYWHERE, 0 },
		{ "\xeb\xfe", 2, CODE_JUMPS, 0x1000 },
		{ "\x0f\x84\x00\x01\x00\x00", 6, CODE_BRANCHES, 0x1106 },
		{ "\x74\x10", 2, CODE_BRANCHES, 0x1012 },
		{ "\xc3", 1, CODE_RETURNS, 0 },
		{ "\xf4", 1, CODE_STOPS, 0 },
		{ "\x0f\x0b", 2, CODE_STOPS, 0 },
		{ "\x0f\x05", 2, CODE_GOES_ON, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
		struct code_state state = code_x86_64.entry;
		struct code_step step = code_x86_64.step((const uint8_t *)known[i].code, known[i].len, 0x1000, &state);

		g_assert_cmpuint(step.bytes, ==, known[i].len);
		g_assert_cmpint(step.flow, ==, known[i].flow);
		g_assert_cmphex(step.target, ==, known[i].target);
	}
}

/*
 * A function with a switch, behind it another that only a pointer leads to, and one more that only the second knows, as
 * in static programs of Debian's: each has its own rules.
 */
static void test_pointers(void)
{
	static const uint8_t text[] = {
		0x53, 0x48, 0x8d, 0x3d, 8, 0, 0, 0,	/* push %rbx; lea 0x10(%rip),%rdi */
		0xff, 0xe0, 0x5b, 0xc3,			/* jmp *%rax; a case: pop %rbx; ret */
		0x0f, 0x1f, 0x40, 0,
		0x41, 0x54, 0x55,			/* 0x10: push %r12; push %rbp */
		0x48, 0x8d, 0x3d, 6, 0, 0, 0,		/* lea 0x20(%rip),%rdi */
		0x5d, 0x41, 0x5c, 0xc3, 0x90, 0x90,	/* pop %rbp; pop %r12; ret */
		0x48, 0x83, 0xec, 0x28,			/* 0x20: sub $0x28,%rsp */
		0x48, 0x83, 0xc4, 0x28, 0xc3,
	};
	static const struct {
		uint32_t at;
		const char *rule;
	} known[] = {
		{ 0, "sp+8" }, { 1, "sp+16" }, { 10, "sp+16" }, { 11, "sp+8" }, { 0x10, "sp+8" }, { 0x12, "sp+16" },
		{ 0x13, "sp+24 bp=cfa-24" }, { 0x20, "sp+8" }, { 0x24, "sp+48" }, { 0x28, "sp+8" },
	};
	const struct code_gap gap = { .start = 0x1000, .end = 0x1000 + sizeof(text), .code = text };
	struct code_frames c;

	code_frames_open_gap(&c, &unwind_arch_x86_64, &gap, gap.start);
	for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
		g_autofree char *rule = rule_text(c.rules[known[i].at]);

		g_assert_cmpstr(rule, ==, known[i].rule);
	}
	code_frames_close(&c);
}

struct tally {
	uint64_t same, other;
	const struct unwind_table *truth;
	const struct code_frames *code;
};

/*
 * What the compiler says nothing of, or by the other register, is left out: both may be right.  A frame pointer that is
 * restored is told late by some, so on x86-64 the rules of the frame's address are compared alone; on arm64 the rest
 * tells where the return address is.
 */
static void compare(struct tally *t, uint64_t vaddr, uint32_t at)
{
	uint32_t truth = unwind_table_find(t->truth, vaddr), found = t->code->rules[at];

	if (!found || unwind_rule_cfa(truth) != unwind_rule_cfa(found))
		return;
	if (t->code->arch == &unwind_arch_aarch64 ? found == truth : (found & 0xfffff) == (truth & 0xfffff))
		t->same++;
	else
		t->other++;
}

/* As if the library had no tables; they are the truth. */
static void check_library(const char *path)
{
	g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(struct cfi_fde));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct tally t = { 0 };
	struct code_frames code;
	struct elf_file file;

	if (fd < 0 || !elf_file_open(&file, fd, NULL) || !(t.truth = unwind_table_build(fd, NULL)))
		g_error("%s cannot be read", path);
	code_frames_open(&code, &file, unwind_arch_of(file.machine), none);
	t.code = &code;
	for (guint i = 0; i < code.gaps->len; i++) {
		const struct code_gap *g = &g_array_index(code.gaps, struct code_gap, i);

		for (uint64_t vaddr = g->start; code.rules && vaddr < g->end; vaddr++)
			compare(&t, vaddr, g->at + (uint32_t)(vaddr - g->start));
	}
	g_test_message("%s: %" G_GUINT64_FORMAT " instructions as the compiler says, %" G_GUINT64_FORMAT " not", path, t.same,
		       t.other);
	g_assert_cmpuint(t.other * 25, <=, t.same);
	g_assert_cmpuint(t.same, >, code.bytes / 64);	/* what is walked by frame pointer has no rule */
	code_frames_close(&code);
	unwind_table_free((struct unwind_table *)t.truth);
	elf_file_close(&file);
	close(fd);
}

static int take_library(struct dl_phdr_info *info, size_t size, void *data)
{
	unsigned *cnt = data;

	if (info->dlpi_name && (strstr(info->dlpi_name, "/libc.so") || strstr(info->dlpi_name, "/libglib-2.0"))) {
		check_library(info->dlpi_name);
		++*cnt;
	}
	return 0;
}

static void test_libraries(void)
{
	static const char other[] = "/usr/aarch64-linux-gnu/lib/libc.so.6";
	unsigned cnt = 0;

	if (access(other, R_OK) == 0)
		check_library(other);
	dl_iterate_phdr(take_library, &cnt);
	if (!cnt)
		g_test_skip("neither libc nor GLib is a library here");
}

/* Jumps into themselves, out of the text and to everywhere: it ends, and the sanitizers see nothing. */
static void test_any_bytes(void)
{
	static const uint8_t likely[] = { 0x55, 0x5d, 0xe8, 0xeb, 0x74, 0xe9, 0xc3, 0x48, 0x89, 0xe5, 0x83, 0xec, 0xff, 0x0f, 0x8d };
	GRand *rand = g_rand_new_with_seed(32);

	for (unsigned i = 0; i < 200; i++) {
		uint8_t code[4096];
		struct code_gap gap = { .start = 0x1000, .end = 0x1000 + sizeof(code), .code = code };
		struct code_frames c = { 0 };
		struct cfi_entries e;

		for (size_t k = 0; k < sizeof(code); k++)
			code[k] = i & 1 && g_rand_int_range(rand, 0, 3) ? likely[g_rand_int_range(rand, 0, sizeof(likely))] :
									  (uint8_t)g_rand_int_range(rand, 0, 256);
		code_frames_open_gap(&c, i & 2 ? &unwind_arch_aarch64 : &unwind_arch_x86_64, &gap, 0x1000 + (uint64_t)g_rand_int_range(rand, 0, 64) * 4);
		cfi_entries_init(&e);
		code_frames_add(&c, &e);
		g_assert_cmpuint(e.fdes->len, <=, 1);
		cfi_entries_clear(&e);
		code_frames_close(&c);
	}
	g_rand_free(rand);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/unwind/code/rules", test_rules);
	g_test_add_func("/unwind/code/flow", test_flow);
	g_test_add_func("/unwind/code/pointers", test_pointers);
	g_test_add_func("/unwind/code/any-bytes", test_any_bytes);
	g_test_add_func("/unwind/code/libraries", test_libraries);
	return g_test_run();
}
