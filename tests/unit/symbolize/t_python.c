/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Line tables as CPython wrote them, code objects in memory, and which files are an interpreter's. */
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "runtimes/python/find.h"
#include "symbolize/runtime/language.h"
#include "symbolize/runtime/thread_layout.h"

struct expected {
	uint64_t offset;
	uint32_t line;
};

static void check_lines(enum python_lines kind, const uint8_t *table, size_t bytes, uint32_t first,
			const struct expected *expected, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		g_assert_cmpuint(python_line(kind, table, bytes, first, expected[i].offset), ==, expected[i].line);
}

/* def f(): x = 1; for i in range(3): x += i; return x, a line each, by dis.findlinestarts() of each version. */
static void test_lines(void)
{
	static const uint8_t pairs[] = { 0, 1, 4, 1, 12, 1, 10, 1 };
	static const uint8_t ranges[] = { 4, 1, 12, 1, 10, 1, 4, 1 };
	static const uint8_t locations[] = {
		128, 0, 216, 6, 7, 128, 65, 221, 13, 18, 144, 49, 137, 88, 140, 88, 240, 0, 1, 5, 13, 240, 0, 1, 5, 13, 136,
		1, 216, 8, 9, 136, 49, 137, 4, 136, 1, 136, 1, 216, 11, 12, 128, 72 };
	static const struct expected old[] = { { 0, 3 }, { 3, 3 }, { 4, 4 }, { 15, 4 }, { 16, 5 }, { 25, 5 }, { 26, 6 } };
	static const struct expected new[] = { { 0, 3 }, { 2, 4 }, { 6, 5 }, { 39, 5 }, { 40, 6 }, { 52, 7 } };

	check_lines(PYTHON_LINES_PAIRS, pairs, sizeof(pairs), 2, old, G_N_ELEMENTS(old));
	check_lines(PYTHON_LINES_RANGES, ranges, sizeof(ranges), 2, old, G_N_ELEMENTS(old));
	check_lines(PYTHON_LINES_LOCATIONS, locations, sizeof(locations), 3, new, G_N_ELEMENTS(new));
	/* no pairs: all is the first line's; no ranges: nothing is */
	g_assert_cmpuint(python_line(PYTHON_LINES_PAIRS, pairs, 0, 7, 10), ==, 7);
	g_assert_cmpuint(python_line(PYTHON_LINES_RANGES, ranges, 0, 7, 10), ==, 0);
	g_assert_cmpuint(python_line(PYTHON_LINES_LOCATIONS, locations, 0, 7, 10), ==, 0);
	/* an entry that does not begin with its mark */
	g_assert_cmpuint(python_line(PYTHON_LINES_LOCATIONS, pairs, sizeof(pairs), 7, 0), ==, 0);
}

static void test_files(void)
{
	g_assert_cmpuint(python_minor_of_file("/usr/bin/python3.11"), ==, 11);
	g_assert_cmpuint(python_minor_of_file("/usr/lib/libpython3.8.so.1.0"), ==, 8);
	g_assert_cmpuint(python_minor_of_file("python3.13t"), ==, 13);
	g_assert_cmpuint(python_minor_of_file("/usr/bin/python3"), ==, 0);
	g_assert_cmpuint(python_minor_of_file("/usr/bin/python3.x"), ==, 0);
	g_assert_cmpuint(python_minor_of_file("/lib/python3.11/threading.py/libc.so.6"), ==, 0);
	g_assert_cmpuint(python_minor_of_file(""), ==, 0);
}

/* A code object of 3.11, as it lies in memory. */
#define TYPE 0x1234560
struct object {
	uint64_t words[32];
};

static struct object code;
static uint64_t texts[4][16];

static void put_text(uint64_t *at, const char *text, bool is_ascii)
{
	at[2] = strlen(text);
	at[4] = 1 << 2 | 1 << 5 | (is_ascii ? 1 << 6 : 0);
	memcpy((char *)at + (is_ascii ? 48 : 72), text, strlen(text));
}

