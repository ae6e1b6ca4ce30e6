/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/recognise.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/each.h"
#include "base/find.h"
#include "base/module.h"
#include "base/opener/opener.h"
#include "base/refuse.h"
#include "runtimes/go/program.h"
#include "runtimes/java/objects.h"
#include "runtimes/node/names.h"
#include "runtimes/python/greenlets.h"
#include "runtimes/tokio/program.h"
#include "symbolize/jit/perf_map.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"

#define STATUS_MAX_BYTES 16384
#define ARGUMENTS_MAX_BYTES (256u << 10)
#define RELEASE_MAX_BYTES (64u << 10)
#define NODE_VERSION_MAX 16
#define PF_KTHREAD 0x00200000u
#define STAT_FLAGS_FIELD 7	/* after the name in parentheses and the blank; field 9 of proc(5) */

bool recognised_is(const struct recognised *r, enum runtime runtime)
{
	return r->runtimes & 1u << runtime;
}

static void has_runtime(struct recognised *r, enum runtime runtime, char *version)
{
	r->runtimes |= 1u << runtime;
	if (version && !r->versions[runtime])
		r->versions[runtime] = version;
	else
		g_free(version);
}

/* ---- arguments and environment */

static char *read_proc(const char *proc_dir, uint32_t pid, const char *name, size_t max_bytes, gsize *ret_len)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/%s", proc_dir, pid, name);

	*ret_len = 0;
	return opener_text(path, max_bytes, ret_len);
}

const char *recognised_variable(const struct recognised *r, const char *name)
{
	size_t len = strlen(name);

	for (gsize at = 0; at < r->environment_bytes; at += strlen(r->environment + at) + 1)
		if (!strncmp(r->environment + at, name, len) && r->environment[at + len] == '=')
			return r->environment + at + len + 1;
	return NULL;
}

static bool has_word(const char *text, const char *word)
{
	g_auto(GStrv) words = g_strsplit_set(text, " \t\n", -1);

	return g_strv_contains((const char *const *)words, word);
}

bool recognised_has_option(const struct recognised *r, const char *word, const char *const *variables)
{
	for (gsize at = 0; at < r->arguments_bytes; at += strlen(r->arguments + at) + 1)
		if (!strcmp(r->arguments + at, word))
			return true;
	for (; variables && *variables; variables++) {
		const char *value = recognised_variable(r, *variables);

		if (value && has_word(value, word))
			return true;
	}
	return false;
}

/* ---- versions from files or memory */

/* JAVA_VERSION="17.0.13" in the file `release` of its home, three or four folders above libjvm.so. */
static char *java_version(const char *proc_dir, uint32_t pid, const char *library)
{
	g_autofree char *folder = g_path_get_dirname(library);

	for (int up = 0; up < 5; up++) {
		g_autofree char *path = g_build_filename(folder, "release", NULL), *text = NULL,
				*above = g_path_get_dirname(folder);
		struct stat st;
		int fd = file_open_held(file_hold_in_process(proc_dir, pid, path, &st));
		const char *at;
		size_t len;

		if (fd >= 0) {
			text = file_read_fd(fd, RELEASE_MAX_BYTES, &len);
			close(fd);
		}
		at = text ? strstr(text, "JAVA_VERSION=\"") : NULL;
		if (at) {
			at += strlen("JAVA_VERSION=\"");
			len = strspn(at, "0123456789._");
			return len && len < 32 ? g_strndup(at, len) : NULL;
		}
		g_free(folder);
		folder = g_steal_pointer(&above);
	}
	return NULL;
}

/* node::per_process::metadata begins with a std::string, "20.11.1"; in libstdc++ a pointer and a length. */
static char *node_version(const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct variable wanted[] = { { "_ZN4node11per_process8metadataE", 0 } };
	char text[NODE_VERSION_MAX + 1] = "";
	uint64_t string[2];

	if (!variables_find(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)) || !wanted[0].addr ||
	    !memory_read(pid, wanted[0].addr, string, sizeof(string)) || !string[1] || string[1] > NODE_VERSION_MAX ||
	    !memory_read(pid, string[0], text, string[1]) || strspn(text, "0123456789.") != string[1])
		return NULL;
	return g_strdup(text);
}

