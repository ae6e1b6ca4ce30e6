/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Programs compiled here and now, every function of theirs compared with binutils' addr2line. */
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/dwarf/find.h"
#include "symbolize/elf/table.h"

#define STEP_BYTES 3	/* between the addresses compared */
#define STEP_CXX_BYTES 17	/* of a C++ program addr2line takes 10 ms each */

static const char c_text[] =
	"volatile int sink;\n"
	"static inline __attribute__((always_inline)) int deepest(int x)\n"
	"{\n"
	"	sink = x;\n"
	"	return sink * 3;\n"
	"}\n"
	"static inline __attribute__((always_inline)) int deeper(int x)\n"
	"{\n"
	"	if (x & 1)\n"
	"		return deepest(x + 1) + deepest(x + 2);\n"
	"	return deepest(x);\n"
	"}\n"
	"static inline __attribute__((always_inline)) int deep(int x) { return deeper(x) - 1; }\n"
	"__attribute__((noinline)) int holder(int x)\n"
	"{\n"
	"	int sum = 0;\n"
	"	while (x--)\n"
	"		sum += deep(x);\n"
	"	return sum;\n"
	"}\n"
	"__attribute__((noinline)) int plain(int x) { return x ^ sink; }\n"
	"int main(int argc, char **argv) { return holder(argc) + plain(argc); }\n";

static const char cxx_text[] =
	"#include <map>\n#include <string>\n#include <vector>\n#include <algorithm>\n"
	"namespace shop {\n"
	"template <typename T> struct Shelf {\n"
	"	std::map<std::string, T> goods;\n"
	"	Shelf() { goods[\"none\"] = T(); }\n"
	"	void put(const std::string &name, T price) { goods[name] = price; }\n"
	"	T price(const std::string &name) const { auto at = goods.find(name); return at == goods.end() ? T() : at->second; }\n"
	"};\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	shop::Shelf<int> shelf;\n"
	"	std::vector<std::string> names(argv, argv + argc);\n"
	"	std::sort(names.begin(), names.end(), [](const auto &a, const auto &b) { return a.size() < b.size(); });\n"
	"	for (const auto &name : names)\n"
	"		shelf.put(name, argc);\n"
	"	return shelf.price(\"x\");\n"
	"}\n";

static char *folder;

static char *path_of(const char *name)
{
	return g_build_filename(folder, name, NULL);
}

static bool run(const char *format, ...) G_GNUC_PRINTF(1, 2);
static bool run(const char *format, ...)
{
	g_autofree char *command = NULL, *errors = NULL, *output = NULL;
	int status = -1;
	va_list args;

	va_start(args, format);
	command = g_strdup_vprintf(format, args);
	va_end(args);
	return g_spawn_command_line_sync(command, &output, &errors, &status, NULL) && g_spawn_check_wait_status(status, NULL);
}

static bool compile(const char *compiler, const char *flags, bool is_cxx, const char *out)
{
	g_autofree char *source = path_of(is_cxx ? "t.cpp" : "t.c"), *program = path_of(out);

	g_assert_true(g_file_set_contents(source, is_cxx ? cxx_text : c_text, -1, NULL));
	return run("%s -O2 %s -o %s %s", compiler, flags, program, source);
}

static struct elf_table *table_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_table *t;

	g_assert_cmpint(fd, >=, 0);
	t = elf_table_read(fd, NULL);
	g_assert_nonnull(t);
	g_assert_true(t->has_debug_info);
	t->debug_fd = fd;
	return t;
}

static bool is_libc_start(const char *name)
{
	return name[0] == '_' && name[1] != 'Z';	/* of crt1.o, without debug information */
}

/* Addresses in all functions of the program's own. */
static GArray *places_in(const struct elf_table *t, uint32_t step)
{
	GArray *places = g_array_new(FALSE, TRUE, sizeof(struct symbol_place));

	for (size_t i = 0; i < t->symbols.cnt; i++) {
		const struct symtab_entry *e = &t->symbols.entries[i];

		for (uint32_t k = 0; k < e->size && !is_libc_start(symtab_name(&t->symbols, e)); k += step) {
			struct symbol_place p = { .source = (struct elf_table *)t, .offset = e->addr + k };

			g_array_append_val(places, p);
		}
	}
	g_assert_cmpuint(places->len, >, 20);
	return places;
}

static void places_free(GArray *places)
{
	for (guint i = 0; i < places->len; i++)
		g_free(g_array_index(places, struct symbol_place, i).frames);
	g_array_unref(places);
}

