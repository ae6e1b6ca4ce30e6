/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>

#include "symbolize/names/demangle.h"

static void is(const char *mangled, const char *expected)
{
	g_autofree char *got = demangle(mangled);

	g_assert_cmpstr(got, ==, expected);
}

static void test_cxx(void)
{
	is("_ZNSt6thread4joinEv", "std::thread::join()");
	is("_Z3fooIiEvT_", "void foo<int>(int)");
	is("_ZN4llvm9StringRefC1EPKc", "llvm::StringRef::StringRef(char const*)");
	is("_ZNSt6vectorIiSaIiEE9push_backEOi@@GLIBCXX_3.4", "std::vector<int, std::allocator<int> >::push_back(int&&)");
}

/* As g++ 12 and clang 14 name what resumes one. */
static void test_coroutines(void)
{
	is("_ZN4shop5priceEPZNS_5priceEiE22_ZN4shop5priceEi.Frame.actor", "shop::price(int) [clone .actor]");
	is("_ZN4shop5priceEPZNS_5priceEiE22_ZN4shop5priceEi.Frame.actor.cold", "shop::price(int) [clone .actor] [clone .cold]");
	is("_ZN4shop5priceEv.resume", "shop::price() [clone .resume]");
	is("_Z5paintP5Frame", "paint(Frame*)");
}

static void test_plain(void)
{
	is("main", NULL);
	is("", NULL);
	is("@", NULL);
	is("_Z", NULL);
	is("_Znotmangled", NULL);
	is("memcpy@@GLIBC_2.14", "memcpy");
	is("memcpy@GLIBC_2.2.5", "memcpy");
	is("_Zbroken@V1", "_Zbroken");
	is("getenv@plt", NULL);
	is("_ZNSt6thread4joinEv@plt", "std::thread::join()@plt");
}

static void test_rust(void)
{
	is("_ZN3std2io5stdio6_print17h0123456789abcdefE", "std::io::stdio::_print");
	is("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
	   "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
	is("_ZN4core3ptr37drop_in_place$LT$$u5b$u8$u5d$$C$T$GT$17hfedcba9876543210E",
	   "core::ptr::drop_in_place<[u8],T>");
}

/* Names of 60 to 300 bytes that stand for gigabytes; each must be refused at once. */
static void test_growth(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char *const starts[] = { "_Z1f1AIiiE", "_Z1fDpFv1AIiiE", "_Z1f5SZZZ_1AIiiE" };
	gint64 start_us = g_get_monotonic_time();

	for (size_t i = 0; i < G_N_ELEMENTS(starts); i++) {
		g_autoptr(GString) name = g_string_new(starts[i]);

		for (int k = 0; k < 30; k++)
			g_string_append_printf(name, "S_IS%c_S%c_E", digits[k], digits[k]);
		is(name->str, NULL);
	}
	g_assert_cmpint(g_get_monotonic_time() - start_us, <, 1000000);
}

static void test_long(void)
{
	g_autofree char *digits = g_strnfill(5000, '7');
	g_autoptr(GString) name = g_string_new("_Z");

	g_string_append(name, digits);
	is(name->str, NULL);
	g_string_assign(name, "_Z");
	for (int i = 0; i < 500; i++)
		g_string_append(name, "PK");
	is(name->str, NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/demangle/cxx", test_cxx);
	g_test_add_func("/demangle/coroutines", test_coroutines);
	g_test_add_func("/demangle/plain", test_plain);
	g_test_add_func("/demangle/rust", test_rust);
	g_test_add_func("/demangle/growth", test_growth);
	g_test_add_func("/demangle/long", test_long);
	return g_test_run();
}