static char *version_of(const char *proc_dir, uint32_t pid, enum runtime runtime, const struct maps_line *line)
{
	switch (runtime) {
	case RUNTIME_JAVA:
		return java_version(proc_dir, pid, line->path);
	case RUNTIME_NODE:
		return node_version(proc_dir, pid, line);
	default:
		return runtime_version_of_file(runtime, line->path);
	}
}

static void look_at_jvm(struct recognised *r, const char *proc_dir, const GArray *lines)
{
	struct java_objects objects;
	struct hotspot jvm;

	r->is_jvm_readable = recognised_is(r, RUNTIME_JAVA) && hotspot_open(&jvm, proc_dir, r->pid, lines);
	if (r->is_jvm_readable && java_objects_open(&objects, &jvm) == JAVA_OBJECTS_READABLE) {
		r->are_objects_readable = true;
		java_objects_close(&objects);
	}
}

static void look_at_python(struct recognised *r, const char *proc_dir, const GArray *lines)
{
	struct offcpu_language unused;
	uint32_t hex;

	r->python = python_look(proc_dir, r->pid, lines, &unused);
	if (r->python.state == LANGUAGE_NONE)
		return;
	hex = r->python.hex_version;
	has_runtime(r, RUNTIME_PYTHON,
		    hex ? g_strdup_printf("%u.%u.%u", hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff)
			: g_strdup_printf("3.%u", r->python.minor));
}

static void look_at_v8(struct recognised *r, const char *proc_dir)
{
	struct v8 v8;

	r->is_v8_readable = recognised_is(r, RUNTIME_NODE) && v8_open(&v8, proc_dir, r->pid);
	r->has_v8_inlined = r->is_v8_readable && v8.has_inlined;
}

/* Goroutines, and tasks of asyncio, greenlets and Tokio. */
static void look_at_tasks(struct recognised *r, const char *proc_dir, const GArray *lines)
{
	struct go_program go;
	struct python_program python;
	struct python_greenlets greenlets;
	struct tokio_program tokio;

	if (recognised_is(r, RUNTIME_GO)) {
		r->are_goroutines_readable = go_program_open(&go, proc_dir, r->pid, lines) == GO_READABLE;
		go_program_close(&go);
	}
	if (r->python.state == LANGUAGE_READABLE) {
		r->has_asyncio = python_tasks_open(&python, proc_dir, r->pid, lines) == PYTHON_TASKS_READABLE;
		python_tasks_close(&python);
		r->has_greenlets = python_greenlets_open(&greenlets, proc_dir, r->pid, lines) ==
				   PYTHON_GREENLETS_READABLE;
		python_greenlets_close(&greenlets);
	}
	if (!r->runtimes) {
		r->has_tokio = tokio_program_open(&tokio, proc_dir, r->pid, lines) &&
			       tokio_program_is_ready(&tokio, lines);
		tokio_program_close(&tokio);
	}
}

static void look_at_scripts(struct recognised *r, const char *proc_dir, const GArray *lines)
{
	struct offcpu_language unused, perl;

	r->ruby = ruby_look(proc_dir, r->pid, lines, &unused);
	r->php = php_look(proc_dir, r->pid, lines, &unused);
	r->perl = perl_look(proc_dir, r->pid, lines, &perl);
	if (r->perl == LANGUAGE_READABLE)
		has_runtime(r, RUNTIME_PERL, g_strdup_printf("5.%u", perl.version & 0xff));
}

/* ---- files */

static void recognised_file_clear(void *data)
{
	struct recognised_file *f = data;

	g_free(f->path);
	file_facts_clear(&f->facts);
}

static const struct recognised_file *file_of_path(const struct recognised *r, const char *path)
{
	return FIRST_ROW(const struct recognised_file, f, r->files, !strcmp(f->path, path), f, NULL);
}

/* A program with an embedded runtime and another name: CPython, or single-file .NET. */
static void look_within(struct recognised *r, const char *proc_dir, const struct maps_line *line)
{
	struct variable wanted[] = { { "_PyRuntime", 0 }, { "DotNetRuntimeInfo", 0 } };

	if (!variables_find(proc_dir, r->pid, line, wanted, G_N_ELEMENTS(wanted)))
		return;
	r->is_python_hidden = wanted[0].addr;
	if (wanted[1].addr)
		has_runtime(r, RUNTIME_DOTNET, NULL);
}

