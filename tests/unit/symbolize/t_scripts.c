/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Ruby's instruction sequences, PHP's functions and Perl's, as they lie in memory. */
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/runtime/language.h"

static uint64_t at(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* ---- Ruby 3.1 */

#define CNT 600	/* instructions, of which each third begins a line */
static struct {
	uint64_t code[4], body[20], path[5], whole[4], given[4], label[4], instructions[CNT];
	uint32_t lines[CNT / 3][3];
	uint64_t index[6 + 2 * 10];
} ruby;
static const char label_text[] = "block in a method whose name is long";

static bool begins_line(unsigned instruction)
{
	return instruction % 3 == 0 && instruction / 3 < CNT / 3;
}

/* How many lines begin before an instruction. */
static unsigned lines_before(unsigned instruction)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < instruction; i++)
		cnt += begins_line(i);
	return cnt;
}

static void make_index(void)
{
	for (unsigned i = 0; i < 54; i++)
		ruby.index[i / 9] |= (uint64_t)lines_before(i + 1) << i % 9 * 7;
	for (unsigned block = 0; block < 2; block++) {
		uint64_t *words = ruby.index + 6 + block * 10;
		unsigned first = 54 + block * 512;

		words[0] = lines_before(first);
		for (unsigned part = 1; part < 8; part++)
			words[1] |= (uint64_t)(lines_before(first + part * 64) - lines_before(first)) << (part - 1) * 9;
		for (unsigned i = 0; i < 512; i++)
			words[2 + i / 64] |= (uint64_t)begins_line(first + i) << i % 64;
	}
}

static void put_short(uint64_t *string, const char *text)
{
	string[0] = 0x05 | (uint64_t)strlen(text) << 14;
	memcpy(string + 2, text, strlen(text));
}

static struct language_place make_ruby(void)
{
	memset(&ruby, 0, sizeof(ruby));
	put_short(ruby.whole, "/srv/app.rb");
	put_short(ruby.given, "app.rb");
	ruby.label[0] = 0x05 | 1 << 13;
	ruby.label[2] = strlen(label_text);
	ruby.label[3] = at(label_text);
	ruby.path[0] = 0x07 | 1 << 13;
	ruby.path[2] = at(ruby.given);
	ruby.path[3] = at(ruby.whole);
	ruby.code[0] = 0x1a | 7 << 12;
	ruby.code[2] = at(ruby.body);
	ruby.body[0] = (uint64_t)CNT << 32;
	ruby.body[1] = at(ruby.instructions);
	ruby.body[64 / 8] = at(ruby.path);
	ruby.body[80 / 8] = at(ruby.label);
	ruby.body[88 / 8] = 40 << 1 | 1;
	ruby.body[120 / 8] = at(ruby.lines);
	ruby.body[136 / 8] = CNT / 3;
	ruby.body[144 / 8] = at(ruby.index);
	for (unsigned i = 0; i < CNT / 3; i++)
		ruby.lines[i][0] = 100 + i;
	make_index();
	return (struct language_place){ .version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_RUBY, 3, 1), .pid = (uint32_t)getpid(), .space = 1,
					.code = at(ruby.code), .instr = at(ruby.instructions) + 8 };
}

static void test_ruby(void)
{
	struct language_place place = make_ruby();
	struct ruby_code *r = ruby_code_new();
	struct language_frame f;

	for (unsigned i = 1; i <= CNT; i++) {
		place.instr = at(ruby.instructions + i);
		g_assert_true(ruby_code_name(r, &place, &f));
		g_assert_cmpuint(f.line, ==, 100 + (i - 1) / 3);
	}
	g_assert_cmpstr(f.name, ==, label_text);
	g_assert_cmpstr(f.file, ==, "/srv/app.rb");
	g_assert_cmpuint(f.first_line, ==, 40);
	place.instr = at(ruby.instructions + CNT + 1);
	g_assert_true(ruby_code_name(r, &place, &f));
	g_assert_cmpuint(f.line, ==, 0);
	place.instr = at(ruby.instructions) - 8;
	g_assert_true(ruby_code_name(r, &place, &f));
	g_assert_cmpuint(f.line, ==, 0);
	ruby_code_free(r);
}

/* A path that is a String; strings of 3.2, whose length is a word; a table of one line needs no index. */
static void test_ruby_other(void)
{
	struct language_place place = make_ruby();
	struct ruby_code *r = ruby_code_new();
	struct language_frame f;

	ruby.body[64 / 8] = at(ruby.given);
	ruby.body[136 / 8] = 1;
	ruby.body[144 / 8] = 0;
	g_assert_true(ruby_code_name(r, &place, &f));
	g_assert_cmpstr(f.file, ==, "app.rb");
	g_assert_cmpuint(f.line, ==, 100);
	place.version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_RUBY, 3, 2);
	place.space = 2;
	memset(ruby.given, 0, sizeof(ruby.given));
	ruby.given[0] = 0x05;
	ruby.given[2] = 4;
	memcpy(&ruby.given[3], "a.rb", 4);
	ruby.body[88 / 8] = 41;
	memmove(&ruby.body[112 / 8], &ruby.body[120 / 8], 32);
	g_assert_true(ruby_code_name(r, &place, &f));
	g_assert_cmpstr(f.file, ==, "a.rb");
	g_assert_cmpuint(f.first_line, ==, 41);
	ruby_code_free(r);
}

