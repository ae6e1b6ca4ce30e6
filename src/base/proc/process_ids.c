/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/find.h"
#include "base/module.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"

#define ARGUMENTS_MAX_BYTES 4096	/* before a script's name are few */

struct listing {
	GArray *ids;
	unsigned max_cnt;
};

static bool add_id(const struct opener_entry *e, void *data)
{
	const struct listing *l = data;
	uint64_t number;

	if (g_ascii_string_to_unsigned(e->name, 10, 1, UINT32_MAX, &number, NULL)) {
		uint32_t id = (uint32_t)number;

		g_array_append_val(l->ids, id);
	}
	return l->ids->len < l->max_cnt;
}

static GArray *ids_in(const char *folder, unsigned max_cnt)
{
	struct listing l = { g_array_new(FALSE, FALSE, sizeof(uint32_t)), max_cnt };

	opener_list(folder, false, add_id, &l);
	return l.ids;
}

GArray *process_ids(void)
{
	return ids_in("/proc", UINT_MAX);
}

GArray *process_threads(uint32_t pid, unsigned max_cnt)
{
	g_autofree char *folder = g_strdup_printf("/proc/%u/task", pid);

	return ids_in(folder, max_cnt);
}

bool process_has_ended(uint32_t pid)
{
	return pid && pid <= INT32_MAX && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Compares the thread group leader's name: 15 bytes at most, and a program may change it. */
static bool has_comm(uint32_t pid, const char *name)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/comm", pid), *comm = NULL;

	if (!g_file_get_contents(path, &comm, NULL, NULL))
		return false;
	comm[strcspn(comm, "\n")] = 0;
	return strcmp(comm, name) == 0;
}

/* The file name of what it runs, without a word on that having been deleted; NULL: not known. */
static char *executable_of(uint32_t pid)
{
	static const char deleted[] = " (deleted)";
	g_autofree char *path = g_strdup_printf("/proc/%u/exe", pid);
	g_autofree char *target = opener_link(path);

	if (!target)
		return NULL;
	if (g_str_has_suffix(target, deleted))
		target[strlen(target) - strlen(deleted)] = 0;
	return g_path_get_basename(target);
}

/* A title in place of the arguments, which has the name as a word: "gunicorn: master [shop]". */
static bool has_in_title(const char *title, const char *name)
{
	g_auto(GStrv) words = strchr(title, ' ') ? g_strsplit_set(title, " :[](),@", -1) : NULL;

	return words && g_strv_contains((const char *const *)words, name);
}

char process_state(const char *proc_dir, uint32_t pid)
{
	g_autofree char *stat = opener_process_text(proc_dir, pid, "stat");
	const char *end = stat ? strrchr(stat, ')') : NULL;	/* a name may have any bytes */

	return end && end[1] == ' ' ? end[2] : 0;
}

static bool is_interpreter(const char *executable)
{
	static const char *const interpreters[] = { "python*", "pypy*", "perl*", "ruby*", "node*", "php*", "bash",
						    "dash",    "sh",	"ksh*",	 "zsh*",  "lua*",  "deno", "bun" };

	return ANY(x, interpreters, g_pattern_match_simple(*x, executable));
}

/* Its arguments, each followed by a zero byte. NULL: unreadable. */
static char *arguments_of(uint32_t pid, gsize *ret_bytes)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/cmdline", pid);

	return opener_text(path, ARGUMENTS_MAX_BYTES, ret_bytes);
}

/* The first argument that is no option: "/usr/bin/celery" of "python3 -u /usr/bin/celery worker". NULL: none. */
static const char *script_in(const char *arguments, gsize bytes)
{
	gsize at = 0;

	do
		at += at < bytes ? strlen(arguments + at) + 1 : 0;
	while (at < bytes && arguments[at] == '-');
	return at < bytes ? arguments + at : NULL;
}

char *process_script_name(uint32_t pid)
{
	g_autofree char *executable = executable_of(pid), *arguments = NULL;
	gsize bytes = 0;

	if (!executable || !is_interpreter(executable) || !(arguments = arguments_of(pid, &bytes)))
		return NULL;
	const char *script = script_in(arguments, bytes);
	/* its text is an argument, as of -c */
	const bool is_text = script && strpbrk(script, "\n ;");

	return script && *script && !is_text ? g_strdup(module_base_name(script)) : NULL;
}

char *process_called(const char *proc_dir, uint32_t pid)
{
	char *script = process_script_name(pid), *comm = script ? NULL : opener_process_text(proc_dir, pid, "comm");

	return script ? script : comm ? g_strchomp(comm) : NULL;
}

/*
 * Its interpreter runs a script of that name. Such a process is called as the interpreter, or as the first 15 bytes of
 * the script's name, or as it calls itself (setproctitle).
 */
static bool runs_script(uint32_t pid, const char *executable, const char *name)
{
	g_autofree char *arguments = NULL;
	gsize bytes = 0;

	if (!is_interpreter(executable) || !(arguments = arguments_of(pid, &bytes)))
		return false;
	const char *script = script_in(arguments, bytes);

	return has_in_title(arguments, name) || (script && strcmp(module_base_name(script), name) == 0);
}

bool process_ids_named(const char *name, GArray *ids)
{
	g_autoptr(GArray) all = process_ids();
	guint before = ids->len;

	for (guint i = 0; i < all->len; i++) {
		uint32_t pid = g_array_index(all, uint32_t, i);
		/* it may be longer than a comm, and a program cannot change it */
		g_autofree char *executable = executable_of(pid);

		if (pid != (uint32_t)getpid() &&
		    (has_comm(pid, name) ||
		     (executable && (strcmp(executable, name) == 0 || runs_script(pid, executable, name)))))
			g_array_append_val(ids, pid);
	}
	return ids->len > before;
}

bool process_ids_contain(const GArray *ids, uint32_t id)
{
	return ANY_ROW(const uint32_t, x, ids, *x == id);
}

void process_ids_add_descendants(GArray *ids)
{
	g_autoptr(GArray) all = process_ids(), parents = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	bool is_more = true;

	for (guint i = 0; i < all->len; i++) {
		g_autofree char *path = g_strdup_printf("/proc/%u/status", g_array_index(all, uint32_t, i)),
				*status = NULL;
		uint32_t parent = g_file_get_contents(path, &status, NULL, NULL)
					  ? (uint32_t)proc_status_number(status, "PPid")
					  : 0;

		g_array_append_val(parents, parent);
	}
	while (is_more) {
		is_more = false;
		for (guint i = 0; i < all->len; i++) {
			uint32_t pid = g_array_index(all, uint32_t, i);

			if (pid == (uint32_t)getpid() || process_ids_contain(ids, pid) ||
			    !process_ids_contain(ids, g_array_index(parents, uint32_t, i)))
				continue;
			g_array_append_val(ids, pid);
			is_more = true;
		}
	}
}
