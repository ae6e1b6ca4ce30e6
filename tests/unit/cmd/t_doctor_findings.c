/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What doctor says of processes made by hand: what is there, and what to do about the rest. */
#include <glib.h>
#include <string.h>

#include "cmd/doctor/doctor.h"

static struct recognised *process(void)
{
	struct recognised *r = g_new0(struct recognised, 1);

	r->pid = r->inner_pid = 42;
	r->files = g_array_new(FALSE, TRUE, sizeof(struct recognised_file));
	r->map.path = g_strdup("/tmp/perf-42.map");
	r->name = g_strdup("x");
	return r;
}

static void add_file(struct recognised *r, const char *path, bool is_program, struct file_facts facts)
{
	struct recognised_file f = { .path = g_strdup(path), .is_program = is_program, .is_readable = true, .facts = facts };

	g_array_append_val(r->files, f);
}

static void is_runtime(struct recognised *r, enum runtime runtime, const char *version)
{
	r->runtimes |= 1u << runtime;
	g_free(r->versions[runtime]);
	r->versions[runtime] = g_strdup(version);
}

/* Whether `what` is there, and if not, that the advice holds these words; NULL: there is none. */
static void expect(const struct recognised *r, const char *what, bool is_there, const char *words)
{
	g_autoptr(GArray) findings = doctor_findings(r);
	const struct doctor_finding *found = NULL;

	for (guint i = 0; i < findings->len; i++)
		if (!strcmp(g_array_index(findings, struct doctor_finding, i).what, what))
			found = &g_array_index(findings, struct doctor_finding, i);
	if (!found)
		g_error("no finding %s", what);
	g_assert_cmpint(found->is_there, ==, is_there);
	if (words && (!found->advice || !strstr(found->advice, words)))
		g_error("%s: '%s' is not in '%s'", what, words, found->advice ? found->advice : "");
	g_assert_true(words || !found->advice);
}

static void end(struct recognised *r)
{
	for (guint i = 0; i < r->files->len; i++)
		g_free(g_array_index(r->files, struct recognised_file, i).path);
	recognised_free(r);
}

static void test_python(void)
{
	struct recognised *r = process();

	is_runtime(r, RUNTIME_PYTHON, "3.11.2");
	r->python = (struct python_look){ .state = LANGUAGE_READABLE, .minor = 11 };
	expect(r, "python-frames", true, NULL);
	expect(r, "python-gil", false, NULL);
	r->python.has_gil_holder = true;
	expect(r, "python-gil", true, NULL);
	r->python = (struct python_look){ .state = LANGUAGE_OTHER_VERSION, .minor = 13, .is_free_threaded = true };
	expect(r, "python-gil", true, NULL);
	r->python = (struct python_look){ .state = LANGUAGE_OTHER_VERSION, .minor = 15 };
	expect(r, "python-frames", false, "-X perf");
	r->map.state = PERF_MAP_READABLE;
	expect(r, "python-frames", false, "None is needed");
	r->python.minor = 7;
	expect(r, "python-frames", false, "3.8 to 3.15");
	r->python.state = LANGUAGE_NO_LIBC;
	expect(r, "python-frames", false, "linked dynamically");
	r->python.state = LANGUAGE_NO_SYMBOLS;
	expect(r, "python-frames", false, "dynamic symbols");
	r->python.state = LANGUAGE_NOT_READY;
	expect(r, "python-frames", false, "again");
	end(r);
}

static void test_go(void)
{
	struct recognised *r = process();
	struct file_facts *facts;

	is_runtime(r, RUNTIME_GO, "go1.22");
	add_file(r, "/srv/app", true, (struct file_facts){ .is_64_bits = true, .is_go = true, .has_go_table = true, .has_unwind_table = true });
	facts = &g_array_index(r->files, struct recognised_file, 0).facts;
	expect(r, "go-functions", true, NULL);
	expect(r, "go-inlined", false, "-w");
	facts->has_go_table = false;
	expect(r, "go-functions", false, "-ldflags=-s");
	facts->has_symbols = true;
	expect(r, "go-functions", false, "Go 1.18");
	end(r);
}

static void test_java(void)
{
	static const char arguments[] = "java\0-XX:+PreserveFramePointer";
	struct recognised *r = process();

	is_runtime(r, RUNTIME_JAVA, "17.0.1");
	r->is_jvm_readable = true;
	expect(r, "java-frames", true, NULL);
	r->is_jvm_readable = false;
	expect(r, "java-frames", false, "-XX:+PreserveFramePointer");
	expect(r, "perf-map", false, "jcmd 42 Compiler.perfmap");
	is_runtime(r, RUNTIME_JAVA, "1.8.0_392");
	expect(r, "perf-map", false, "perf-map-agent");
	r->arguments = g_memdup2(arguments, sizeof(arguments));
	r->arguments_bytes = sizeof(arguments);
	expect(r, "java-frames", true, NULL);
	r->map.state = PERF_MAP_READABLE;
	expect(r, "perf-map", true, NULL);
	r->map.state = PERF_MAP_FOREIGN;
	r->map.wanted = 33;
	expect(r, "perf-map", false, "chown 33 ");
	end(r);
}