/* What has taken another's place is another; what is none has no name. */
static void test_ruby_stale(void)
{
	struct language_place place = make_ruby();
	struct ruby_code *r = ruby_code_new();
	struct language_frame f;

	g_assert_true(ruby_code_name(r, &place, &f));
	ruby.body[80 / 8] = at(ruby.given);
	g_assert_true(ruby_code_name(r, &place, &f));
	g_assert_cmpstr(f.name, ==, "app.rb");
	ruby.code[0] = 0x1a | 6 << 12;
	g_assert_false(ruby_code_name(r, &place, &f));
	make_ruby();
	ruby.label[3] = 8;
	g_assert_false(ruby_code_name(r, &place, &f));
	make_ruby();
	ruby.label[2] = 1ull << 60;
	g_assert_false(ruby_code_name(r, &place, &f));
	make_ruby();
	ruby.body[0] = ~0ull;
	g_assert_false(ruby_code_name(r, &place, &f));
	place.version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_RUBY, 3, 99);
	g_assert_false(ruby_code_name(r, &place, &f));
	ruby_code_free(r);
}

/* ---- PHP 8.2 */

struct string {
	uint64_t head, hash, len;
	char text[32];
};
static struct {
	uint64_t function[23], class[4];
	struct string name, class_name, file;
	uint32_t ops[4][8];
} php;

static uint64_t put(struct string *s, const char *text, uint64_t hash)
{
	s->hash = hash;
	s->len = strlen(text);
	memcpy(s->text, text, strlen(text));
	return at(s);
}

static struct language_place make_php(void)
{
	memset(&php, 0, sizeof(php));
	php.function[0] = 2;
	php.function[1] = put(&php.name, "pay", 0x100000001);
	php.function[2] = at(php.class);
	php.class[1] = put(&php.class_name, "Shop", 9);
	php.function[80 / 8] = 4;
	php.function[88 / 8] = at(php.ops);
	php.function[152 / 8] = put(&php.file, "/srv/shop.php", 0x200000006);
	php.function[160 / 8] = 70;
	for (unsigned i = 0; i < 4; i++)
		php.ops[i][6] = 71 + i;
	return (struct language_place){ .version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PHP, 8, 2), .pid = (uint32_t)getpid(), .space = 1,
					.code = at(php.function), .instr = at(php.ops[2]), .hashes = (1 ^ 6) ^ (1 ^ 2) };
}

static void test_php(void)
{
	struct language_place place = make_php();
	struct php_code *p = php_code_new();
	struct language_frame f;

	g_assert_true(php_code_name(p, &place, &f));
	g_assert_cmpstr(f.name, ==, "Shop::pay");
	g_assert_cmpstr(f.file, ==, "/srv/shop.php");
	g_assert_cmpuint(f.first_line, ==, 70);
	g_assert_cmpuint(f.line, ==, 73);
	place.instr = at(php.ops + 4);
	g_assert_true(php_code_name(p, &place, &f));
	g_assert_cmpuint(f.line, ==, 0);
	php.function[2] = 0;
	g_assert_true(php_code_name(p, &place, &f));
	g_assert_cmpstr(f.name, ==, "pay");
	/* outside of functions */
	php.function[1] = 0;
	place.hashes = 6 ^ 2;
	g_assert_true(php_code_name(p, &place, &f));
	g_assert_cmpstr(f.name, ==, "{include}");
	place.is_outermost = true;
	g_assert_true(php_code_name(p, &place, &f));
	g_assert_cmpstr(f.name, ==, "{main}");
	php_code_free(p);
}

static void test_php_in_c(void)
{
	struct language_place place = make_php();
	struct php_code *p = php_code_new();
	struct language_frame f;

	php.function[0] = OFFCPU_PHP_INTERNAL;
	php.function[2] = 0;
	place.hashes = 1 ^ 1;
	g_assert_true(php_code_name(p, &place, &f));
	g_assert_cmpstr(f.name, ==, "pay");
	g_assert_null(f.file);
	php_code_free(p);
}

