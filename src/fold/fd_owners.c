/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/fd_owners.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

struct owner {
	uint64_t ino;
	uint32_t pid;
	uint32_t access;	/* enum fd_access */
};

struct fd_owners {
	char *proc_dir;
	GArray *owners;		/* struct owner, by inode, pid */
	int64_t next_read_us;
};

struct fd_owners *fd_owners_new(const char *proc_dir)
{
	struct fd_owners *o = g_new0(struct fd_owners, 1);

	o->proc_dir = g_strdup(proc_dir);
	o->owners = g_array_new(FALSE, FALSE, sizeof(struct owner));
	return o;
}

void fd_owners_free(struct fd_owners *o)
{
	if (!o)
		return;
	g_array_unref(o->owners);
	g_free(o->proc_dir);
	g_free(o);
}

/* "socket:[123]", "pipe:[123]".  Nothing is opened or asked of a file system: that may hang. */
static bool parse_link(const char *text, uint64_t *ret_ino)
{
	const char *number = g_str_has_prefix(text, "socket:[") ? text + 8
			     : g_str_has_prefix(text, "pipe:[") ? text + 6
								: NULL;

	return number && (*ret_ino = g_ascii_strtoull(number, NULL, 10)) != 0;
}

/* The link's own permissions say how the file is open. */
static unsigned access_of(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return (st.st_mode & S_IRUSR ? FD_READS : 0U) | (st.st_mode & S_IWUSR ? FD_WRITES : 0U);
}

static void read_process(struct fd_owners *o, uint32_t pid, int64_t until_us)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fd", o->proc_dir, pid);
	DIR *dir = opendir(path);
	const struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir)) && o->owners->len < FD_OWNERS_MAX && g_get_monotonic_time() < until_us) {
		char text[64];
		ssize_t len = readlinkat(dirfd(dir), e->d_name, text, sizeof(text) - 1);
		struct owner one = { .pid = pid };

		if (len <= 0)
			continue;
		text[len] = 0;
		if (!parse_link(text, &one.ino))
			continue;
		one.access = text[0] == 's' ? FD_READS | FD_WRITES : access_of(dirfd(dir), e->d_name);
		g_array_append_val(o->owners, one);
	}
	closedir(dir);
}

static int compare(gconstpointer va, gconstpointer vb)
{
	const struct owner *a = va, *b = vb;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

bool fd_owners_read(struct fd_owners *o, bool now)
{
	int64_t begun_us = g_get_monotonic_time();
	const struct dirent *e;
	DIR *proc;

	if (!now && begun_us < o->next_read_us)
		return false;
	proc = opendir(o->proc_dir);
	if (!proc)
		return false;
	g_array_set_size(o->owners, 0);
	while ((e = readdir(proc))) {
		uint64_t pid = g_ascii_isdigit(e->d_name[0]) ? g_ascii_strtoull(e->d_name, NULL, 10) : 0;

		if (pid && pid <= G_MAXINT32)
			read_process(o, (uint32_t)pid, begun_us + FD_OWNERS_READ_MAX_US);
	}
	closedir(proc);
	g_array_sort(o->owners, compare);
	int64_t ended_us = g_get_monotonic_time();
	o->next_read_us = ended_us + (ended_us - begun_us) * FD_OWNERS_PAUSE;
	return true;
}

/* The first of that inode, or where it would be. */
static guint first_of(const struct fd_owners *o, uint64_t ino)
{
	guint from = 0, to = o->owners->len;

	while (from < to) {
		guint middle = from + (to - from) / 2;

		if (g_array_index(o->owners, struct owner, middle).ino < ino)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t fd_owners_find(const struct fd_owners *o, uint64_t ino, unsigned access, uint32_t waiter, unsigned *ret_others)
{
	uint32_t found = 0, last = 0;
	bool has_waiter = false;
	unsigned cnt = 0;

	for (guint i = first_of(o, ino); i < o->owners->len; i++) {
		const struct owner *one = &g_array_index(o->owners, struct owner, i);

		if (one->ino != ino)
			break;
		if (!(one->access & access) || one->pid == last)
			continue;
		last = one->pid;
		has_waiter |= one->pid == waiter;
		cnt++;
		if (!found)
			found = one->pid;
	}
	*ret_others = cnt && !has_waiter ? cnt - 1 : 0;
	return has_waiter ? waiter : found;
}

char *fd_owners_name(const struct fd_owners *o, uint32_t pid)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/comm", o->proc_dir, pid);
	char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return NULL;
	g_strchomp(text);
	return text;
}