static struct language_place make_code(void)
{
	memset(&code, 0, sizeof(code));
	memset(texts, 0, sizeof(texts));
	put_text(texts[0], "/srv/app.py", true);
	put_text(texts[1], "f", true);
	put_text(texts[2], "Caf\xe9.f", false);	/* Latin-1 */
	texts[3][2] = 3;
	memcpy(&texts[3][4], "\x80\x00\x00", 3);	/* one unit of code on the first line */
	code.words[1] = TYPE;
	code.words[72 / 8] = 40;
	for (unsigned i = 0; i < 4; i++)
		code.words[112 / 8 + i] = (uint64_t)(uintptr_t)texts[i];
	return (struct language_place){ .version = 3 << 8 | 11, .pid = (uint32_t)getpid(), .space = 1, .code_type = TYPE,
				      .code = (uint64_t)(uintptr_t)&code, .instr = (uint64_t)(uintptr_t)&code + 184 };
}

static void test_code(void)
{
	struct language_place place = make_code();
	struct python_code *p = python_code_new();
	struct language_frame f;

	g_assert_true(python_code_name(p, &place, &f));
	g_assert_cmpstr(f.name, ==, "Caf\303\251.f");
	g_assert_cmpstr(f.file, ==, "/srv/app.py");
	g_assert_cmpuint(f.first_line, ==, 40);
	g_assert_cmpuint(f.line, ==, 40);
	/* beyond the code there is no line */
	place.instr += 100;
	g_assert_true(python_code_name(p, &place, &f));
	g_assert_cmpuint(f.line, ==, 0);
	python_code_free(p);
}

/* Another object in the place of one that is known is another one; one of another type is none. */
static void test_stale(void)
{
	struct language_place place = make_code();
	struct python_code *p = python_code_new();
	struct language_frame f;

	g_assert_true(python_code_name(p, &place, &f));
	code.words[128 / 8] = (uint64_t)(uintptr_t)texts[1];
	g_assert_true(python_code_name(p, &place, &f));
	g_assert_cmpstr(f.name, ==, "f");
	code.words[1] = TYPE + 8;
	g_assert_false(python_code_name(p, &place, &f));
	make_code();
	texts[0][2] = 1ull << 60;	/* no text is so long */
	code.words[120 / 8] = 0;
	code.words[128 / 8] = 8;
	g_assert_false(python_code_name(p, &place, &f));
	place.version = 3 << 8 | 99;
	g_assert_false(python_code_name(p, &place, &f));
	python_code_free(p);
}

/* 3.13 built without a GIL: the same, but each object begins with 16 bytes more. */
static void test_free_threaded(void)
{
	static uint64_t wide[40], name[16], file[16], lines[16];
	struct language_place place = { .version = 3 << 8 | 0x80 | 13, .pid = (uint32_t)getpid(), .code_type = TYPE,
					.code = (uint64_t)(uintptr_t)wide, .instr = (uint64_t)(uintptr_t)wide + 216 };
	struct python_code *p = python_code_new();
	struct language_frame f;

	name[4] = 1;
	name[6] = file[6] = 1 << 2 | 1 << 5 | 1 << 6;
	memcpy((char *)name + 56, "g", 1);
	file[4] = strlen("/srv/app.py");
	memcpy((char *)file + 56, "/srv/app.py", file[4]);
	lines[4] = 3;
	memcpy(&lines[6], "\x80\x00\x00", 3);
	wide[3] = TYPE;
	memcpy((char *)wide + 84, &(uint32_t){ 7 }, 4);
	wide[128 / 8] = (uint64_t)(uintptr_t)file;
	wide[136 / 8] = wide[144 / 8] = (uint64_t)(uintptr_t)name;
	wide[152 / 8] = (uint64_t)(uintptr_t)lines;
	g_assert_true(python_code_name(p, &place, &f));
	g_assert_cmpstr(f.name, ==, "g");
	g_assert_cmpstr(f.file, ==, "/srv/app.py");
	g_assert_cmpuint(f.line, ==, 7);
	place.version = 3 << 8 | 13;	/* of a build with a GIL the type lies elsewhere */
	g_assert_false(python_code_name(p, &place, &f));
	python_code_free(p);
}

