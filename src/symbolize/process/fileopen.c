/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/fileopen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/opener/opener.h"

static int held_if_regular(int fd, struct stat *ret_stat)
{
	int error;

	if (fd < 0)
		return -1;
	if (opener_stat_held(fd, ret_stat) && S_ISREG(ret_stat->st_mode))
		return fd;
	error = S_ISREG(ret_stat->st_mode) ? errno : EINVAL;
	close(fd);
	errno = error;
	return -1;
}

static int hold_any_below(const char *proc_dir, uint32_t pid, const char *path, uint64_t flags, uint64_t resolve)
{
	g_autofree char *root = g_strdup_printf("%s/%" PRIu32 "/root", proc_dir, pid), *of_thread = NULL;
	int fd;
	uint32_t tid;

	resolve |= RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	fd = opener_hold(root, path, flags, resolve);
	if (fd >= 0 || errno != ESRCH)
		return fd;
	tid = living_thread(proc_dir, pid);
	of_thread = g_strdup_printf("%s/%" PRIu32 "/task/%" PRIu32 "/root", proc_dir, pid, tid);
	fd = tid ? opener_hold(of_thread, path, flags, resolve) : -1;
	errno = !tid || (fd < 0 && errno == ESRCH) ? ENOENT : errno;
	return fd;
}

/* flags: O_NOFOLLOW, or 0. */
static int hold_below(const char *proc_dir, uint32_t pid, const char *path, uint64_t flags, uint64_t resolve,
		      struct stat *ret_stat)
{
	memset(ret_stat, 0, sizeof(*ret_stat));
	return held_if_regular(hold_any_below(proc_dir, pid, path, flags, resolve), ret_stat);
}

int folder_hold_in_process(const char *proc_dir, uint32_t pid, const char *path)
{
	return hold_any_below(proc_dir, pid, path, O_DIRECTORY, 0);
}

int file_hold_in_process(const char *proc_dir, uint32_t pid, const char *path, struct stat *ret_stat)
{
	return hold_below(proc_dir, pid, path, O_NOFOLLOW, 0, ret_stat);
}

int file_hold_in_process_nolinks(const char *proc_dir, uint32_t pid, const char *path, struct stat *ret_stat)
{
	return hold_below(proc_dir, pid, path, O_NOFOLLOW, RESOLVE_NO_SYMLINKS, ret_stat);
}

static int open_link(const char *proc_dir, uint32_t id, uint64_t start, uint64_t end)
{
	g_autofree char *link = g_strdup_printf("%s/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
						proc_dir, id, start, end);

	return opener_hold(NULL, link, 0, 0);
}

/* The file mapped at [start, end) of pid, even if deleted or renamed. */
static int file_hold_mapped(const char *proc_dir, uint32_t pid, uint64_t start, uint64_t end, struct stat *ret_stat)
{
	int fd = open_link(proc_dir, pid, start, end);
	uint32_t tid = fd < 0 && (errno == ENOENT || errno == ESRCH) ? living_thread(proc_dir, pid) : 0;

	memset(ret_stat, 0, sizeof(*ret_stat));
	if (tid)	/* only a process has these links, but every thread id has a process directory */
		fd = open_link(proc_dir, tid, start, end);
	return held_if_regular(fd, ret_stat);
}

int file_hold_here(const char *path, struct stat *ret_stat)
{
	memset(ret_stat, 0, sizeof(*ret_stat));
	return held_if_regular(opener_hold(NULL, path, 0, 0), ret_stat);
}

/*
 * btrfs and overlayfs report different devices in stat and in mappings. Then one of them is a device without hardware
 * (major 0).
 */
static bool device_may_differ(const struct stat *st, const struct maps_line *line)
{
	return major(st->st_dev) == 0 || line->dev_major == 0;
}

static bool is_mapped_file(const struct stat *st, const struct maps_line *line)
{
	return st->st_ino == line->inode &&
	       ((major(st->st_dev) == line->dev_major && minor(st->st_dev) == line->dev_minor) ||
		device_may_differ(st, line));
}

static int only_if_mapped(int fd, const struct stat *st, const struct maps_line *line)
{
	if (fd < 0 || is_mapped_file(st, line))
		return fd;
	close(fd);
	errno = ENOENT;
	return -1;
}

static int hold_checked(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *path,
			bool is_alive, struct stat *st)
{
	int fd = is_alive ? only_if_mapped(file_hold_in_process(proc_dir, pid, path, st), st, line) : -1;

	return fd >= 0 ? fd : only_if_mapped(file_hold_here(path, st), st, line);
}

bool file_is_at_path(const char *proc_dir, uint32_t pid, const struct maps_line *line, bool is_alive)
{
	struct stat st;
	int fd = hold_checked(proc_dir, pid, line, line->path, is_alive, &st);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool file_leads_to_line(const char *proc_dir, uint32_t pid, const char *path, const struct maps_line *line)
{
	struct stat st;
	int fd = only_if_mapped(hold_below(proc_dir, pid, path, 0, 0, &st), &st, line);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A file may really be named "x (deleted)", and a deleted file's name may be reused, so the inode decides. */
static int hold_path(const char *proc_dir, uint32_t pid, const struct maps_line *line, bool is_alive, struct stat *st)
{
	g_autofree char *plain = g_strdup(line->path);
	const char *paths[] = { line->path, NULL };
	int fd = -1;

	if (g_str_has_suffix(plain, MAPS_DELETED)) {
		plain[strlen(plain) - strlen(MAPS_DELETED)] = '\0';
		paths[1] = plain;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(paths) && paths[i] && fd < 0; i++)
		fd = hold_checked(proc_dir, pid, line, paths[i], is_alive, st);
	return fd;
}

int file_hold_line(const char *proc_dir, uint32_t pid, const struct maps_line *line, bool is_alive,
		   struct stat *ret_stat)
{
	int fd = is_alive ? file_hold_mapped(proc_dir, pid, line->start, line->end, ret_stat) : -1;

	/* overlayfs may even report two inodes; elsewhere another inode means that the mapping was replaced */
	if (fd >= 0 && !device_may_differ(ret_stat, line))
		fd = only_if_mapped(fd, ret_stat, line);
	if (fd < 0 && line->path[0] == '/' && !g_str_has_prefix(line->path, "/memfd:"))	/* no path leads to it */
		fd = hold_path(proc_dir, pid, line, is_alive, ret_stat);
	return fd;
}

int file_open_held(int held_fd)
{
	int fd = held_fd >= 0 ? opener_read_held(held_fd) : -1, error = errno;

	if (held_fd >= 0)
		close(held_fd);
	errno = error;
	return fd;
}

int file_open_here(const char *path)
{
	struct stat st;

	return file_open_held(file_hold_here(path, &st));
}

int file_open_line(const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct stat st;

	return file_open_held(file_hold_line(proc_dir, pid, line, true, &st));
}

