/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/request_plan.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/request_abi.h"
#include "attach/error.h"
#include "attach/feature.h"
#include "attach/insn_x86.h"
#include "attach/kernel_btf.h"
#include "symbolize/elf/functions.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/runtime_files.h"

#define PROC "/proc"
#define MAPS_MAX_BYTES (64 << 20)
#define LISTED_MAX 10
#define CODE_BYTES 96

/* A file that a request's functions may be in. */
struct place {
	int fd;
	uint64_t dev, ino;
	char *path;
};

static void fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void fail(GError **error, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error_literal(error, ATTACH_ERROR, ATTACH_ERROR_FAILED, text);
}

static void place_clear(gpointer data)
{
	struct place *p = data;

	g_free(p->path);
}

static GArray *places_new(void)
{
	GArray *places = g_array_new(FALSE, FALSE, sizeof(struct place));

	g_array_set_clear_func(places, place_clear);
	return places;
}

/* Takes the descriptor over; one that is there is closed. */
static void add_place(struct request_plan *plan, GArray *places, int fd, const char *path)
{
	struct place p = { .fd = fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	for (guint i = 0; i < places->len; i++) {
		const struct place *q = &g_array_index(places, struct place, i);

		if (q->dev == p.dev && q->ino == p.ino) {
			close(fd);
			return;
		}
	}
	p.path = g_strdup(path);
	g_array_append_val(plan->fds, fd);
	g_array_append_val(places, p);
}

static GArray *mapped_files(uint32_t pid, char **ret_text)
{
	g_autofree char *path = g_strdup_printf(PROC "/%u/maps", pid);
	size_t len;

	*ret_text = file_read_text(path, MAPS_MAX_BYTES, &len);
	return *ret_text ? maps_parse(*ret_text) : NULL;
}

/* "libx", "libx.so" and "libx.so.6" are /usr/lib/libx.so.6.0.30. */
static bool is_called(const char *path, const char *name)
{
	g_autofree char *base = g_path_get_basename(path);
	const char *rest = base + strlen(name);

	if (!g_str_has_prefix(base, name))
		return false;
	return !*rest || g_str_has_prefix(rest, ".so") || (*rest == '.' && strstr(name, ".so"));
}

/* Files of this name that the process has mapped. */
static void add_mapped(struct request_plan *plan, GArray *places, uint32_t pid, const char *name)
{
	g_autofree char *text = NULL;
	g_autoptr(GArray) lines = mapped_files(pid, &text);

	for (guint i = 0; lines && i < lines->len; i++) {
		const struct maps_line *line = &g_array_index(lines, struct maps_line, i);
		struct stat st;

		if (line->is_exec && line->inode && is_called(line->path, name))
			add_place(plan, places, file_hold_line(PROC, pid, line, true, &st), line->path);
	}
}

static void add_executable(struct request_plan *plan, GArray *places, uint32_t pid)
{
	g_autofree char *link = g_strdup_printf(PROC "/%u/exe", pid), *path = g_file_read_link(link, NULL);

	add_place(plan, places, open(link, O_PATH | O_CLOEXEC), path ? path : link);
}

static void add_here(struct request_plan *plan, GArray *places, const char *path)
{
	struct stat st;

	add_place(plan, places, file_hold_here(path, &st), path);
}

/* Where `bin` is; NULL with a sentence when it is nowhere. */
static GArray *find_places(struct request_plan *plan, const char *bin, const GArray *pids, const char *program,
			   GError **error)
{
	GArray *places = places_new();

	for (guint i = 0; pids && i < pids->len; i++) {
		uint32_t pid = g_array_index(pids, uint32_t, i);
		struct stat st;

		if (!bin)
			add_executable(plan, places, pid);
		else if (bin[0] == '/')
			add_place(plan, places, file_hold_in_process(PROC, pid, bin, &st), bin);
		else
			add_mapped(plan, places, pid, bin);
	}
	if (!places->len && bin && strchr(bin, '/'))
		add_here(plan, places, bin);
	if (!places->len && (bin ? !pids : program != NULL)) {
		g_autofree char *found = g_find_program_in_path(bin ? bin : program);

		if (found)
			add_here(plan, places, found);
	}
	if (places->len)
		return places;
	g_array_unref(places);
	if (!bin)
		fail(error,
		     pids ? "the program of the process cannot be opened" : "which program? Say -p PID, or BIN:FUNC");
	else if (pids && bin[0] != '/')
		fail(error, "%s: no process of those given has a file of that name mapped", bin);
	else
		fail(error, "%s: there is no such file", bin);
	return NULL;
}

static const char *keep(struct request_plan *plan, char *text)
{
	g_ptr_array_add(plan->strings, text);
	return text;
}

/* The number of a new row; the last one but the most there may be is refused by the caller. */
static uint32_t add_name(struct request_plan *plan, const char *name, const char *path)
{
	g_ptr_array_add(plan->names, g_strdup(name));
	g_ptr_array_add(plan->files, g_path_get_basename(path));
	return plan->names->len - 1;
}

/* The first bytes of code at an offset of the file; how many. */
static size_t read_code(int held_fd, uint64_t off, uint8_t *code, size_t len)
{
	int fd = file_open_held(held_fd);
	ssize_t n = fd < 0 ? -1 : pread(fd, code, len, (off_t)off);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static void add_entry(struct request_plan *plan, const struct place *place, const struct elf_function *f, uint32_t func,
		      uint16_t machine)
{
	struct request_probe probe = { .fd = place->fd, .kind = REQUEST_ENTER, .func = func, .offset = f->off };
	uint8_t code[CODE_BYTES];
	size_t len = read_code(place->fd, f->off, code, f->size ? MIN(sizeof(code), f->size) : sizeof(code));

	if (machine == EM_X86_64)
		probe.offset += insn_entry_place(code, len);
	probe.what = keep(plan, g_strdup_printf("%s in %s", f->name, place->path));
	g_array_append_val(plan->probes, probe);
	plan->has_functions = true;
}

/* "f(int) (a.cc), ..." of those found, no more than ten. */
static char *list_of(const GArray *list, bool whole)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < list->len && i < LISTED_MAX; i++) {
		const struct elf_function *f = &g_array_index(list, struct elf_function, i);

		g_string_append_printf(text, "%s%s", i ? ", " : "", whole ? f->whole : f->name);
	}
	if (list->len > LISTED_MAX)
		g_string_append_printf(text, ", and %u more", list->len - LISTED_MAX);
	return g_string_free(text, FALSE);
}

