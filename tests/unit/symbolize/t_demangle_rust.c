/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>

#include "symbolize/names/demangle.h"

static void is(const char *mangled, const char *expected)
{
	g_autofree char *got = demangle(mangled);

	g_assert_cmpstr(got, ==, expected);
}

static void test_paths(void)
{
	is("_RNvC6_123foo3bar", "123foo::bar");
	is("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	is("_RINvNtC3std3mem8align_ofjEC3foo", "std::mem::align_of::<usize>");
	is("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}");
	is("_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionNCNgNpB9_"
	   "6memchr7memrchrs_0E0Bb_",
	   "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::"
	   "<core::slice::memchr::memrchr::{closure#1}>::{closure#0}");
	is("_RNSNvC1a1f6vtableC1b", "a::f::{shim:vtable#0}");
	is("_RNvC1a1f.cold", "a::f.cold");
	is("_RNvC1a1f.llvm.9D1C9369", "a::f");
	is("_RNvC1a1f@plt", "a::f@plt");
}

static void test_types(void)
{
	is("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std",
	   "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
	is("_RINvC1a1fFUKCPhOSjEuE", "a::f::<unsafe extern \"C\" fn(*const u8, *mut [usize])>");
	is("_RINvC1a1fFK10sysv64_abiEzE", "a::f::<extern \"sysv64-abi\" fn() -> !>");
	is("_RINvC1a1fFG0_RL1_eRL0_hEB9_E", NULL);	/* a reference to no lifetime that holds */
	is("_RINvC1a1fFG0_RL1_eQL0_hERL1_eE", "a::f::<for<'a, 'b> fn(&'a str, &'b mut u8) -> &'a str>");
	is("_RINvC1a1fTlETEThbEAdj5_E", "a::f::<(i32,), (), (u8, bool), [f64; 5]>");
	is("_RINvC1a1fDNtC1b1TNtC1c4SendEL_E", "a::f::<dyn b::T + c::Send>");
	is("_RINvC1a1fL_RLa_hE", NULL);
}

static void test_constants(void)
{
	is("_RMC0INtC8arrayvec8ArrayVechKj7b_E", "<arrayvec::ArrayVec<u8, 123>>");
	is("_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKs98_E", "<const_generic::Signed<152>>");
	is("_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKanb_E", "<const_generic::Signed<-11>>");
	is("_RMCs4fqI2P2rA04_13const_genericINtB0_4BoolKb0_E", "<const_generic::Bool<false>>");
	is("_RMCs4fqI2P2rA04_13const_genericINtB0_4CharKc76_E", "<const_generic::Char<'v'>>");
	is("_RMCs4fqI2P2rA04_13const_genericINtB0_4CharKca_E", "<const_generic::Char<'\\n'>>");
	is("_RMCs4fqI2P2rA04_13const_genericINtB0_4CharKc2202_E", "<const_generic::Char<'\xe2\x88\x82'>>");
	is("_RNvNvMCs4fqI2P2rA04_13const_genericINtB4_3FooKpE3foo3FOO", "<const_generic::Foo<_>>::foo::FOO");
	is("_RINvC1a1fKo123456789abcdef01_E", "a::f::<0x123456789abcdef01>");
	is("_RINvC1a1fKb2_E", NULL);
	is("_RINvC1a1fKcd800_E", NULL);
}

static void test_punycode(void)
{
	is("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	   "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93_"
	   "\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_"
	   "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98");
	is("_RNvC1au169999999999999999", NULL);
	is("_RNvC1au3ZZZ", NULL);
}

static void test_legacy(void)
{
	is("_ZN4core3ptr37drop_in_place$LT$$u5b$u8$u5d$$C$T$GT$17hfedcba9876543210E.llvm.1234",
	   "core::ptr::drop_in_place<[u8],T>");
	is("_ZN3std2rt10lang_start17h0123456789abcdefE.cold", "std::rt::lang_start.cold");
	is("_ZN50_$LT$$LP$A$C$B$RP$$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
	   "<(A,B) as core::fmt::Debug>::fmt");
}

/* Tuples, each a pair of the one before: cnt of them stand for 2^cnt bytes. */
static void check_pairs(unsigned cnt, const char *expected)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	g_autoptr(GString) name = g_string_new("_RINvC1a1fThhE");
	size_t before = strlen("_RINvC1a1f");

	for (unsigned i = 1; i < cnt; i++) {
		size_t number = before - strlen("_R") - 1;

		before = name->len;
		g_string_append_printf(name, "TB%c%c_B%c%c_E", digits[number / 62], digits[number % 62],
				       digits[number / 62], digits[number % 62]);
	}
	g_string_append_c(name, 'E');
	is(name->str, expected);
}

/* What stands for endless names, or for none. */
static void test_hostile(void)
{
	g_autoptr(GString) name = g_string_new("_R");
	gint64 start_us = g_get_monotonic_time();

	is("_R", NULL);
	is("_RC", NULL);
	is("_R0C1a", NULL);
	is("_RB_", NULL);
	is("_RNvB_1a", NULL);
	is("_RNvC1a9f", NULL);
	is("_RNvC1au9f", NULL);
	is("_RNvC1a99999999999999999999999f", NULL);
	is("_RNvC1asZZZZZZZZZZZZZZZZZZZZZZ_1f", NULL);
	is("_RYFG_FGyyEvRYFF_EvRYFFEvERLB_B_B_ERLRjB_B_B_", NULL);
	is("_RINvC1a1fTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTBe_Bd_Bc_EE", NULL);
	for (int i = 0; i < 1000; i++)
		g_string_append_c(name, 'Y');
	is(name->str, NULL);
	check_pairs(3, "a::f::<(u8, u8), ((u8, u8), (u8, u8)), (((u8, u8), (u8, u8)), ((u8, u8), (u8, u8)))>");
	check_pairs(40, NULL);
	g_assert_cmpint(g_get_monotonic_time() - start_us, <, 1000000);
}

static const char program[] =
	"use std::collections::HashMap;\n"
	"trait Shape { fn area(&self) -> f64; }\n"
	"struct Sq<T, const N: usize>(T);\n"
	"impl<const N: usize> Shape for Sq<f64, N> { #[inline(never)] fn area(&self) -> f64 { self.0 * N as f64 } }\n"
	"#[inline(never)] fn apply<F: Fn(usize) -> usize>(f: F, x: usize) -> usize { std::hint::black_box(f(x)) }\n"
	"#[inline(never)] fn show<T: ?Sized>(_: &T) -> usize { std::hint::black_box(7) }\n"
	"#[inline(never)] fn flag<const B: bool, const C: char, const I: i8>() -> i32 { std::hint::black_box(1) }\n"
	"fn main() {\n"
	"	let d: Box<dyn Shape + Send> = Box::new(Sq::<f64, 3>(2.0));\n"
	"	println!(\"{} {}\", d.area(), flag::<true, 'x', -5>());\n"
	"	println!(\"{}\", apply(|x| x + std::env::args().count(), 4));\n"
	"	println!(\"{}\", show::<dyn Fn(&str) -> HashMap<u8, (i32,)>>(&|_: &str| HashMap::new()));\n"
	"}\n";

static const char *const program_names[] = {
	"prog::main", "<prog::Sq<f64, 3> as prog::Shape>::area", "prog::apply::<prog::main::{closure#0}>",
	"prog::flag::<true, 'x', -5>", "prog::main::{closure#0}",
	("prog::show::<dyn for<'a> core::ops::function::Fn<(&'a str,), Output = "
	 "std::collections::hash::map::HashMap<u8, (i32,)>>>") };

static char *output_of(const char *dir, const char *command)
{
	const char *argv[] = { "sh", "-c", command, NULL };
	char *out = NULL;
	int status = -1;

	if (!g_spawn_sync(dir, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &out,
			  NULL, &status, NULL) || status)
		g_clear_pointer(&out, g_free);
	return out;
}

/* Every Rust name in a program made now, the standard library's included. */
static void test_compiler(gconstpointer mangling)
{
	bool is_v0 = !strcmp(mangling, "v0");
	g_autofree char *dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL), *source = g_build_filename(dir, "prog.rs", NULL);
	g_autofree char *binary = g_build_filename(dir, "prog", NULL), *out = NULL;
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_auto(GStrv) lines = NULL;

	g_assert_true(g_file_set_contents(source, program, -1, NULL));
	out = output_of(dir, is_v0 ? "rustc -O -C symbol-mangling-version=v0 prog.rs && nm prog" : "rustc -O prog.rs && nm prog");
	g_remove(source);
	g_remove(binary);
	g_rmdir(dir);
	if (!out) {
		g_test_skip("no rustc, or no nm");
		return;
	}
	lines = g_strsplit(out, "\n", -1);
	for (char **l = lines; *l; l++) {
		const char *mangled = strrchr(*l, ' ');
		char *shown;

		if (!mangled || (!g_str_has_prefix(++mangled, "_R") && !strstr(mangled, "17h")))
			continue;
		shown = demangle(mangled);
		g_assert_nonnull(shown);
		g_assert_false(strchr(shown, '$') || strstr(shown, "17h"));
		g_hash_table_add(names, shown);
	}
	g_assert_cmpuint(g_hash_table_size(names), >, 100);
	for (size_t i = 0; is_v0 && i < G_N_ELEMENTS(program_names); i++)
		if (!g_hash_table_contains(names, program_names[i]) && !strchr(program_names[i], '#'))	/* may be inlined */
			g_error("no %s", program_names[i]);
	g_assert_true(g_hash_table_contains(names, "prog::main"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/demangle-rust/paths", test_paths);
	g_test_add_func("/demangle-rust/types", test_types);
	g_test_add_func("/demangle-rust/constants", test_constants);
	g_test_add_func("/demangle-rust/punycode", test_punycode);
	g_test_add_func("/demangle-rust/legacy", test_legacy);
	g_test_add_func("/demangle-rust/hostile", test_hostile);
	g_test_add_data_func("/demangle-rust/compiler-v0", "v0", test_compiler);
	g_test_add_data_func("/demangle-rust/compiler-legacy", "legacy", test_compiler);
	return g_test_run();
}
