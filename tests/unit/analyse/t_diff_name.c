/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/keys.h"

static void check(void (*append)(GString *s, const char *name), const char *name, const char *want)
{
	g_autoptr(GString) s = g_string_new(NULL);

	append(s, name);
	g_assert_cmpstr(s->str, ==, want);
}

static void test_exact(void)
{
	static const char *const names[][2] = {
		{ "commit", "commit" },
		{ "commit.constprop.0", "commit" },
		{ "commit.constprop.0.isra.1", "commit" },
		{ "commit.part.12", "commit" },
		{ "commit.cold", "commit" },
		{ "commit.llvm.1234567", "commit" },
		{ "commit.colder", "commit.colder" },
		{ "commit(int) [clone .constprop.0]", "commit(int)" },
		{ "futex_wait (commit.isra.0 <- loop.part.1)", "futex_wait(commit<- loop)" },
		{ "futex_wait (commit <- loop)", "futex_wait(commit<- loop)" },
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "memcpy@GLIBC_2.2.5", "memcpy" },
		{ "memcpy@plt", "memcpy@plt" },
		{ "core::fmt::write::h0123456789abcdef", "core::fmt::write" },
		{ "core::fmt::write::h0123456789abcdefg", "core::fmt::write::h0123456789abcdefg" },
		{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)",
		  "std::basic_string<char>::append(char const*)" },
		{ "std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<int>::push_back(int const&)" },
		{ "std::map<int, ns::T<a, b>, std::less<int>, std::allocator<std::pair<int const, ns::T<a, b> > > >::at(int)",
		  "std::map<int,ns::T<a,b>>::at(int)" },
		{ "run()::{lambda(int)#2}::operator()(int) const", "run()::{lambda(int)}::operator()(int)const" },
		{ "f[abi:cxx11](int)", "f(int)" },
		{ "{anonymous}::f()", "(anonymous namespace)::f()" },
		{ "app::{{closure}}", "app::{closure}" },
		{ "", "" },
		/* what never closes is left alone */
		{ "f[abi:cxx11", "f[abi:cxx11" },
		{ "f, std::allocator<int", "f,std::allocator<int" },
		{ "a\xff\xfe b", "a\xff\xfe b" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
		check(diff_name_append, names[i][0], names[i][1]);
}

static void test_loose(void)
{
	static const char *const names[][2] = {
		{ "ns::queue<int>::push(int const&)", "ns::queue::push" },
		{ "ns::queue<std::vector<int> >::push(std::vector<int>&&)", "ns::queue::push" },
		{ "ns::T::operator<(ns::T const&) const", "ns::T::operator<const" },
		{ "ns::T<int>::operator()(int)", "ns::T::operator()" },
		{ "ns::T::operator->()", "ns::T::operator->" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "commit.constprop.0", "commit" },
		{ "f(int", "f(int" },
		{ "(garbage collector)", "(garbage collector)" },
		{ "(f)(int)", "(f)" },
		{ "<T as core::Display>::fmt", "<T as core::Display>::fmt" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
		check(diff_name_append_loose, names[i][0], names[i][1]);
}

/* A stripped interpreter's functions. */
static void check_run(const char *module, const char *name, const char *want)
{
	const struct frame f = { .name = name, .module = module };
	g_autoptr(GString) s = g_string_new(NULL);

	diff_name_append_frame(s, &f, false);
	g_assert_cmpstr(s->str, ==, want);
}

static void check_frame(const char *module, enum frame_why why, const char *want)
{
	const struct frame f = { .module = module, .offset = 0x1234, .why = (uint8_t)why };
	g_autoptr(GString) s = g_string_new(NULL);

	diff_name_append_frame(s, &f, false);
	g_assert_cmpstr(s->str, ==, want);
}

static void test_frame(void)
{
	check_frame("/usr/lib/libpython3.11.so.1.0", FRAME_NO_SYMBOLS, "libpython.so+?");
	check_frame("/lib/x86_64-linux-gnu/libc-2.31.so", FRAME_NO_SYMBOLS, "libc.so+?");
	check_frame("/lib/libx.so", FRAME_NO_SYMBOLS, "libx.so+?");
	check_frame("/usr/bin/app-2.0", FRAME_NO_SYMBOLS, "app-2.0+?");
	check_frame("/opt/a.source", FRAME_NO_SYMBOLS, "a.source+?");
	check_frame("/opt/1.2.so", FRAME_NO_SYMBOLS, "1.2.so+?");
	check_frame(NULL, FRAME_NO_SYMBOLS, "[unknown]");
	check_run("/usr/lib/libpython3.11.so.1.0", "[libpython3.11.so.1.0]", "[libpython.so]");
	check_run("/usr/bin/python3", "[python3]", "[python3]");
	check_frame(NULL, FRAME_PENDING, "[stack lost]");
}

static void test_numberless(void)
{
	check(diff_name_append_numberless, "kworker/12:3-mm_percpu", "kworker/#:#-mm_percpu");
	check(diff_name_append_numberless, "9", "#");
	check(diff_name_append_numberless, "", "");
}

/* Much nesting takes no stack and no long time. */
static void test_deep(void)
{
	g_autoptr(GString) name = g_string_new(NULL), s = g_string_new(NULL);

	for (unsigned i = 0; i < PROFILE_STRING_MAX_BYTES / 2; i++)
		g_string_append(name, "a<");
	gint64 begin = g_get_monotonic_time();
	diff_name_append_loose(s, name->str);
	g_assert_cmpint(g_get_monotonic_time() - begin, <, G_USEC_PER_SEC);
	g_assert_cmpuint(s->len, ==, name->len);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/diff/name/exact", test_exact);
	g_test_add_func("/diff/name/loose", test_loose);
	g_test_add_func("/diff/name/frame", test_frame);
	g_test_add_func("/diff/name/numberless", test_numberless);
	g_test_add_func("/diff/name/deep", test_deep);
	return g_test_run();
}