/* Copies that a compiler made of one function are one. */
static bool are_one(const GArray *list)
{
	for (guint i = 1; i < list->len; i++)
		if (strcmp(g_array_index(list, struct elf_function, i).whole,
			   g_array_index(list, struct elf_function, 0).whole) != 0)
			return false;
	return true;
}

static void fail_inlined(GError **error, const struct elf_functions *f, const char *path, const char *pattern)
{
	GString *callers = g_string_new(NULL);

	for (guint i = 0; i < f->inlined->len; i++)
		g_string_append_printf(callers, "%s%s", i ? ", " : "", (const char *)f->inlined->pdata[i]);
	fail(error, "%s: %s has no code of its own: it is inlined in %s; take such a function", path, pattern,
	     callers->str);
	g_string_free(callers, TRUE);
}

/*
 * The name of what runs the process's own functions, none of which is in a file's symbols; NULL: they are machine
 * code.
 */
static const char *interpreter_of(const GArray *pids)
{
	g_autofree char *text = NULL;
	g_autoptr(GArray) lines = pids && pids->len ? mapped_files(g_array_index(pids, uint32_t, 0), &text) : NULL;

	for (guint i = 0; lines && i < lines->len; i++) {
		const struct maps_line *line = &g_array_index(lines, struct maps_line, i);
		enum runtime runtime = line->is_exec && line->inode ? runtime_of_file(line->path) : RUNTIME_CNT;

		if (runtime != RUNTIME_CNT && runtime != RUNTIME_GO)
			return runtime_name(runtime);
	}
	return NULL;
}