#define CODE_MAX 48
struct told {
	const char *code;
	size_t bytes;
	int32_t offset;
};

static void check_told(int32_t (*offset_of)(const uint8_t *code, size_t bytes), const struct told *told, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		uint8_t room[CODE_MAX] = { 0 };

		memcpy(room, told[i].code, told[i].bytes);
		g_assert_cmpint(offset_of(room, sizeof(room)), ==, told[i].offset);
		/* code that ends within an instruction is none */
		for (size_t bytes = 0; bytes < sizeof(room); bytes++)
			offset_of(room, bytes);
	}
}

#define SELF_X86 "\x64\x48\x8b\x04\x25\0\0\0\0"
#define TOLD(text, offset) { text, sizeof(text) - 1, offset }

/* As Debian's musl 1.2.3 and 1.2.5 have them: pthread_getspecific(), gettid(), pthread_self(). */
static void test_musl(void)
{
	static const struct told x86_64[] = {
		TOLD(SELF_X86 "\x48\x8b\x80\x80\0\0\0\x89\xff\x48\x8b\x04\xf8\xc3", 0x80),
		TOLD("\xf3\x0f\x1e\xfa" SELF_X86 "\x48\x8b\x80\x80\0\0\0\x89\xff\x48\x8b\x04\xf8\xc3", 0x80),
		TOLD("\x89\xff" SELF_X86 "\x48\x8b\x80\x80\0\0\0\x48\x8b\x04\xf8\xc3", 0x80),
		TOLD(SELF_X86 "\x8b\x40\x30\xc3", 0x30),
		TOLD(SELF_X86 "\xc3", 0),
		TOLD("\x48\x8b\x80\x80\0\0\0\xc3", INT32_MIN),	/* of no thread pointer */
		TOLD(SELF_X86 "\x48\x8b\x81\x80\0\0\0\xc3", INT32_MIN),	/* of another register */
		TOLD("\xe9\0\0\0\0", INT32_MIN),
	};
	static const struct told arm64[] = {
		TOLD("\x5f\x24\x03\xd5\x41\xd0\x3b\xd5\x21\x80\x5a\xf8\x20\x58\x60\xf8\xc0\x03\x5f\xd6", -88),
		TOLD("\x5f\x24\x03\xd5\x40\xd0\x3b\xd5\0\x80\x55\xb8\xc0\x03\x5f\xd6", -168),
		TOLD("\x5f\x24\x03\xd5\x40\xd0\x3b\xd5\0\x20\x03\xd1\xc0\x03\x5f\xd6", -200),
		/* sub x1, x1, #200; ldr x1, [x1, #112] */
		TOLD("\x41\xd0\x3b\xd5\x21\x20\x03\xd1\x21\x38\x40\xf9\x20\x58\x60\xf8", -88),
		TOLD("\x21\x80\x5a\xf8\xc0\x03\x5f\xd6", INT32_MIN),
		TOLD("\x41\xd0\x3b\xd5\x41\x80\x5a\xf8", INT32_MIN),
	};

	check_told(musl_offset_x86_64, x86_64, G_N_ELEMENTS(x86_64));
	check_told(musl_offset_arm64, arm64, G_N_ELEMENTS(arm64));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/python/lines", test_lines);
	g_test_add_func("/python/files", test_files);
	g_test_add_func("/python/code", test_code);
	g_test_add_func("/python/stale", test_stale);
	g_test_add_func("/python/free-threaded", test_free_threaded);
	g_test_add_func("/python/musl", test_musl);
	return g_test_run();
}