/* What addr2line says of the places: for each "0x...", then a name and a FILE:LINE per frame. */
static char **addr2line(const char *path, GArray *places)
{
	g_autofree char *list = path_of("addresses"), *from = g_strconcat("@", list, NULL), *output = NULL;
	const char *argv[] = { "addr2line", from, NULL };
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_printf(text, "-a -i -f -e %s\n", path);
	for (guint i = 0; i < places->len; i++)
		g_string_append_printf(text, "0x%" G_GINT64_MODIFIER "x\n", g_array_index(places, struct symbol_place, i).offset);
	g_assert_true(g_file_set_contents(list, text->str, -1, NULL));
	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
				   NULL, &output, NULL, NULL, NULL));
	return g_strsplit(output, "\n", -1);
}

/* Name and "FILE:LINE", our spelling of it: no line is "?", no path of it either. */
static void check_frame(const struct symbol_place *p, unsigned i, const char *name, char *where, bool names_too)
{
	const struct symbol_frame *f = i < p->frame_cnt ? &p->frames[i] : NULL;
	g_autofree char *own = f && f->file && f->line ? g_strdup_printf("%s:%u", f->file, f->line) : g_strdup("?:?");
	char *note = strstr(where, " (discriminator");

	if (note)
		*note = 0;
	if (g_str_has_suffix(where, ":?") || g_str_has_suffix(where, ":0"))
		where = (char *)"?:?";
	if (names_too)
		g_assert_cmpstr(own, ==, where);
	else
		g_assert_cmpstr(strrchr(own, ':'), ==, strrchr(where, ':'));
	/* the function itself has a name of the symbol table's too, which addr2line prefers */
	if (f && names_too && i + 1 < p->frame_cnt)
		g_assert_cmpstr(f->name, ==, name);
}

static unsigned compare(GArray *places, char **said, bool names_too)
{
	unsigned deepest = 0;

	for (guint i = 0; i < places->len; i++) {
		const struct symbol_place *p = &g_array_index(places, struct symbol_place, i);
		unsigned frame_cnt = 0;

		g_assert_true(g_str_has_prefix(*said, "0x"));
		g_assert_cmphex(g_ascii_strtoull(*said++, NULL, 16), ==, p->offset);
		for (; said[0] && *said[0] && !g_str_has_prefix(said[0], "0x"); said += 2)
			check_frame(p, frame_cnt++, said[0], said[1], names_too);
		g_assert_cmpuint(MAX(p->frame_cnt, 1), ==, frame_cnt);
		deepest = MAX(deepest, frame_cnt);
	}
	return deepest;
}

static void find(GArray *places, const char *debug_dir, GStringChunk *strings, uint64_t *missed)
{
	lines_find((struct symbol_place *)(void *)places->data, places->len, debug_dir, strings, missed);
}

static void check_program(const char *name, bool names_too, unsigned depth)
{
	g_autofree char *path = path_of(name);
	GStringChunk *strings = g_string_chunk_new(4096);
	struct elf_table *t = table_of(path);
	GArray *places = places_in(t, names_too ? STEP_BYTES : STEP_CXX_BYTES);
	g_auto(GStrv) said = addr2line(path, places);
	uint64_t missed[SYMBOL_MISSED_CNT];

	find(places, folder, strings, missed);
	for (int i = 0; i < SYMBOL_MISSED_CNT; i++)
		g_assert_cmpuint(missed[i], ==, 0);
	g_assert_cmpuint(compare(places, said, names_too), >=, depth);
	g_test_message("%s: %u addresses", name, places->len);
	places_free(places);
	elf_table_free(t);
	g_string_chunk_free(strings);
}

struct variant {
	const char *compiler, *flags;
	bool is_cxx;
	unsigned depth;
};

/* clang's DWARF 5 is not here: addr2line 2.40 gets its files wrong.  Its llvm-symbolizer agrees with us. */
static const struct variant variants[] = {
	{ "gcc", "-g -gdwarf-5", false, 4 }, { "gcc", "-g -gdwarf-4", false, 4 }, { "gcc", "-g -gdwarf-3", false, 4 },
	{ "gcc", "-g -gdwarf-2 -gno-strict-dwarf", false, 4 }, { "gcc", "-g -gz=zlib", false, 4 },
	{ "gcc", "-g -ffunction-sections -Wl,--gc-sections", false, 4 }, { "clang", "-g -gdwarf-4", false, 4 },
	{ "g++", "-g -gdwarf-5", true, 6 }, { "g++", "-g -gdwarf-4 -fdebug-types-section", true, 6 },
	{ "clang++", "-g -gdwarf-4", true, 6 },
};