/* The next request has compiled another function to the same place. */
static void test_php_stale(void)
{
	struct language_place place = make_php();
	struct php_code *p = php_code_new();
	struct language_frame f;

	php.name.hash++;
	g_assert_false(php_code_name(p, &place, &f));
	make_php();
	php.file.hash++;
	g_assert_false(php_code_name(p, &place, &f));
	make_php();
	php.function[152 / 8] = 8;
	g_assert_false(php_code_name(p, &place, &f));
	make_php();
	place.version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PHP, 8, 99);
	g_assert_false(php_code_name(p, &place, &f));
	php_code_free(p);
}

/* ---- Perl 5.36 */

struct key {
	int32_t hash, len;
	char text[24];
};
static struct {
	uint64_t glob[3], glob_body[6], function[3], function_body[12], package[3], package_body[10], names[2], cop[8];
	struct key name, package_name;
	char file[32];
} perl;

static uint64_t put_key(struct key *key, const char *text)
{
	key->len = (int32_t)strlen(text);
	memcpy(key->text, text, strlen(text));
	return at(key);
}

static void put_value(uint64_t *value, const uint64_t *body, uint64_t type)
{
	value[0] = at(body);
	value[1] = type << 32;
}

static struct language_place make_perl(void)
{
	memset(&perl, 0, sizeof(perl));
	put_value(perl.glob, perl.glob_body, 9);
	perl.glob_body[32 / 8] = put_key(&perl.name, "pay");
	perl.glob_body[40 / 8] = at(perl.package);
	put_value(perl.package, perl.package_body, 12);
	perl.package_body[32 / 8] = put_key(&perl.package_name, "Shop");
	perl.cop[32 / 8] = 71ull << 32;
	perl.cop[48 / 8] = at(strcpy(perl.file, "/srv/Shop.pm"));
	return (struct language_place){ .version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PERL, 5, 36), .pid = (uint32_t)getpid(), .space = 1,
					.code = at(perl.glob), .instr = at(perl.cop), .hashes = 71 };
}

static void expect_perl(const struct language_place *place, const char *name, const char *file, uint32_t line)
{
	struct perl_code *p = perl_code_new();
	struct language_frame f;

	g_assert_cmpint(perl_code_name(p, place, &f), ==, name != NULL);
	if (name) {
		g_assert_cmpstr(f.name, ==, name);
		g_assert_cmpstr(f.file, ==, file);
		g_assert_cmpuint(f.line, ==, line);
	}
	perl_code_free(p);
}

static void test_perl(void)
{
	struct language_place place = make_perl();

	expect_perl(&place, "Shop::pay", "/srv/Shop.pm", 71);
	/* a package that has had another name */
	perl.names[0] = perl.package_body[32 / 8];
	perl.package_body[32 / 8] = at(perl.names);
	perl.package_body[56 / 8] = 2ull << 32;
	expect_perl(&place, "Shop::pay", "/srv/Shop.pm", 71);
	make_perl();
	memcpy(perl.package_name.text, "main", 4);
	expect_perl(&place, "pay", "/srv/Shop.pm", 71);
	strcpy(perl.file, "(eval 1234)");
	place.code = OFFCPU_PERL_EVAL;
	expect_perl(&place, "{eval}", "(eval)", 71);
	place.code = OFFCPU_PERL_MAIN;
	place.instr = 0;
	expect_perl(&place, "{main}", NULL, 0);
	/* a function that has its name itself */
	make_perl();
	put_value(perl.function, perl.function_body, 13);
	perl.function_body[32 / 8] = at(perl.package);
	perl.function_body[56 / 8] = at(&perl.name);
	place.code = at(perl.function);
	expect_perl(&place, "Shop::pay", NULL, 0);
}

/* Another statement has the place of the one that was met: the file is not known, the function is. */
static void test_perl_stale(void)
{
	struct language_place place = make_perl();

	perl.cop[32 / 8] = 72ull << 32;
	expect_perl(&place, "Shop::pay", NULL, 0);
	perl.glob[1] = 1ull << 32;
	expect_perl(&place, NULL, NULL, 0);
	make_perl();
	perl.name.len = -1;
	expect_perl(&place, NULL, NULL, 0);
	make_perl();
	perl.glob_body[32 / 8] = 8;
	expect_perl(&place, NULL, NULL, 0);
	make_perl();
	perl.glob_body[40 / 8] = 8;
	expect_perl(&place, "pay", "/srv/Shop.pm", 71);
	place.version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PERL, 5, 99);
	expect_perl(&place, NULL, NULL, 0);
	place = make_perl();
	place.code = 0;
	expect_perl(&place, NULL, NULL, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ruby/lines", test_ruby);
	g_test_add_func("/ruby/other", test_ruby_other);
	g_test_add_func("/ruby/stale", test_ruby_stale);
	g_test_add_func("/php/function", test_php);
	g_test_add_func("/php/in-c", test_php_in_c);
	g_test_add_func("/php/stale", test_php_stale);
	g_test_add_func("/perl/function", test_perl);
	g_test_add_func("/perl/stale", test_perl_stale);
	return g_test_run();
}