static void test_others(void)
{
	static const char arguments[] = "node\0--perf-basic-prof";
	struct recognised *r = process();

	is_runtime(r, RUNTIME_NODE, "20.1.0");
	expect(r, "perf-map", false, "--perf-basic-prof");
	r->arguments = g_memdup2(arguments, sizeof(arguments));
	r->arguments_bytes = sizeof(arguments);
	expect(r, "node-interpreted", false, "--interpreted-frames-native-stack");
	r->is_v8_readable = true;
	expect(r, "node-functions", true, NULL);
	r->runtimes = 0;
	is_runtime(r, RUNTIME_RUBY, "3.1.2");
	expect(r, "ruby-frames", false, "--objects");
	r->ruby = LANGUAGE_READABLE;
	expect(r, "ruby-frames", true, NULL);
	r->ruby = LANGUAGE_NO_SYMBOLS;
	is_runtime(r, RUNTIME_RUBY, "3.3.0");
	expect(r, "ruby-frames", false, "not stripped");
	r->ruby = LANGUAGE_NOT_READY;
	expect(r, "ruby-frames", false, "once it runs");
	is_runtime(r, RUNTIME_PHP, NULL);
	expect(r, "php-frames", false, "--objects");
	r->php = LANGUAGE_READABLE;
	expect(r, "php-frames", true, NULL);
	is_runtime(r, RUNTIME_PERL, "5.36");
	expect(r, "perl-frames", false, "--objects");
	r->perl = LANGUAGE_READABLE;
	expect(r, "perl-frames", true, NULL);
	r->runtimes = 0;
	is_runtime(r, RUNTIME_DOTNET, "8.0.1");
	expect(r, "perf-map", false, "DOTNET_PerfMapEnabled=1");
	end(r);
}

static void test_native(void)
{
	const struct file_facts good = { .is_64_bits = true, .has_unwind_table = true, .has_symbols = true, .has_exported_names = true,
					 .has_debug_info = true };
	const struct file_facts exporting = { .is_64_bits = true, .has_unwind_table = true, .has_exported_names = true };
	struct recognised *r = process();
	struct file_facts *program;

	add_file(r, "/srv/app", true, good);
	add_file(r, "/lib/libc.so.6", false, good);
	expect(r, "unwind-tables", true, NULL);
	expect(r, "program-symbols", true, NULL);
	expect(r, "program-lines", true, NULL);
	expect(r, "library-symbols", true, NULL);
	add_file(r, "/lib/liba.so", false, exporting);
	add_file(r, "/lib/libb.so", false, (struct file_facts){ .is_64_bits = true, .has_unwind_table = true });
	expect(r, "library-symbols", false, "DEBUGINFOD_URLS");
	expect(r, "library-names", false, "DEBUGINFOD_URLS");
	program = &g_array_index(r->files, struct recognised_file, 0).facts;
	*program = (struct file_facts){ .is_64_bits = true };
	expect(r, "unwind-tables", false, "-fno-omit-frame-pointer");
	expect(r, "program-symbols", false, "no build id");
	expect(r, "program-lines", false, "-g");
	program->has_code_rules = true;
	expect(r, "unwind-tables", true, NULL);
	program->has_code_rules = false;
	program->has_frame_pointers = true;
	expect(r, "unwind-tables", true, NULL);
	program->is_64_bits = false;
	expect(r, "unwind-tables", false, "64 bits");
	r->made_bytes = 1 << 20;
	expect(r, "perf-map", false, "/tmp/perf-42.map");
	r->is_python_hidden = true;
	expect(r, "python-frames", false, "libpython3.N.so");
	g_array_index(r->files, struct recognised_file, 1).is_readable = false;
	expect(r, "files", false, "CAP_DAC_READ_SEARCH");
	r->inner_pid = 1;
	expect(r, "container", true, NULL);
	r->is_kernel_thread = true;
	expect(r, "kernel-thread", true, NULL);
	end(r);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/doctor-findings/python", test_python);
	g_test_add_func("/doctor-findings/go", test_go);
	g_test_add_func("/doctor-findings/java", test_java);
	g_test_add_func("/doctor-findings/others", test_others);
	g_test_add_func("/doctor-findings/native", test_native);
	return g_test_run();
}
