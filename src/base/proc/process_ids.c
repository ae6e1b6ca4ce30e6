/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/find.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"

static bool add_process(const struct opener_entry *e, void *data)
{
	uint64_t number;

	if (g_ascii_string_to_unsigned(e->name, 10, 1, UINT32_MAX, &number, NULL)) {
		uint32_t pid = (uint32_t)number;

		g_array_append_val((GArray *)data, pid);
	}
	return true;
}

GArray *process_ids(void)
{
	GArray *pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	opener_list("/proc", false, add_process, pids);
	return pids;
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

/* Compares the executable's name: it may be longer than a comm, and a program cannot change it. */
static bool has_executable(uint32_t pid, const char *name)
{
	static const char deleted[] = " (deleted)";
	g_autofree char *path = g_strdup_printf("/proc/%u/exe", pid);
	g_autofree char *target = opener_link(path);
	const char *last = target ? strrchr(target, '/') : NULL;
	size_t length = strlen(name);

	return last && strncmp(last + 1, name, length) == 0 &&
	       (!last[1 + length] || strcmp(last + 1 + length, deleted) == 0);
}

bool process_ids_named(const char *name, GArray *ids)
{
	g_autoptr(GArray) all = process_ids();
	guint before = ids->len;

	for (guint i = 0; i < all->len; i++) {
		uint32_t pid = g_array_index(all, uint32_t, i);

		if (pid != (uint32_t)getpid() && (has_comm(pid, name) || has_executable(pid, name)))
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
