/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/doctor/doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"

#define NAMES_SHOWN 4
#define MADE_BYTES_MIN (256u << 10)	/* less generated code is only a few trampolines */
#define JCMD_MAJOR 17			/* Compiler.perfmap was added with it */
#define JAVA_VIRTUAL_MAJOR 21
#define JAVA_INLINED_LOST 22
#define JAVA_INLINED_FOUND 25
#define RUBY_YJIT_MAP 3003		/* --yjit-perf was added in Ruby 3.3 */
#define PYTHON_PERF_MINOR 12		/* -X perf was added in Python 3.12 */

static void finding_clear(void *data)
{
	struct doctor_finding *f = data;

	g_free(f->text);
	g_free(f->advice);
}

static struct doctor_finding *add_finding(GArray *findings, const char *what, bool is_there, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
static struct doctor_finding *add_finding(GArray *findings, const char *what, bool is_there, const char *format, ...)
{
	struct doctor_finding f = { .what = what, .is_there = is_there };
	va_list args;

	va_start(args, format);
	f.text = g_strdup_vprintf(format, args);
	va_end(args);
	g_array_append_val(findings, f);
	return &g_array_index(findings, struct doctor_finding, findings->len - 1);
}

static void set_advice(struct doctor_finding *f, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void set_advice(struct doctor_finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	f->advice = g_strdup_vprintf(format, args);
	va_end(args);
}

static const struct recognised_file *file_at(const struct recognised *r, guint i)
{
	return &g_array_index(r->files, struct recognised_file, i);
}

/* 17 for "17.0.13", 8 for "1.8.0_392"; 0: unknown. */
static unsigned java_major(const struct recognised *r)
{
	const char *version = r->versions[RUNTIME_JAVA];

	if (version && g_str_has_prefix(version, "1."))
		version += 2;
	return version ? (unsigned)strtoul(version, NULL, 10) : 0;
}

/* 3003 for "3.3.0"; 0: unknown. */
static unsigned version_number(const char *version)
{
	char *end;
	unsigned long major = version ? strtoul(version, &end, 10) : 0;

	return major && *end == '.' ? (unsigned)(major * 1000 + strtoul(end + 1, NULL, 10) % 1000) : 0;
}

/* ---- names of generated code */

static void add_map(GArray *findings, const struct recognised *r, const char *who, char *how)
{
	const struct recognised_map *m = &r->map;
	g_autofree char *advice = how;
	struct doctor_finding *f;

	switch (m->state) {
	case PERF_MAP_READABLE:
		add_finding(findings, "perf-map", true, "%s: %" G_GUINT64_FORMAT " in %s, as of when it was written", who,
			    m->cnt, m->path);
		return;
	case PERF_MAP_LINKED:
		f = add_finding(findings, "perf-map", false, "%s: %s is a link or no plain file, so it is not read", who,
				m->path);
		set_advice(f, "Remove it, and let the process write it anew.");
		return;
	case PERF_MAP_FOREIGN:
		f = add_finding(findings, "perf-map", false,
				"%s: %s belongs to user %u and the process to user %u, so it is not read", who, m->path,
				m->owner, m->wanted);
		set_advice(f, "chown %u %s%s, if you trust it.", m->wanted, r->has_own_root ? "(in the container) " : "",
			   m->path);
		return;
	case PERF_MAP_CLOSED:
		f = add_finding(findings, "perf-map", false, "%s: %s cannot be opened", who, m->path);
		set_advice(f, "Run as root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.");
		return;
	default:
		break;
	}
	if (r->has_jitdump) {
		add_finding(findings, "perf-map", true, "%s: in the jitdump file that it maps", who);
		return;
	}
	f = add_finding(findings, "perf-map", false, "%s: %s", who,
			m->state == PERF_MAP_EMPTY ? "its perf map names none" : "there is no perf map that names them");
	f->advice = g_steal_pointer(&advice);
}

/* ---- a function per runtime */

static void look_at_gil(GArray *findings, const struct recognised *r)
{
	static const char what[] = "python-gil";

	if (r->python.is_free_threaded && !r->python.is_gil_on)
		add_finding(findings, what, true, "the GIL: this build has none (free-threaded), so no thread waits for it");
	else if (r->python.has_gil_holder)
		add_finding(findings, what, true,
			    "who holds the GIL while others wait for it, and in which function: read from the interpreter");
	else if (r->python.state == LANGUAGE_READABLE)
		add_finding(findings, what, false,
			    "who holds the GIL: its C library does not tell where it keeps a thread's id");
}

static void look_at_python(GArray *findings, const struct recognised *r)
{
	static const char what[] = "python-frames";
	static const char *const versions = "3.8 to 3.15";
	struct doctor_finding *f;

	look_at_gil(findings, r);
	if (r->has_asyncio)
		add_finding(findings, "python-tasks", true,
			    "tasks of asyncio: looked at by `record`, and by `offcpu tasks -p %u`", r->pid);
	if (r->has_greenlets)
		add_finding(findings, "python-greenlets", true, "greenlets: looked at by `record`, and by `offcpu tasks -p %u`", r->pid);
	switch (r->python.state) {
	case LANGUAGE_READABLE:
		add_finding(findings, what, true,
			    "Python functions, files and lines: read from the interpreter, no option is needed");
		return;
	case LANGUAGE_OTHER_VERSION:
		f = add_finding(findings, what, false,
				"Python functions: frames of this build are not known (those of %s are; without a GIL, of 3.13)", versions);
		if (r->python.minor < PYTHON_PERF_MINOR)
			set_advice(f, "Run it with Python %s.", versions);
		else if (r->map.state == PERF_MAP_READABLE)
			set_advice(f, "None is needed: it runs with -X perf, and its perf map names them.");
		else
			set_advice(f,
				   "Start it with `python3 -X perf` (or PYTHONPERFSUPPORT=1): its perf map then names them.");
		return;
	case LANGUAGE_NO_SYMBOLS:
		f = add_finding(findings, what, false,
				"Python functions: the interpreter does not export _PyRuntime and PyCode_Type");
		set_advice(f, "Use an interpreter that keeps its dynamic symbols (`strip` leaves them).");
		return;
	case LANGUAGE_NO_LIBC:
		f = add_finding(findings, what, false,
				"Python functions: neither glibc nor musl was found in it, which tell where threads keep their state");
		set_advice(f, "Use an interpreter that is linked dynamically to one of them, as distributions build it.");
		return;
	default:
		f = add_finding(findings, what, false, "Python functions: the interpreter has not begun, or ends");
		set_advice(f, "Ask again once it runs; `record` looks again by itself.");
	}
}

static void look_at_go(GArray *findings, const struct recognised *r)
{
	const struct file_facts *go = NULL;

	for (guint i = 0; i < r->files->len && !go; i++)
		go = file_at(r, i)->facts.is_go ? &file_at(r, i)->facts : NULL;
	if (!go)
		return;
	if (go->has_go_table)
		add_finding(findings, "go-functions", true, "Go functions and lines: from Go's own table%s",
			    go->has_symbols ? "" : "; the symbols are stripped, which does no harm");
	else if (go->has_symbols)
		set_advice(add_finding(findings, "go-functions", false,
				       "Go functions, but not all frames: the table is not of Go 1.18 or later"),
			   "Build it with Go 1.18 or later.");
	else
		set_advice(add_finding(findings, "go-functions", false,
				       "Go functions: no symbols, and the table is not of Go 1.18 or later"),
			   "Build it with Go 1.18 or later, or without -ldflags=-s.");
	if (!go->has_debug_info)
		set_advice(add_finding(findings, "go-inlined", false, "Go's inlined functions (`record --inline`): no DWARF"),
			   "Build it without -ldflags=-w and -s.");
	if (r->has_labels)
		add_finding(findings, "go-labels", true,
			    "labels of goroutines (runtime/pprof): waits of threads have those of the goroutine that they run for");
	if (r->are_goroutines_readable)
		add_finding(findings, "go-goroutines", true,
			    "goroutines, also those that hold no thread: looked at by `record -p`, and by `offcpu tasks -p %u`", r->pid);
	else
		set_advice(add_finding(findings, "go-goroutines", false,
				       "goroutines: its list of them was not found (Go 1.18 or later, x86-64 or arm64, once it runs)"),
			   "Ask Go itself: net/http/pprof, /debug/pprof/goroutine?debug=2, block, mutex.");
}

/* JDK 22 to 24 keep inlining information elsewhere, where it cannot be read. */
static bool is_java_inlined_known(unsigned major)
{
	return major < JAVA_INLINED_LOST || major >= JAVA_INLINED_FOUND;
}

static void look_at_virtual_threads(GArray *findings, const struct recognised *r, unsigned major)
{
	if (!is_java_inlined_known(major))
		add_finding(findings, "java-inlined", false, "Java methods that are inlined: told of the method around them");
	if (major >= JAVA_VIRTUAL_MAJOR && r->are_objects_readable)
		add_finding(findings, "java-virtual-threads", true,
			    "virtual threads, also those that wait without a thread: looked at by `record -p`, and by `offcpu tasks -p %u`", r->pid);
	else if (major >= JAVA_VIRTUAL_MAJOR)
		set_advice(add_finding(findings, "java-virtual-threads", false,
				       "virtual threads that wait without a thread: its garbage collector (ZGC, Shenandoah) moves them at any time, so only "
				       "those are seen that are mounted on one"),
			   "Ask the JVM itself: `jcmd %u Thread.dump_to_file -format=json FILE`.", r->pid);
}

static void look_at_java(GArray *findings, const struct recognised *r)
{
	static const char *const variables[] = { "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", NULL };
	unsigned major = java_major(r);
	char *how;

	if (r->is_jvm_readable) {
		add_finding(findings, "java-frames", true,
			    "Java methods, and stacks through them: compiled%s and interpreted, by the JVM's own tables",
			    is_java_inlined_known(major) ? ", inlined" : "");
		look_at_virtual_threads(findings, r, major);
		return;
	}
	if (recognised_has_option(r, "-XX:+PreserveFramePointer", variables))
		add_finding(findings, "java-frames", true, "stacks through compiled Java: -XX:+PreserveFramePointer is given");
	else
		set_advice(add_finding(findings, "java-frames", false,
				       "stacks through compiled Java: this JVM's tables cannot be read, and they end there, without -XX:+PreserveFramePointer"),
			   "Start it with -XX:+PreserveFramePointer, or with that in JAVA_TOOL_OPTIONS.");
	if (!major || major >= JCMD_MAJOR)
		how = g_strdup_printf(
			"Run `jcmd %u Compiler.perfmap` as its user before you record, and again when it has compiled more.",
			r->pid);
	else
		how = g_strdup_printf(
			"Load perf-map-agent into it, or run it on JDK 17 or later, which has `jcmd %u Compiler.perfmap`.",
			r->pid);
	add_map(findings, r, "Java methods", how);
}

static void look_at_node(GArray *findings, const struct recognised *r)
{
	static const char *const variables[] = { "NODE_OPTIONS", NULL };
	static const char native[] = "--interpreted-frames-native-stack";
	if (r->is_v8_readable) {
		add_finding(findings, "node-functions", true,
			    "JavaScript functions, files and lines of functions: read from V8, no option is needed");
		if (!r->has_v8_inlined)
			add_finding(findings, "node-inlined", false,
				    "JavaScript functions that are inlined: known of Node 20 only, else told of their caller");
		return;
	}
	bool has_map_option = recognised_has_option(r, "--perf-basic-prof", variables) ||
			      recognised_has_option(r, "--perf-basic-prof-only-functions", variables) ||
			      recognised_has_option(r, "--perf-prof", variables);

	add_map(findings, r, "JavaScript functions",
		g_strdup_printf("Start it with `node --perf-basic-prof %s`, or with these in NODE_OPTIONS.", native));
	if (has_map_option && !recognised_has_option(r, native, variables))
		set_advice(add_finding(findings, "node-interpreted", false,
				       "JavaScript functions that are not compiled yet: all have one name"),
			   "Start it with %s, too.", native);
}

struct frames_words {
	const char *what, *functions;
	const char *versions;	/* supported versions */
	const char *lacks;	/* what the interpreter's file does not tell */
	const char *advice;	/* advice if they cannot be read */
};

static void tell_frames(GArray *findings, enum language_state state, const struct frames_words *w)
{
	struct doctor_finding *f;

	switch (state) {
	case LANGUAGE_READABLE:
		add_finding(findings, w->what, true, "%s, files and lines: read from the interpreter, no option is needed", w->functions);
		return;
	case LANGUAGE_NOT_READY:
		set_advice(add_finding(findings, w->what, false, "%s: the interpreter has not begun, or ends", w->functions),
			   "Ask again once it runs; `record` looks again by itself.");
		return;
	case LANGUAGE_OTHER_VERSION:
		f = add_finding(findings, w->what, false, "%s: frames of this version are not known (those of %s are)", w->functions,
				w->versions);
		break;
	case LANGUAGE_NO_LIBC:
		f = add_finding(findings, w->what, false,
				"%s: neither glibc nor musl was found in it, which tell where threads keep their state", w->functions);
		break;
	default:
		f = add_finding(findings, w->what, false, "%s: the interpreter %s", w->functions, w->lacks);
	}
	set_advice(f, "%s", w->advice);
}

#define ADVISE_OBJECTS "Tell waits apart by C function and object: `record --objects` names sockets, peers and files."

static void look_at_ruby(GArray *findings, const struct recognised *r)
{
	static const char yjit[] =
		"An interpreter that is not stripped has it. With `ruby --yjit-perf=map` a perf map names the methods that YJIT compiles.";
	const struct frames_words words = {
		.what = "ruby-frames", .functions = "Ruby methods", .versions = "3.0 to 3.4",
		.lacks = "does not tell where a thread keeps its frames (ruby_current_ec)",
		.advice = version_number(r->versions[RUNTIME_RUBY]) >= RUBY_YJIT_MAP ? yjit : ADVISE_OBJECTS,
	};

	tell_frames(findings, r->ruby, &words);
}

static void look_at_php(GArray *findings, const struct recognised *r)
{
	static const struct frames_words words = {
		.what = "php-frames", .functions = "PHP functions", .versions = "8.2 and 8.4", .advice = ADVISE_OBJECTS,
		.lacks = "does not export executor_globals (builds with threads do not)",
	};

	tell_frames(findings, r->php, &words);
}

static void look_at_perl(GArray *findings, const struct recognised *r)
{
	static const struct frames_words words = {
		.what = "perl-frames", .functions = "Perl functions", .versions = "5.36 to 5.40", .advice = ADVISE_OBJECTS,
		.lacks = "does not export PL_thr_key (builds without threads do not)",
	};

	tell_frames(findings, r->perl, &words);
}

static void (*const look_at[RUNTIME_CNT])(GArray *findings, const struct recognised *r) = {
	[RUNTIME_PYTHON] = look_at_python, [RUNTIME_GO] = look_at_go,   [RUNTIME_JAVA] = look_at_java,
	[RUNTIME_NODE] = look_at_node,     [RUNTIME_RUBY] = look_at_ruby, [RUNTIME_PHP] = look_at_php,
	[RUNTIME_PERL] = look_at_perl,
};

/* Other runtimes are supported only by a perf map. */
static const struct { const char *who, *how, *if_empty; } mapped[RUNTIME_CNT] = {
	[RUNTIME_DOTNET] = { .who = ".NET methods", .how = "Start it with DOTNET_PerfMapEnabled=1 in its environment "
							   "(COMPlus_PerfMapEnabled=1 before .NET 6)." },
	[RUNTIME_MONO] = { .who = "Mono methods", .how = "Start it with `mono --jitmap`, or MONO_ENV_OPTIONS=--jitmap.",
			   .if_empty = "It is written 4 KiB at a time, and a small program has less: "
				       "gdb -p PID -batch -ex 'call (int)fflush(0)'" },
	[RUNTIME_ERLANG] = { .who = "Erlang functions",
			     .how = "Start it with `erl +JPperf true` (OTP 24 and later, with its JIT)." },
};

/* ---- findings for every program */

/* "libfoo.so.1, libbar.so, libbaz.so and 3 more": files for which `fits` holds; NULL: none. */
static char *list_files(const struct recognised *r, bool (*fits)(const struct recognised_file *f), guint *ret_cnt)
{
	GString *text = g_string_new(NULL);

	*ret_cnt = 0;
	for (guint i = 0; i < r->files->len; i++) {
		const struct recognised_file *f = file_at(r, i);

		if (fits(f) && (*ret_cnt)++ < NAMES_SHOWN)
			g_string_append_printf(text, "%s%s", text->len ? ", " : "", module_base_name(f->path));
	}
	if (*ret_cnt > NAMES_SHOWN)
		g_string_append_printf(text, " and %u more", *ret_cnt - NAMES_SHOWN);
	return g_string_free(text, !*ret_cnt);
}

static guint count_files(const struct recognised *r, bool (*fits)(const struct recognised_file *f))
{
	guint cnt = 0;

	for (guint i = 0; i < r->files->len; i++)
		cnt += fits(file_at(r, i));
	return cnt;
}

static bool is_unreadable(const struct recognised_file *f)
{
	return !f->is_readable;
}

static bool is_short_of_symbols(const struct recognised_file *f)
{
	return f->is_readable && !f->facts.has_symbols && !f->facts.debug_file && !f->facts.has_go_table;
}

static bool is_without_names(const struct recognised_file *f)
{
	return is_short_of_symbols(f) && !f->facts.has_exported_names;
}

static bool is_exporting_only(const struct recognised_file *f)
{
	return is_short_of_symbols(f) && f->facts.has_exported_names;
}

static bool has_no_table(const struct recognised_file *f)
{
	return f->is_readable && !f->facts.has_unwind_table && !f->facts.has_frame_pointers && !f->facts.has_code_rules;
}

static bool walks_by_code(const struct recognised_file *f)
{
	return f->is_readable && f->facts.has_code_rules;
}

static bool walks_by_frame_pointers(const struct recognised_file *f)
{
	return f->is_readable && !f->facts.has_unwind_table && f->facts.has_frame_pointers;
}

static void look_at_walking(GArray *findings, const struct recognised *r)
{
	const struct recognised_file *program = r->files->len ? file_at(r, 0) : NULL;
	guint bad_cnt, kept_cnt, code_cnt;
	g_autofree char *bad = list_files(r, has_no_table, &bad_cnt),
			*kept = list_files(r, walks_by_frame_pointers, &kept_cnt),
			*code = list_files(r, walks_by_code, &code_cnt);

	if (program && program->is_readable && !program->facts.is_64_bits) {
		set_advice(add_finding(findings, "unwind-tables", false,
				       "stacks by unwind tables: its program is not of 64 bits, so frame pointers must do"),
			   "Build it with -fno-omit-frame-pointer, or for 64 bits.");
		return;
	}
	if (bad_cnt)
		set_advice(add_finding(findings, "unwind-tables", false,
				       "stacks through %s: no unwind tables for most of the code, no frame pointers", bad),
			   "Build without -fno-asynchronous-unwind-tables, or with -fno-omit-frame-pointer.");
	else if (kept_cnt)
		add_finding(findings, "unwind-tables", true, "stacks: by unwind tables; by frame pointers in %s", kept);
	else if (code_cnt)
		add_finding(findings, "unwind-tables", true, "stacks: by unwind tables; in %s, by what its code does to the stack", code);
	else if (r->files->len)
		add_finding(findings, "unwind-tables", true, "stacks: unwind tables in all %u files",
			    r->files->len - r->left_out_cnt);
}

static void look_at_program(GArray *findings, const struct recognised *r)
{
	const struct recognised_file *f = r->files->len ? file_at(r, 0) : NULL;
	const char *name = f ? module_base_name(f->path) : "";

	/* launchers of a JVM or .NET are only a few functions that load it */
	if (!f || !f->is_program || !f->is_readable || f->facts.is_go || recognised_is(r, RUNTIME_JAVA) ||
	    recognised_is(r, RUNTIME_DOTNET))
		return;
	if (f->facts.debug_file)
		add_finding(findings, "program-symbols", true, "functions of %s: from %s", name, f->facts.debug_file);
	else if (f->facts.has_symbols)
		add_finding(findings, "program-symbols", true, "functions of %s: its own symbols", name);
	else
		set_advice(add_finding(findings, "program-symbols", false, "functions of %s: it is stripped%s", name,
				       f->facts.has_exported_names ? ", only exported ones have names" : ", none has a name"),
			   "Install its debug symbols (Debian: …-dbgsym), set DEBUGINFOD_URLS%s, or do not strip it.",
			   f->facts.build_id[0] ? "" : " (of no use here: it has no build id)");
	if (f->facts.has_debug_info)
		add_finding(findings, "program-lines", true, "lines and inlined functions of %s: with `record --inline`", name);
	else if (!r->runtimes)
		set_advice(add_finding(findings, "program-lines", false, "lines and inlined functions of %s: no debug information",
				       name),
			   "Build with -g, or install its debug symbols.");
}

static bool is_library(const struct recognised_file *f)
{
	return !f->is_program;
}

static bool is_short_library(const struct recognised_file *f)
{
	return is_library(f) && is_exporting_only(f);
}

static bool is_nameless_library(const struct recognised_file *f)
{
	return is_library(f) && is_without_names(f);
}

static void look_at_libraries(GArray *findings, const struct recognised *r)
{
	guint cnt = count_files(r, is_library), short_cnt, nameless_cnt;
	g_autofree char *exporting = list_files(r, is_short_library, &short_cnt),
			*nameless = list_files(r, is_nameless_library, &nameless_cnt);
	static const char how[] = "Install their debug symbols (libc6-dbg, …-dbgsym), or set DEBUGINFOD_URLS.";

	if (!cnt)
		return;
	if (!short_cnt && !nameless_cnt)
		add_finding(findings, "library-symbols", true, "functions of its %u librar%s: all symbols", cnt,
			    cnt == 1 ? "y" : "ies");
	if (short_cnt)
		set_advice(add_finding(findings, "library-symbols", false,
				       "internal functions of %u of %u libraries (exported ones have names): %s", short_cnt, cnt,
				       exporting),
			   "%s", how);
	if (nameless_cnt)
		set_advice(add_finding(findings, "library-names", false, "any function of %s", nameless), "%s", how);
}

static void look_at_place(GArray *findings, const struct recognised *r)
{
	guint cnt;
	g_autofree char *closed = list_files(r, is_unreadable, &cnt);

	if (r->has_own_root || r->inner_pid != r->pid)
		add_finding(findings, "container", true, "a container: process %u inside%s", r->inner_pid,
			    r->has_own_root ? ", files are read below its own root" : "");
	if (cnt)
		set_advice(add_finding(findings, "files", false, "%u file%s cannot be opened: %s", cnt, cnt == 1 ? "" : "s",
				       closed),
			   "Run as root, or with CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE.");
	if (r->left_out_cnt)
		add_finding(findings, "files", false, "%u more files were not looked at", r->left_out_cnt);
}

static void look_at_made_code(GArray *findings, const struct recognised *r)
{
	static const uint32_t with_own = 1u << RUNTIME_JAVA | 1u << RUNTIME_NODE | 1u << RUNTIME_DOTNET |
					 1u << RUNTIME_MONO | 1u << RUNTIME_ERLANG;

	if (r->runtimes & with_own)
		return;
	if (r->map.state != PERF_MAP_NONE || r->made_bytes >= MADE_BYTES_MIN)
		add_map(findings, r, "code that is made at run time",
			g_strdup_printf(
				"Let its compiler write /tmp/perf-%u.map; see the runtime's documentation for perf.",
				r->inner_pid));
}

static void look_at_hidden_python(GArray *findings, const struct recognised *r)
{
	if (r->is_python_hidden && !recognised_is(r, RUNTIME_PYTHON))
		set_advice(add_finding(findings, "python-frames", false,
				       "Python functions: there is an interpreter in %s, looked for only in files called python3.N",
				       r->files->len ? module_base_name(file_at(r, 0)->path) : "it"),
			   "Link it with libpython3.N.so, or call the program python3.N.");
}

/* Which trace a thread works for, if the program publishes it. */
static void look_at_context(GArray *findings, const struct recognised *r)
{
	switch (r->context) {
	case THREAD_CONTEXT_READABLE:
		if (r->context_keys)
			add_finding(findings, "trace-context", true, "trace contexts of its threads, with these attributes: %s",
				    r->context_keys);
		else
			set_advice(add_finding(findings, "trace-context", false,
					       "trace contexts of its threads, but not what their attributes are called"),
				   "Traces are told, and no routes: its SDK publishes no threadlocal.attribute_key_map.");
		break;
	case THREAD_CONTEXT_NO_VARIABLE:
		set_advice(add_finding(findings, "trace-context", false,
				       "trace contexts of its threads: no file of its exports the variable otel_thread_ctx_v1"),
			   "See its SDK's documentation for thread contexts (OTEP 4947).");
		break;
	case THREAD_CONTEXT_UNSAID:
		add_finding(findings, "trace-context", false, "an OpenTelemetry context, which says nothing of its threads' traces");
		break;
	case THREAD_CONTEXT_NONE: break;
	}
}

GArray *doctor_findings(const struct recognised *r)
{
	GArray *findings = g_array_new(FALSE, FALSE, sizeof(struct doctor_finding));

	g_array_set_clear_func(findings, finding_clear);
	if (r->is_kernel_thread) {
		add_finding(findings, "kernel-thread", true,
			    "a kernel thread: it has kernel stacks only, which need nothing of it");
		return findings;
	}
	look_at_place(findings, r);
	for (int i = 0; i < RUNTIME_CNT; i++) {
		const char *if_empty = r->map.state == PERF_MAP_EMPTY ? mapped[i].if_empty : NULL;

		if (recognised_is(r, i) && look_at[i])
			look_at[i](findings, r);
		else if (recognised_is(r, i))
			add_map(findings, r, mapped[i].who, g_strdup(if_empty ? if_empty : mapped[i].how));
	}
	look_at_hidden_python(findings, r);
	if (r->has_tokio)
		add_finding(findings, "tokio-tasks", true,
			    "tasks of Tokio, also those that no thread polls: looked at by `record -p`, and by `offcpu tasks -p %u`",
			    r->pid);
	look_at_context(findings, r);
	look_at_made_code(findings, r);
	look_at_walking(findings, r);
	look_at_program(findings, r);
	look_at_libraries(findings, r);
	return findings;
}