static void take_file(struct recognised *r, const char *proc_dir, const char *debug_dir, const struct maps_line *line,
		      bool is_program)
{
	struct recognised_file f = { .is_program = is_program };
	enum runtime runtime = runtime_of_file(line->path);
	struct go_labels_place unused;
	int fd = file_open_line(proc_dir, r->pid, line);

	f.path = g_strdup(line->path);
	f.is_readable = fd >= 0;
	if (g_str_has_suffix(f.path, MAPS_DELETED) && !file_is_at_path(proc_dir, r->pid, line, true)) {
		f.path[strlen(f.path) - strlen(MAPS_DELETED)] = '\0';
		f.is_deleted = true;
	}
	if (fd >= 0 && !file_facts_read(fd, f.path, debug_dir, &f.facts)) {
		r->made_bytes += line->end - line->start;	/* generated code in a file of its own */
		r->has_jitdump |= g_str_has_prefix(module_base_name(f.path), "jit-") &&
				  g_str_has_suffix(f.path, ".dump");
		g_free(f.path);
	} else {
		if (fd >= 0 && r->has_rules && !f.facts.has_unwind_table && !f.facts.has_frame_pointers)
			f.facts.has_code_rules = r->has_rules(fd);
		r->has_labels |= f.facts.has_go_table && go_labels_place_read(fd, &unused);
		if (f.facts.is_go)
			has_runtime(r, RUNTIME_GO, f.facts.go_version[0] ? g_strdup(f.facts.go_version) : NULL);
		if (runtime != RUNTIME_CNT && runtime != RUNTIME_PYTHON)
			has_runtime(r, runtime, version_of(proc_dir, r->pid, runtime, line));
		if (is_program && runtime == RUNTIME_CNT)
			look_within(r, proc_dir, line);
		g_array_append_val(r->files, f);
	}
	if (fd >= 0)
		close(fd);
}

/* The program comes first, even if a library is mapped below it. */
static void take_files(struct recognised *r, const char *proc_dir, const char *debug_dir, const GArray *lines)
{
	g_autofree char *exe = g_strdup_printf("%s/%" PRIu32 "/exe", proc_dir, r->pid);
	g_autofree char *program = opener_link(exe);

	for (int pass = 0; pass < 2; pass++)
		EACH_ROW(i, const struct maps_line, m, lines) {
			bool is_program = program && !strcmp(program, m->path);

			if (!m->is_exec || is_program != (pass == 0))
				continue;
			if (m->path[0] != '/' || !m->inode) {
				/* not [vdso], [vsyscall] */
				if (m->path[0] != '[' || g_str_has_prefix(m->path, "[anon"))
					r->made_bytes += m->end - m->start;
			} else if (r->files->len >= RECOGNISED_FILES_MAX) {
				r->left_out_cnt++;
			} else if (!file_of_path(r, m->path)) {
				take_file(r, proc_dir, debug_dir, m, is_program);
			}
		}
}

/* ---- perf map */

static void count_functions(struct recognised *r, const char *proc_dir)
{
	struct perf_map_version version;
	struct perf_map *map = perf_map_read(proc_dir, r->pid, (struct perf_map_version){ 0 }, &version);

	r->map.cnt = map ? perf_map_cnt(map) : 0;
	r->map.state = r->map.cnt ? PERF_MAP_READABLE : map || !version.bytes ? PERF_MAP_EMPTY : PERF_MAP_CLOSED;
	perf_map_free(map);
}

static void look_at_map(struct recognised *r, const char *proc_dir, const char *status)
{
	struct stat st;
	int held;

	if (!perf_map_parse_status(status, &r->inner_pid, &r->map.wanted))
		return;
	r->map.path = g_strdup_printf("/tmp/perf-%" PRIu32 ".map", r->inner_pid);
	held = file_hold_in_process_nolinks(proc_dir, r->pid, r->map.path, &st);
	if (held < 0) {
		r->map.state = errno == ELOOP || errno == EINVAL ? PERF_MAP_LINKED
			       : errno == ENOENT                 ? PERF_MAP_NONE
								 : PERF_MAP_CLOSED;
		return;
	}
	close(held);
	r->map.owner = st.st_uid;
	if (st.st_uid && st.st_uid != r->map.wanted)
		r->map.state = PERF_MAP_FOREIGN;
	else
		count_functions(r, proc_dir);
}

/* ---- the process */

static bool is_kernel_thread(const char *stat)
{
	const char *at = strrchr(stat, ')');
	g_auto(GStrv) fields = at && at[1] == ' ' ? g_strsplit(at + 2, " ", STAT_FLAGS_FIELD + 1) : NULL;

	return fields && g_strv_length(fields) > STAT_FLAGS_FIELD - 1 &&
	       g_ascii_strtoull(fields[STAT_FLAGS_FIELD - 1], NULL, 10) & PF_KTHREAD;
}

