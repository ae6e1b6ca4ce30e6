/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/targets/part.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/opener/opener.h"

#define LINK_MAX_BYTES 4096
#define WATCHED_MAX 1024	/* limit of descriptors of an epoll set */
#define MAP_LINES_MAX 70000	/* by default a process has at most 65,530 mappings */

static char *read_link(const char *proc_dir, uint32_t pid, int fd)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fd/%d", proc_dir, pid, fd);

	return opener_link(path);
}

static char *read_info(const char *proc_dir, uint32_t pid, int fd)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fdinfo/%d", proc_dir, pid, fd);
	size_t len;

	return opener_text(path, FD_INFO_MAX, &len);
}

/* The number after "name:" at the begin of a line. */
static bool fdinfo_number(const char *info, const char *name, uint64_t *ret)
{
	size_t len = strlen(name);

	for (const char *at = info; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, len) == 0 && at[len] == ':') {
			*ret = g_ascii_strtoull(at + len + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

char *fd_link_text(const char *proc_dir, uint32_t pid, int fd, uint64_t ino)
{
	g_autofree char *text = read_link(proc_dir, pid, fd);
	g_autofree char *info = text ? read_info(proc_dir, pid, fd) : NULL;
	uint64_t now = 0;

	/* fdinfo has the inode since Linux 5.14 */
	if (!info || (fdinfo_number(info, "ino", &now) && now != ino))
		return NULL;
	return g_steal_pointer(&text);
}

static const char *watched_kind(const char *text)
{
	static const char *const kinds[][2] = {
		{ "socket:", "socket" },
		{ "pipe:", "pipe" },
		{ "anon_inode:[eventfd]", "eventfd" },
		{ "anon_inode:[timerfd]", "timerfd" },
		{ "anon_inode:[signalfd]", "signalfd" },
		{ "anon_inode:[eventpoll]", "epoll" },
		{ "anon_inode:inotify", "inotify" },
		{ "anon_inode:[pidfd]", "pidfd" },
	};

	return FIRST(x, kinds, text && g_str_has_prefix(text, (*x)[0]), (*x)[1],
		     text && text[0] == '/' ? "file" : "other");
}

static void append_cnt(GString *s, const char *kind, unsigned cnt)
{
	if (cnt)
		g_string_append_printf(s, "%s%u %s%s", s->len ? ", " : "", cnt, kind,
				       cnt > 1 && strcmp(kind, "other") != 0 ? "s" : "");
}

/* What an epoll set watches, by kind. Its lines begin with "tfd: NUMBER". */
static char *watched(const char *proc_dir, uint32_t pid, const char *info)
{
	static const char *const kinds[] = {
		"socket", "pipe", "eventfd", "timerfd", "signalfd", "epoll", "inotify", "pidfd", "file", "other",
	};
	unsigned cnt[G_N_ELEMENTS(kinds)] = { 0 }, all = 0;
	GString *s = g_string_new(NULL);

	for (const char *at = strstr(info, "tfd:"); at && all < WATCHED_MAX; at = strstr(at + 4, "\ntfd:"), all++) {
		at += *at == '\n';
		int fd = (int)g_ascii_strtoll(at + 4, NULL, 10);
		g_autofree char *text = read_link(proc_dir, pid, fd);
		const char *kind = watched_kind(text);

		for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
			cnt[i] += strcmp(kind, kinds[i]) == 0;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		append_cnt(s, kinds[i], cnt[i]);
	if (!all)
		g_string_append(s, "nothing");
	else if (all == WATCHED_MAX || strlen(info) == FD_INFO_MAX)
		g_string_append(s, " or more");
	return g_string_free(s, FALSE);
}

/* "it_interval: (seconds, nanoseconds)" */
static char *interval(const char *info)
{
	const char *at = strstr(info, "it_interval: (");
	uint64_t sec = 0, nsec = 0;

	if (!at || sscanf(at, "it_interval: (%" SCNu64 ", %" SCNu64 ")", &sec, &nsec) != 2)
		return NULL;
	if (!sec && !nsec)
		return g_strdup("once");
	return g_strdup_printf("every %g ms", (double)sec * 1e3 + (double)nsec / 1e6);
}

char *fd_link_detail(const char *proc_dir, uint32_t pid, int fd, const char *text)
{
	g_autofree char *info = NULL;

	if (!g_str_has_prefix(text, "anon_inode:[eventpoll]") && !g_str_has_prefix(text, "anon_inode:[timerfd]"))
		return NULL;
	info = read_info(proc_dir, pid, fd);
	if (!info)
		return NULL;
	return strstr(text, "eventpoll") ? watched(proc_dir, pid, info) : interval(info);
}

/* "55d0-55d4 r--p 00000000 08:01 123   /usr/bin/x" */
static char *mapping_path(const char *line, uint64_t addr, uint64_t want)
{
	uint64_t from = 0, to = 0, ino = 0;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %*x:%*x %" SCNu64 " %n", &from, &to, &ino, &path) < 3)
		return NULL;
	if (addr < from || addr >= to || (want && ino != want) || !line[path] || line[path] == '\n')
		return NULL;
	return g_strchomp(g_strdup(line + path));
}

char *fd_link_mapping(const char *proc_dir, uint32_t pid, uint64_t addr, uint64_t ino)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/maps", proc_dir, pid);
	FILE *from = opener_file(path);
	char line[LINK_MAX_BYTES + 128];
	char *found = NULL;

	if (!from)
		return NULL;
	for (unsigned i = 0; i < MAP_LINES_MAX && !found && fgets(line, sizeof(line), from); i++)
		found = mapping_path(line, addr, ino);
	fclose(from);
	return found;
}

#define FILES_MAX 256	/* descriptors of a process, for one inode */

struct file_search {
	const char *proc_dir;
	uint32_t pid;
	uint64_t ino;
	unsigned left;
	char *found;
};

static bool take_inode(const struct opener_entry *e, void *data)
{
	struct file_search *s = data;
	const int fd = e->link && *e->link == '/' ? (int)g_ascii_strtoull(e->name, NULL, 10) : -1;
	g_autofree char *info = fd >= 0 ? read_info(s->proc_dir, s->pid, fd) : NULL;
	uint64_t ino;

	if (info && fdinfo_number(info, "ino", &ino) && ino == s->ino)
		s->found = g_strdup(e->link);
	return !s->found && --s->left;
}

char *fd_link_of_inode(const char *proc_dir, uint32_t pid, uint64_t ino)
{
	g_autofree char *fds = g_strdup_printf("%s/%" PRIu32 "/fd", proc_dir, pid);
	struct file_search s = { proc_dir, pid, ino, FILES_MAX, NULL };

	opener_list(fds, true, take_inode, &s);
	return s.found;
}
