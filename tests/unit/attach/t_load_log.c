/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The line that says why programs were not loaded, of words as libbpf and the verifier print them. */
#include <glib.h>
#include <string.h>

#include "attach/error.h"

static void expect(const char *log, const char *why)
{
	g_autofree char *said = load_log_reason_of(log);

	g_assert_cmpstr(said, ==, why);
}

static void test_verifier(void)
{
	expect("libbpf: prog 'handle_switch': BPF program load failed: Permission denied\n"
	       "libbpf: prog 'handle_switch': -- BEGIN PROG LOAD LOG --\n"
	       "0: R1=ctx(off=0,imm=0) R10=fp0\n"
	       "; int handle_switch(unsigned long long *ctx) @ offcpu.bpf.c:330\n"
	       "3: (79) r2 = *(u64 *)(r1 +8)\n"
	       "R1 invalid mem access 'scalar'\n"
	       "processed 4 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n"
	       "-- END PROG LOAD LOG --\n"
	       "libbpf: prog 'handle_switch': failed to load: -13\n"
	       "libbpf: failed to load object 'offcpu_bpf'\n"
	       "libbpf: failed to load BPF skeleton 'offcpu_bpf': -13\n",
	       "handle_switch: R1 invalid mem access 'scalar'");
}

static void test_missing_map(void)
{
	expect("libbpf: prog 'handle_waking': BPF program load failed: Invalid argument\n"
	       "libbpf: prog 'handle_waking': -- BEGIN PROG LOAD LOG --\n"
	       "1: <invalid BPF map reference>\n"
	       "BPF map 'offcpu_b.rodata' is referenced but wasn't created\n"
	       "processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n"
	       "-- END PROG LOAD LOG --\n"
	       "libbpf: prog 'handle_waking': failed to load: -22\n"
	       "libbpf: failed to load object 'offcpu_bpf'\n",
	       "handle_waking: BPF map 'offcpu_b.rodata' is referenced but wasn't created");
}

static void test_without_verifier(void)
{
	expect("libbpf: map 'memories': failed to create: Cannot allocate memory(-12)\n"
	       "libbpf: failed to load object 'offcpu_bpf'\n",
	       "map 'memories': failed to create: Cannot allocate memory(-12)");
	expect("", NULL);
	expect("libbpf: failed to load object 'offcpu_bpf'\n", NULL);
}

/* Cut where there is no more room for it, also within the line that names the program. */
static void test_cut(void)
{
	g_autofree char *many = g_strnfill(5000, 'x');
	g_autofree char *log = g_strconcat("EGIN PROG LOAD LOG --\n", many, NULL);
	g_autofree char *why = load_log_reason_of(log);

	g_assert_cmpuint(strlen(why), ==, 200);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/said/verifier", test_verifier);
	g_test_add_func("/said/missing-map", test_missing_map);
	g_test_add_func("/said/without-verifier", test_without_verifier);
	g_test_add_func("/said/cut", test_cut);
	return g_test_run();
}