static void fail_unfound(GError **error, const struct elf_functions *f, const char *path, const char *pattern,
			 const char *interpreter)
{
	if (elf_function_is_glob(pattern))
		fail(error,
		     f->has_symbols ? "%s: no function matches '%s'" :
				      "%s: no function that it exports matches '%s', and it is stripped: install its debug symbols",
		     path, pattern);
	else if (f->is_ifunc)
		fail(error,
		     "%s: which code %s has is chosen as the program starts (IFUNC), and calls go there: name one of its variants, or a "
		     "function that calls it",
		     path, pattern);
	else if (f->inlined->len)
		fail_inlined(error, f, path, pattern);
	else if (f->is_named_elsewhere)
		fail(error,
		     "%s: %s has no code of its own: it is inlined wherever it is called, so take a function that calls it",
		     path, pattern);
	else if (interpreter)
		fail(error,
		     "%s: there is no function '%s': functions that %s runs have no place for a probe, so take socket:PORT, or a "
		     "function of a library that they call (libpq:PQexec)",
		     path, pattern, interpreter);
	else if (!f->has_symbols)
		fail(error,
		     "%s: no function '%s' among those that it exports, and it is stripped: install its debug symbols",
		     path, pattern);
	else
		fail(error, "%s: there is no function '%s'", path, pattern);
}

static bool add_functions(struct request_plan *plan, const struct place *place, const struct elf_functions *f,
			  const char *pattern, bool every, GError **error)
{
	GHashTable *numbers;

	if (!every && !are_one(f->list)) {
		g_autofree char *list = list_of(f->list, !elf_function_is_glob(pattern));

		fail(error, "%s: %u functions match '%s': %s. Name one, or take --every", place->path, f->list->len,
		     pattern, list);
		return false;
	}
	numbers = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < f->list->len; i++) {
		const struct elf_function *one = &g_array_index(f->list, struct elf_function, i);
		gpointer number;

		if (!g_hash_table_lookup_extended(numbers, one->whole, NULL, &number)) {
			number = GUINT_TO_POINTER(add_name(plan, one->name, place->path));
			g_hash_table_insert(numbers, one->whole, number);
		}
		add_entry(plan, place, one, GPOINTER_TO_UINT(number), f->machine);
	}
	g_hash_table_destroy(numbers);
	return true;
}

static bool plan_function(struct request_plan *plan, const char *bin, const char *pattern, const GArray *pids,
			  const char *program, bool every, GError **error)
{
	g_autoptr(GArray) places = find_places(plan, bin, pids, program, error);
	GError *unfound = NULL;
	bool ok = places != NULL, is_found = false;

	for (guint i = 0; ok && i < places->len; i++) {
		const struct place *place = &g_array_index(places, struct place, i);
		struct elf_functions f;
		int fd = file_open_held(place->fd);

		ok = elf_functions_find(&f, fd, place->path, pattern, error);
		if (ok && f.list->len && !(f.is_ifunc && !every)) {
			*(f.is_go ? &plan->has_go : &plan->has_others) = true;
			is_found = true;
			if (!f.has_symbols && elf_function_is_glob(pattern))
				plan->exports_only = keep(plan, g_strdup(place->path));
			ok = add_functions(plan, place, &f, pattern, every, error);
		} else if (ok && !unfound) {
			fail_unfound(&unfound, &f, place->path, pattern, bin ? NULL : interpreter_of(pids));
		}
		if (f.list)
			elf_functions_clear(&f);
		if (fd >= 0)
			close(fd);
	}
	if (ok && !is_found) {
		g_propagate_error(error, unfound);
		return false;
	}
	g_clear_error(&unfound);
	return ok;
}

/* "query-start" is how people write the name query__start. */
static char *probe_name(const char *typed)
{
	g_auto(GStrv) parts = g_strsplit(typed, "-", -1);

	return g_strjoinv("__", parts);
}

static void fail_no_probe(GError **error, const struct place *place, const char *provider, const char *name)
{
	int fd = file_open_held(place->fd);
	g_autoptr(GPtrArray) names = elf_probes_list(fd, provider), providers = elf_probes_list(fd, NULL);
	const GPtrArray *there = names->len ? names : providers;
	GString *list = g_string_new(NULL);

	for (guint i = 0; i < there->len && i < LISTED_MAX; i++)
		g_string_append_printf(list, "%s%s", i ? ", " : "", (const char *)there->pdata[i]);
	if (there->len > LISTED_MAX)
		g_string_append_printf(list, ", and %u more", there->len - LISTED_MAX);
	if (!there->len)
		fail(error, "%s: there is no probe %s:%s: the file has no probes (USDT) at all", place->path, provider,
		     name);
	else
		fail(error, "%s: there is no probe %s:%s; %s %s", place->path, provider, name,
		     names->len ? "that provider has" : "its providers are", list->str);
	g_string_free(list, TRUE);
	if (fd >= 0)
		close(fd);
}