static void test_compared(gconstpointer data)
{
	const struct variant *v = data;

	if (!compile(v->compiler, v->flags, v->is_cxx, "program") || !run("addr2line --version")) {
		g_test_skip("not this compiler, or no addr2line");
		return;
	}
	/*
	 * In C++ addr2line names constructors and lambdas now by DW_AT_name, now by their symbol, and gives
	 * the unit's own file for code that a function in a header left there; lines and depth are compared.
	 */
	check_program("program", !v->is_cxx, v->depth);
}

/* A place in an inlined function; clang has instructions there that it says are of other lines. */
static const struct symbol_place *place_in(GArray *places, const char *inlined, unsigned line_from, unsigned line_to)
{
	for (guint i = 0; i < places->len; i++) {
		const struct symbol_place *p = &g_array_index(places, struct symbol_place, i);

		if (p->frame_cnt > 1 && g_strcmp0(p->frames[0].name, inlined) == 0 && p->frames[0].line >= line_from &&
		    p->frames[0].line <= line_to)
			return p;
	}
	return NULL;
}

/* By hand, so that both readers cannot be wrong alike; clang's DWARF 5 has addresses and ranges by index. */
static void test_by_hand(gconstpointer flags)
{
	g_autofree char *path = path_of("program");
	static const char *const names[] = { "deepest", "deeper", "deep", "holder" };
	const char *compiler = strstr(flags, "clang") ? "clang" : "gcc";
	GStringChunk *strings;
	uint64_t missed[SYMBOL_MISSED_CNT];
	const struct symbol_place *p;
	struct elf_table *t;
	GArray *places;

	if (!compile(compiler, strchr(flags, '-'), false, "program")) {
		g_test_skip("not this compiler");
		return;
	}
	strings = g_string_chunk_new(4096);
	t = table_of(path);
	places = places_in(t, STEP_BYTES);
	find(places, folder, strings, missed);
	p = place_in(places, "deepest", 4, 5);
	g_assert_nonnull(p);
	g_assert_cmpuint(p->frame_cnt, ==, 4);
	for (unsigned i = 0; i < 4; i++) {
		g_assert_cmpstr(p->frames[i].name, ==, names[i]);
		g_assert_true(g_str_has_suffix(p->frames[i].file, "/t.c"));
	}
	g_assert_cmpuint(p->frames[1].line, >=, 10);
	g_assert_cmpuint(p->frames[1].line, <=, 11);
	g_assert_cmpuint(p->frames[2].line, ==, 13);
	g_assert_cmpuint(p->frames[3].line, ==, 18);
	places_free(places);
	elf_table_free(t);
	g_string_chunk_free(strings);
}

static uint64_t missed_of(const char *name, const char *debug_dir, unsigned missed, bool *ret_has_lines)
{
	g_autofree char *path = path_of(name);
	GStringChunk *strings = g_string_chunk_new(4096);
	struct elf_table *t = table_of(path);
	GArray *places = places_in(t, STEP_BYTES);
	uint64_t counts[SYMBOL_MISSED_CNT];

	find(places, debug_dir, strings, counts);
	*ret_has_lines = false;
	for (guint i = 0; i < places->len; i++) {
		const struct symbol_place *p = &g_array_index(places, struct symbol_place, i);

		*ret_has_lines = *ret_has_lines || (p->frame_cnt && p->frames[0].line);
	}
	places_free(places);
	elf_table_free(t);
	g_string_chunk_free(strings);
	return counts[missed];
}

static void test_split(void)
{
	bool has_lines;

	if (!compile("gcc", "-g -gdwarf-5 -gsplit-dwarf", false, "program")) {
		g_test_skip("no split debug information here");
		return;
	}
	g_assert_cmpuint(missed_of("program", folder, DWARF_MISSED_SPLIT, &has_lines), ==, 1);
	g_assert_true(has_lines);	/* they are in the program itself */
}

/* That dwz changed nothing of what can be told of a program; its paths are those in `folder`. */
static void check_same(const char *before, const char *after)
{
	const char *const programs[] = { before, after };
	GStringChunk *strings = g_string_chunk_new(4096);
	struct elf_table *tables[2];
	GArray *places[2];

	for (int i = 0; i < 2; i++) {
		g_autofree char *path = path_of(programs[i]);
		uint64_t missed[SYMBOL_MISSED_CNT];

		tables[i] = table_of(path);
		places[i] = places_in(tables[i], STEP_BYTES);
		find(places[i], folder, strings, missed);
		for (int k = 0; k < SYMBOL_MISSED_CNT; k++)
			g_assert_cmpuint(missed[k], ==, 0);
	}
	g_assert_cmpuint(places[0]->len, ==, places[1]->len);
	for (guint i = 0; i < places[0]->len; i++) {
		const struct symbol_place *x = &g_array_index(places[0], struct symbol_place, i);
		const struct symbol_place *y = &g_array_index(places[1], struct symbol_place, i);

		g_assert_cmpuint(x->frame_cnt, ==, y->frame_cnt);
		for (unsigned k = 0; k < x->frame_cnt; k++) {
			g_assert_cmpstr(x->frames[k].name, ==, y->frames[k].name);
			g_assert_cmpstr(x->frames[k].file, ==, y->frames[k].file);
			g_assert_cmpuint(x->frames[k].line, ==, y->frames[k].line);
		}
	}
	for (int i = 0; i < 2; i++) {
		places_free(places[i]);
		elf_table_free(tables[i]);
	}
	g_string_chunk_free(strings);
}