static void look_at_context(struct recognised *r, const char *proc_dir)
{
	g_autoptr(process_context) c = NULL;
	struct offcpu_context_place unused;

	r->context = thread_context_find(proc_dir, r->pid, &unused, &c);
	if (c && c->keys->len) {
		g_ptr_array_add(c->keys, NULL);
		r->context_keys = g_strjoinv(", ", (char **)c->keys->pdata);
	}
}

static bool has_own_root(const char *proc_dir, uint32_t pid)
{
	g_autofree char *root = g_strdup_printf("%s/%" PRIu32 "/root/.", proc_dir, pid);
	struct stat theirs, ours;

	return opener_stat(root, &theirs) && !stat("/", &ours) &&
	       (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino);
}

static char *name_of(const char *proc_dir, uint32_t pid)
{
	gsize len;
	char *name = read_proc(proc_dir, pid, "comm", 64, &len);

	for (char *c = name; c && *c; c++)
		if (!g_ascii_isprint(*c))
			*c = c[1] ? '?' : '\0';	/* the newline at the end */
	return name ? name : g_strdup("?");
}

static GArray *read_maps(const char *proc_dir, uint32_t pid, char **ret_text, GError **error)
{
	errno = 0;
	*ret_text = living_maps(proc_dir, pid, MAPS_TEXT_MAX);
	if (*ret_text && **ret_text)
		return maps_parse(*ret_text);
	if (errno == EACCES || errno == EPERM)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_ACCES,
			    "the mappings of process %" PRIu32 " may not be read: run as root, or with CAP_SYS_PTRACE",
			    pid);
	else
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "process %" PRIu32 " has ended", pid);
	return NULL;
}

static bool look_at_process(struct recognised *r, const char *proc_dir, const char *debug_dir, GError **error)
{
	gsize len;
	g_autofree char *stat = read_proc(proc_dir, r->pid, "stat", 4096, &len), *text = NULL;
	g_autofree char *status = read_proc(proc_dir, r->pid, "status", STATUS_MAX_BYTES, &len);
	g_autoptr(GArray) lines = NULL;

	if (!stat || !status)
		return refuse(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "there is no process %" PRIu32, r->pid);
	r->name = name_of(proc_dir, r->pid);
	r->is_kernel_thread = is_kernel_thread(stat);
	if (r->is_kernel_thread)
		return true;
	lines = read_maps(proc_dir, r->pid, &text, error);
	if (!lines)
		return false;
	r->arguments = read_proc(proc_dir, r->pid, "cmdline", ARGUMENTS_MAX_BYTES, &r->arguments_bytes);
	r->environment = read_proc(proc_dir, r->pid, "environ", ARGUMENTS_MAX_BYTES, &r->environment_bytes);
	r->has_own_root = has_own_root(proc_dir, r->pid);
	take_files(r, proc_dir, debug_dir, lines);
	look_at_python(r, proc_dir, lines);
	look_at_scripts(r, proc_dir, lines);
	look_at_jvm(r, proc_dir, lines);
	look_at_v8(r, proc_dir);
	look_at_tasks(r, proc_dir, lines);
	look_at_context(r, proc_dir);
	look_at_map(r, proc_dir, status);
	return true;
}

struct recognised *recognise(const char *proc_dir, uint32_t pid, const char *debug_dir, recognise_rules_fn has_rules,
			     GError **error)
{
	struct recognised *r = g_new0(struct recognised, 1);

	r->has_rules = has_rules;
	r->pid = r->inner_pid = pid;
	r->files = g_array_new(FALSE, TRUE, sizeof(struct recognised_file));
	g_array_set_clear_func(r->files, recognised_file_clear);
	if (look_at_process(r, proc_dir, debug_dir, error))
		return r;
	recognised_free(r);
	return NULL;
}

void recognised_free(struct recognised *r)
{
	if (!r)
		return;
	for (int i = 0; i < RUNTIME_CNT; i++)
		g_free(r->versions[i]);
	g_array_unref(r->files);
	g_free(r->name);
	g_free(r->map.path);
	g_free(r->context_keys);
	g_free(r->arguments);
	g_free(r->environment);
	g_free(r);
}