static bool add_usdt(struct request_plan *plan, const struct place *place, const char *provider, const char *typed,
		     uint32_t func, enum request_probe_kind kind, GError **error)
{
	int fd = file_open_held(place->fd);
	g_autofree char *name = probe_name(typed);
	g_autoptr(GArray) found = elf_probes_find(fd, provider, name, error);

	if (fd >= 0)
		close(fd);
	if (!found)
		return false;
	if (!found->len) {
		fail_no_probe(error, place, provider, name);
		return false;
	}
	for (guint i = 0; i < found->len; i++) {
		const struct elf_probe *p = &g_array_index(found, struct elf_probe, i);
		struct request_probe probe = { .fd = place->fd,
					       .kind = kind,
					       .func = func,
					       .offset = p->off,
					       .semaphore = p->semaphore };

		probe.what = keep(plan, g_strdup_printf("%s:%s in %s", provider, name, place->path));
		g_array_append_val(plan->probes, probe);
	}
	return true;
}

/* "BIN:PROVIDER:START,DONE[,DONE]", or without BIN. */
static bool plan_usdt(struct request_plan *plan, const char *spec, const GArray *pids, const char *program,
		      GError **error)
{
	g_auto(GStrv) parts = g_strsplit(spec, ":", -1);
	guint cnt = g_strv_length(parts);
	const char *bin = cnt == 3 && *parts[0] ? parts[0] : NULL;
	g_auto(GStrv) probes = cnt >= 2 ? g_strsplit(parts[cnt - 1], ",", -1) : NULL;
	g_autoptr(GArray) places = NULL;

	if (cnt < 2 || cnt > 3 || g_strv_length(probes) < 2) {
		fail(error, "usdt:%s: usdt:BIN:PROVIDER:START,DONE is wanted", spec);
		return false;
	}
	places = find_places(plan, bin, pids, program, error);
	for (guint i = 0; places && i < places->len; i++) {
		const struct place *place = &g_array_index(places, struct place, i);
		g_autofree char *name = g_strdup_printf("%s:%s", parts[cnt - 2], probes[0]);
		uint32_t func = add_name(plan, name, place->path);

		plan->has_others = true;
		for (guint k = 0; probes[k]; k++)
			if (!add_usdt(plan, place, parts[cnt - 2], probes[k], func, k ? REQUEST_DONE : REQUEST_START,
				      error))
				return false;
	}
	return places != NULL;
}

/* The colon between BIN and FUNC: none of a "::". */
static const char *colon_of(const char *spec)
{
	for (const char *p = spec; *p; p++) {
		if (*p != ':')
			continue;
		if (p[1] != ':')
			return p;
		p++;
	}
	return NULL;
}

/* "socket:5432": requests by connection. */
static bool plan_socket(struct request_plan *plan, const char *spec, const GArray *pids, const char *program,
			GError **error)
{
	struct request_port port = { .func = plan->names->len };
	g_autofree char *path = NULL, *comm = NULL;
	guint64 number;

	if (!g_ascii_string_to_unsigned(spec + strlen("socket:"), 10, 1, UINT16_MAX, &number, NULL)) {
		fail(error, "%s: socket:PORT is wanted, a number from 1 to 65535", spec);
		return false;
	}
	if (kernel_btf_id(feature_kernel_btf(), "btf_trace_sock_recv_length", BTF_KIND_TYPEDEF) < 0) {
		fail(error, "%s: this kernel does not tell what sockets receive: Linux 6.3 or later is needed", spec);
		return false;
	}
	if (plan->ports->len >= OFFCPU_REQUEST_PORTS_MAX) {
		fail(error, "%s: there is room for %d ports", spec, OFFCPU_REQUEST_PORTS_MAX);
		return false;
	}
	for (guint i = 0; i < plan->ports->len; i++)
		if (g_array_index(plan->ports, struct request_port, i).port == number)
			return true;
	port.port = (uint16_t)number;
	if (pids && pids->len) {
		path = g_strdup_printf(PROC "/%u/comm", g_array_index(pids, uint32_t, 0));
		if (g_file_get_contents(path, &comm, NULL, NULL))
			g_strchomp(comm);
	}
	add_name(plan, spec, comm ? comm : program ? program : "any process");
	g_array_append_val(plan->ports, port);
	return true;
}