/* Two programs with one supplementary file. */
static void test_dwz(void)
{
	g_autofree char *first = path_of("first"), *second = path_of("second"), *both = path_of("both.debug");
	g_autofree char *alone = path_of("alone"), *first_before = path_of("first-before");
	g_autofree char *second_before = path_of("second-before");
	bool has_lines;

	if (!compile("g++", "-g", true, "first") || !compile("g++", "-g -O1", true, "second") ||
	    !run("cp %s %s", first, alone) || !run("cp %s %s", first, first_before) ||
	    !run("cp %s %s", second, second_before) || !run("dwz %s", alone) || !run("dwz -m %s %s %s", both, first, second)) {
		g_test_skip("no dwz");
		return;
	}
	check_same("first-before", "alone");
	check_same("first-before", "first");
	check_same("second-before", "second");
	/* a supplementary file is taken from the folder of debug files only */
	g_assert_cmpuint(missed_of("first", "/nowhere", DWARF_MISSED_ALT, &has_lines), ==, 1);
	g_assert_true(has_lines);
	/* and by its build-id */
	g_assert_true(g_file_set_contents(both, "no such file", -1, NULL));
	g_assert_cmpuint(missed_of("first", folder, DWARF_MISSED_ALT, &has_lines), ==, 1);
}

/* Too little to spend is an error, and ends the work. */
static void test_budget(void)
{
	g_autofree char *path = path_of("program");
	GStringChunk *strings = g_string_chunk_new(4096);
	struct dwarf_place place = { 0 };
	unsigned too_much = 0;
	struct elf_table *t;

	if (!compile("gcc", "-g", false, "program")) {
		g_test_skip("no gcc");
		return;
	}
	t = table_of(path);
	for (size_t i = 0; i < t->symbols.cnt; i++)
		if (!strcmp(symtab_name(&t->symbols, &t->symbols.entries[i]), "holder"))
			place.addr = t->symbols.entries[i].addr;
	for (uint64_t steps = 0; steps < 1500; steps += 7) {
		struct dwarf_budget budget = { steps, DWARF_KEPT_MAX_BYTES };
		struct dwarf_image *im = dwarf_image_open(t->debug_fd, &budget, NULL);
		GError *error = NULL;

		g_assert_nonnull(im);
		if (!dwarf_find(im, &place, 1, strings, &error)) {
			g_assert_error(error, DWARF_ERROR, DWARF_MISSED_TOO_MUCH);
			too_much++;
		}
		g_clear_error(&error);
		g_free(place.frames);
		place.frames = NULL;
		dwarf_image_free(im);
	}
	g_assert_cmpuint(too_much, >, 10);
	elf_table_free(t);
	g_string_chunk_free(strings);
}

int main(int argc, char **argv)
{
	int status;

	g_test_init(&argc, &argv, NULL);
	folder = g_dir_make_tmp("offcpu-dwarf-XXXXXX", NULL);
	g_assert_nonnull(folder);
	for (size_t i = 0; i < G_N_ELEMENTS(variants); i++) {
		g_autofree char *name = g_strdup_printf("/dwarf/compared/%s %s", variants[i].compiler, variants[i].flags);

		g_test_add_data_func(name, &variants[i], test_compared);
	}
	g_test_add_data_func("/dwarf/by-hand/gcc-5", "gcc -g -gdwarf-5", test_by_hand);
	g_test_add_data_func("/dwarf/by-hand/gcc-4", "gcc -g -gdwarf-4", test_by_hand);
	g_test_add_data_func("/dwarf/by-hand/clang-5", "clang -g -gdwarf-5", test_by_hand);
	g_test_add_func("/dwarf/split", test_split);
	g_test_add_func("/dwarf/dwz", test_dwz);
	g_test_add_func("/dwarf/budget", test_budget);
	status = g_test_run();
	run("rm -rf %s", folder);
	g_free(folder);
	return status;
}
