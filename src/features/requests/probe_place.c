/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "features/requests/probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/error.h"
#include "attach/probe.h"
#include "base/opener/opener.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"

#define PROC "/proc"
#define MAPS_MAX_BYTES (64 << 20)
#define CODE_BYTES 96

void request_fail(GError **error, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error_literal(error, ATTACH_ERROR, ATTACH_ERROR_FAILED, text);
}

CLEARS(place_clear, struct request_place, p, g_free(p->path); g_free(p->name))

static GArray *places_new(void)
{
	GArray *places = g_array_new(FALSE, FALSE, sizeof(struct request_place));

	g_array_set_clear_func(places, place_clear);
	return places;
}

/* Does the file system answer? The kernel reads the file when probes are placed, and would hang forever. */
static bool answers(int held_fd)
{
	int fd = opener_read_held(held_fd);
	bool is_late = fd < 0 && errno == ETIMEDOUT;

	if (fd >= 0)
		close(fd);
	return !is_late;
}

/* Takes ownership of the descriptor, which is closed if the place exists already. */
static void add_place_as(struct request_plan *plan, GArray *places, int fd, const char *path, const char *name)
{
	struct request_place p = { .fd = fd };
	struct stat st;

	if (fd < 0 || !opener_stat_held(fd, &st) || !answers(fd)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	EACH_ROW(i, const struct request_place, q, places) {
		if (q->dev == p.dev && q->ino == p.ino) {
			close(fd);
			return;
		}
	}
	p.path = g_strdup(path);
	p.name = name ? g_strdup(name) : g_path_get_basename(path);
	g_array_append_val(plan->fds, fd);
	g_array_append_val(places, p);
}

static void add_place(struct request_plan *plan, GArray *places, int fd, const char *path)
{
	add_place_as(plan, places, fd, path, NULL);
}

GArray *request_mapped_files(uint32_t pid, char **ret_text)
{
	g_autofree char *path = g_strdup_printf(PROC "/%u/maps", pid);
	size_t len;

	*ret_text = opener_text(path, MAPS_MAX_BYTES, &len);
	return *ret_text ? maps_parse(*ret_text) : NULL;
}

/* "libx", "libx.so" and "libx.so.6" match /usr/lib/libx.so.6.0.30. */
static bool is_called(const char *path, const char *name)
{
	g_autofree char *base = g_path_get_basename(path);
	const char *rest = base + strlen(name);

	if (!g_str_has_prefix(base, name))
		return false;
	return !*rest || g_str_has_prefix(rest, ".so") || (*rest == '.' && strstr(name, ".so"));
}

/* Adds files of this name that the process has mapped. */
static void add_mapped(struct request_plan *plan, GArray *places, uint32_t pid, const char *name)
{
	g_autofree char *text = NULL;
	g_autoptr(GArray) lines = request_mapped_files(pid, &text);

	EACH_ROW_OF(i, const struct maps_line, line, lines) {
		struct stat st;

		if (line->is_exec && line->inode && is_called(line->path, name))
			add_place(plan, places, file_hold_line(PROC, pid, line, true, &st), line->path);
	}
}

/* Debian's redis-server is a link to redis-check-rdb: use the process's name if it is a link to the same file. */
static char *name_of_executable(uint32_t pid, const char *path, int fd)
{
	g_autofree char *comm_path = g_strdup_printf(PROC "/%u/comm", pid), *comm = NULL, *root = NULL, *in_root = NULL;
	g_autofree char *folder = g_path_get_dirname(path);
	struct stat own, st;

	if (!g_file_get_contents(comm_path, &comm, NULL, NULL) || !*g_strchomp(comm) || strchr(comm, '/'))
		return NULL;
	root = g_strdup_printf(PROC "/%u/root", pid);
	in_root = g_strdup_printf("%s/%s", folder, comm);
	int held = opener_hold(root, in_root, 0, RESOLVE_IN_ROOT);
	bool is_there = opener_stat_held(fd, &own) && held >= 0 && opener_stat_held(held, &st);

	if (held >= 0)
		close(held);
	if (!is_there || st.st_dev != own.st_dev || st.st_ino != own.st_ino)
		return NULL;
	return g_steal_pointer(&comm);
}

static void add_executable(struct request_plan *plan, GArray *places, uint32_t pid)
{
	g_autofree char *link = g_strdup_printf(PROC "/%u/exe", pid), *path = opener_link(link);
	int fd = opener_hold(NULL, link, 0, 0);
	g_autofree char *name = path && fd >= 0 ? name_of_executable(pid, path, fd) : NULL;

	add_place_as(plan, places, fd, path ? path : link, name);
}

static void fail_executable(GError **error, uint32_t pid)
{
	g_autofree char *link = g_strdup_printf(PROC "/%u/exe", pid);
	int fd = opener_hold(NULL, link, 0, 0), err = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	if (err == EACCES || err == EPERM)
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_PERMISSION,
			    "the program of process %u may not be read: %s (run as root, or with CAP_SYS_PTRACE; "
			    "`offcpu doctor` tells more)",
			    pid, g_strerror(err));
	else
		request_fail(error, "the program of process %u cannot be opened%s%s", pid, err ? ": " : "",
			     err ? g_strerror(err) : "");
}

static void add_here(struct request_plan *plan, GArray *places, const char *path)
{
	struct stat st;

	add_place(plan, places, file_hold_here(path, &st), path);
}

GArray *request_places_find(struct request_plan *plan, const char *bin, const GArray *pids, const char *program,
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
	if (!bin && pids)
		fail_executable(error, g_array_index(pids, uint32_t, 0));
	else if (!bin)
		request_fail(error, "which program? Say -p PID, or BIN:FUNC");
	else if (pids && bin[0] != '/')
		request_fail(error, "%s: no process of those given has a file of that name mapped", bin);
	else
		request_fail(error, "%s: there is no such file", bin);
	return NULL;
}

const char *request_plan_keep(struct request_plan *plan, char *text)
{
	g_ptr_array_add(plan->strings, text);
	return text;
}

size_t request_read_code(int held_fd, uint64_t off, uint8_t *code, size_t len)
{
	int fd = opener_read_held(held_fd);
	ssize_t n = fd < 0 ? -1 : pread(fd, code, len, (off_t)off);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

void request_add_entry(struct request_plan *plan, const struct request_place *place, const struct elf_function *f,
		       const struct request_probe *like, uint16_t machine)
{
	struct request_probe probe = { .fd = place->fd, .kind = like->kind, .func = like->func, .offset = f->off };
	uint8_t code[CODE_BYTES];
	size_t len = request_read_code(place->fd, f->off, code, f->size ? MIN(sizeof(code), f->size) : sizeof(code));

	if (machine == EM_X86_64)
		probe.offset += insn_entry_place(code, len);
	probe.what = request_plan_keep(plan, g_strdup_printf("%s in %s", f->name, place->path));
	g_array_append_val(plan->probes, probe);
}