static bool plan_spec(struct request_plan *plan, const char *spec, const GArray *pids, const char *program, bool every,
		      GError **error)
{
	const char *colon = colon_of(spec);
	g_autofree char *bin = NULL;

	if (g_str_has_prefix(spec, "usdt:"))
		return plan_usdt(plan, spec + strlen("usdt:"), pids, program, error);
	if (g_str_has_prefix(spec, "socket:"))
		return plan_socket(plan, spec, pids, program, error);
	if (!*spec || (colon && !colon[1])) {
		fail(error, "'%s': the name of a function is wanted", spec);
		return false;
	}
	if (colon && colon > spec)
		bin = g_strndup(spec, (size_t)(colon - spec));
	return plan_function(plan, bin, colon ? colon + 1 : spec, pids, program, every, error);
}

/* Exceptions end requests: where the runtime of C++ catches one, or goes on to unwind. */
static void add_catches(struct request_plan *plan, const GArray *pids)
{
	static const struct { const char *library, *function;
	} catches[] = {
		{ "libstdc++", "__cxa_begin_catch" }, { "libc++abi", "__cxa_begin_catch" }, { "libgcc_s", "_Unwind_Resume" },
		{ NULL, "__cxa_begin_catch" }, /* a program that has it all in itself */
		{ NULL, "_Unwind_Resume" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(catches); i++) {
		g_autoptr(GArray) places = find_places(plan, catches[i].library, pids, NULL, NULL);

		for (guint k = 0; places && k < places->len; k++) {
			const struct place *place = &g_array_index(places, struct place, k);
			int fd = file_open_held(place->fd);
			struct elf_functions f;

			if (elf_functions_find(&f, fd, place->path, catches[i].function, NULL) && f.list->len == 1) {
				add_entry(plan, place, &g_array_index(f.list, struct elf_function, 0), 0, f.machine);
				g_array_index(plan->probes, struct request_probe, plan->probes->len - 1)
					.kind = REQUEST_CATCH;
			}
			elf_functions_clear(&f);
			if (fd >= 0)
				close(fd);
		}
	}
}

static bool goes_together(const struct request_plan *plan, GError **error)
{
	if (plan->ports->len && plan->probes->len)
		fail(error,
		     "socket:PORT does not go with functions or probes: a thread has one kind of requests at a time");
	else if (plan->has_go && plan->has_others)
		fail(error,
		     "functions of Go do not go with others: requests there are goroutines', and elsewhere threads'");
	else
		return true;
	return false;
}

struct request_plan *request_plan_new(char **specs, const GArray *pids, const char *program, bool every, GError **error)
{
	struct request_plan *plan = g_new0(struct request_plan, 1);

	plan->names = g_ptr_array_new_with_free_func(g_free);
	plan->files = g_ptr_array_new_with_free_func(g_free);
	plan->strings = g_ptr_array_new_with_free_func(g_free);
	plan->probes = g_array_new(FALSE, TRUE, sizeof(struct request_probe));
	plan->ports = g_array_new(FALSE, FALSE, sizeof(struct request_port));
	plan->fds = g_array_new(FALSE, FALSE, sizeof(int));
	for (char **spec = specs; *spec; spec++) {
		if (plan_spec(plan, *spec, pids, program, every, error) && plan->names->len <= OFFCPU_REQUEST_FUNCS_MAX)
			continue;
		if (error && !*error)
			fail(error, "%u functions match, and there is room for %d", plan->names->len,
			     OFFCPU_REQUEST_FUNCS_MAX);
		request_plan_free(plan);
		return NULL;
	}
	if (!goes_together(plan, error)) {
		request_plan_free(plan);
		return NULL;
	}
	if (plan->has_functions && !plan->has_go)
		add_catches(plan, pids);
	return plan;
}

void request_plan_free(struct request_plan *plan)
{
	if (!plan)
		return;
	for (guint i = 0; i < plan->fds->len; i++)
		close(g_array_index(plan->fds, int, i));
	g_array_unref(plan->fds);
	g_array_unref(plan->probes);
	g_array_unref(plan->ports);
	g_ptr_array_unref(plan->strings);
	g_ptr_array_unref(plan->files);
	g_ptr_array_unref(plan->names);
	g_free(plan);
}
