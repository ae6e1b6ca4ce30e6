/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Part of an opener: other processes' memory. A page that is in memory is read at once. Another one lies in a file,
 * perhaps in a file system that a user serves: then it is not read, so that the opener does not hang. If the process
 * maps such a file in between, that costs an opener and no more.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opener/wire.h"

#define PAGE_BYTES 4096
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define HELD_NS UINT64_C(1000000000)
#define PAGES_AT_ONCE 64

/* What an absent page is. */
enum absent { ABSENT_UNMAPPED, ABSENT_ZERO, ABSENT_LOCAL, ABSENT_STRANGE };

/*
 * The process that was read last. mem refers to the program at the time of opening, and is empty once that has ended.
 * So it is reopened then, and after a while.
 */
static struct {
	uint32_t pid;
	int mem, pages;
	uint64_t until_ns;
} last = { .mem = -1, .pages = -1 };

static int open_of(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

void opener_forget_memory(void)
{
	if (last.mem >= 0)
		close(last.mem);
	if (last.pages >= 0)
		close(last.pages);
	last.mem = last.pages = -1;
}

static bool open_memory(uint32_t pid, bool anew)
{
	if (!anew && last.pid == pid && last.mem >= 0 && clock_ns(CLOCK_MONOTONIC) < last.until_ns)
		return true;
	opener_forget_memory();
	last.pid = pid;
	last.mem = open_of(pid, "mem");
	last.pages = last.mem >= 0 ? open_of(pid, "pagemap") : -1;	/* a kernel may lack it */
	last.until_ns = clock_ns(CLOCK_MONOTONIC) + HELD_NS;
	return last.mem >= 0;
}

/* ---- absent pages */

/* Passes lines of a file of the process to take() until one is accepted; false: none was. */
static bool search_lines(uint32_t pid, const char *name, bool (*take)(char *line, void *data), void *data)
{
	int fd = open_of(pid, name);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *line = NULL;
	size_t room = 0;
	bool is_found = false;

	while (file && !is_found && getline(&line, &room, file) > 0)
		is_found = take(line, data);
	free(line);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return is_found;
}

enum mounted { MOUNTED_NOT, MOUNTED_OVERLAY, MOUNTED_STRANGE, MOUNTED_LOCAL };

struct device {
	unsigned major, minor;
	enum mounted mounted;
};

static enum mounted mounted_as(const char *type)
{
	static const char *const strange[] = { "fuse", "nfs", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "orangefs", "coda" };

	for (size_t i = 0; i < G_N_ELEMENTS(strange); i++)
		if (strncmp(type, strange[i], strlen(strange[i])) == 0)
			return MOUNTED_STRANGE;
	return strncmp(type, "overlay ", strlen("overlay ")) == 0 ? MOUNTED_OVERLAY : MOUNTED_LOCAL;
}

/* "36 35 0:45 / /mnt rw,nosuid shared:1 - fuse.sshfs host: rw" */
static bool take_mount(char *line, void *data)
{
	struct device *d = data;
	unsigned major, minor;
	const char *type = strstr(line, " - ");

	if (sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2 || major != d->major || minor != d->minor || !type)
		return false;
	d->mounted = mounted_as(type + 3);
	return true;
}

static enum mounted mounted_by(uint32_t pid, unsigned major, unsigned minor)
{
	struct device d = { .major = major, .minor = minor };

	search_lines(pid, "mountinfo", take_mount, &d);
	return d.mounted;
}

/* The kernel's own mount, which is in no list. */
static bool is_shared_memory(unsigned major, unsigned minor)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);
	struct stat st = { 0 };
	bool is_it = fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == makedev(major, minor);

	if (fd >= 0)
		close(fd);
	return is_it;
}

/*
 * In namespaces of their own users can mount an overlay over FUSE, and have a mount that no list shows any more. A
 * device counts as local only if the first process or we see it, too.
 */
static bool is_strange_device(uint32_t pid, unsigned major, unsigned minor)
{
	const uint32_t trusted[] = { 1, (uint32_t)getpid() };
	enum mounted mounted = mounted_by(pid, major, minor);
	bool is_unsure = mounted == MOUNTED_NOT || mounted == MOUNTED_OVERLAY;

	for (size_t i = 0; i < G_N_ELEMENTS(trusted) && is_unsure; i++) {
		mounted = mounted_by(trusted[i], major, minor);
		is_unsure = mounted == MOUNTED_NOT;
	}
	return mounted == MOUNTED_STRANGE || (is_unsure && !major && !is_shared_memory(major, minor));
}

struct place {
	uint64_t addr;
	uint32_t pid;
	enum absent absent;
};

static bool take_mapping(char *line, void *data)
{
	struct place *p = data;
	uint64_t start, end, inode;
	unsigned major, minor;
	char rights[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n", &start, &end, rights, &major, &minor,
		   &inode, &at) < 6 || p->addr < start || p->addr >= end)
		return false;
	if (rights[0] != 'r')
		p->absent = ABSENT_UNMAPPED;
	else if (inode || major || minor)
		p->absent = is_strange_device(p->pid, major, minor) ? ABSENT_STRANGE : ABSENT_LOCAL;
	else
		p->absent = strncmp(line + at, "[v", 2) == 0 ? ABSENT_LOCAL : ABSENT_ZERO;	/* vdso, vvar */
	return true;
}

static enum absent absent_at(uint32_t pid, uint64_t addr)
{
	struct place p = { .addr = addr, .pid = pid };

	search_lines(pid, "maps", take_mapping, &p);
	return p.absent;
}

bool opener_maps_local(int fd)
{
	void *at = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	bool is_local = at != MAP_FAILED && absent_at((uint32_t)getpid(), (uint64_t)(uintptr_t)at) == ABSENT_LOCAL;

	if (at != MAP_FAILED)
		munmap(at, PAGE_BYTES);
	return is_local;
}

/* ret: for each page, whether it is in memory (or in swap). False: the kernel does not tell. */
static bool are_present(uint64_t first, size_t cnt, bool ret[PAGES_AT_ONCE])
{
	uint64_t entries[PAGES_AT_ONCE];
	ssize_t bytes = (ssize_t)(cnt * sizeof(entries[0]));

	if (last.pages < 0 || pread(last.pages, entries, (size_t)bytes, (off_t)(first * sizeof(entries[0]))) != bytes)
		return false;
	for (size_t i = 0; i < cnt; i++)
		ret[i] = entries[i] & (PAGE_PRESENT | PAGE_SWAPPED);
	return true;
}

/* ---- reading */

static bool read_here(uint64_t addr, size_t bytes, char *to)
{
	ssize_t n = pread(last.mem, to, bytes, (off_t)addr);

	if (!n && open_memory(last.pid, true))
		n = pread(last.mem, to, bytes, (off_t)addr);
	return n == (ssize_t)bytes;
}

static enum opener_piece_state read_absent(uint64_t addr, size_t bytes, char *to)
{
	switch (absent_at(last.pid, addr)) {
	case ABSENT_STRANGE: return OPENER_PIECE_STRANGE;
	case ABSENT_ZERO:
		/* A page that was never written to is zero; reading it could ask a userfaultfd handler. */
		memset(to, 0, bytes);
		return OPENER_PIECE_READ;
	case ABSENT_LOCAL: return read_here(addr, bytes, to) ? OPENER_PIECE_READ : OPENER_PIECE_NONE;
	default: return OPENER_PIECE_NONE;
	}
}

static enum opener_piece_state read_piece(uint64_t addr, size_t bytes, char *to)
{
	const uint64_t first = addr / PAGE_BYTES, cnt = (addr + bytes - 1) / PAGE_BYTES - first + 1;
	enum opener_piece_state state = OPENER_PIECE_READ;
	bool present[PAGES_AT_ONCE] = { false }, all = true;

	if (!bytes || addr + bytes < addr || addr + bytes > INT64_MAX || cnt > PAGES_AT_ONCE)
		return OPENER_PIECE_NONE;
	if (!are_present(first, cnt, present) && last.pages < 0 && absent_at(last.pid, addr) != ABSENT_STRANGE)
		return read_here(addr, bytes, to) ? OPENER_PIECE_READ : OPENER_PIECE_NONE;
	for (size_t i = 0; i < cnt; i++)
		all &= present[i];
	if (all)
		return read_here(addr, bytes, to) ? OPENER_PIECE_READ : OPENER_PIECE_NONE;
	for (size_t i = 0; i < cnt && state == OPENER_PIECE_READ; i++) {
		uint64_t from = MAX(addr, (first + i) * PAGE_BYTES),
			 until = MIN(addr + bytes, (first + i + 1) * PAGE_BYTES);

		if (!present[i])
			state = read_absent(from, until - from, to + (from - addr));
		else if (!read_here(from, until - from, to + (from - addr)))
			state = OPENER_PIECE_NONE;
	}
	return state;
}

long opener_read_memory(uint32_t pid, const struct opener_address *pieces, size_t cnt, char text[OPENER_TEXT_MAX])
{
	size_t at = cnt;

	if (!cnt || cnt > OPENER_PIECES_MAX)
		return -EINVAL;
	if (!open_memory(pid, false))
		return -errno;
	for (size_t i = 0; i < cnt; i++) {
		if (pieces[i].bytes > OPENER_TEXT_MAX - at)
			return -EINVAL;
		text[i] = (char)read_piece(pieces[i].addr, pieces[i].bytes, text + at);
		if (text[i] == OPENER_PIECE_READ)
			at += pieces[i].bytes;
	}
	return (long)at;
}

/* ---- arguments and environment */

static bool may_read(uint64_t from, uint64_t until)
{
	bool present[PAGES_AT_ONCE];

	for (uint64_t page = from / PAGE_BYTES; page * PAGE_BYTES < until; page++)
		if (!(are_present(page, 1, present) && present[0]) &&
		    absent_at(last.pid, page * PAGE_BYTES) == ABSENT_STRANGE)
			return false;
	return true;
}

/* The numbers in /proc/PID/stat from field 3 on; returns their count. */
static size_t read_stat(uint32_t pid, uint64_t ret[64])
{
	char text[2048], *at;
	int fd = open_of(pid, "stat");
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	size_t cnt = 0;

	if (fd >= 0)
		close(fd);
	text[MAX(n, 0)] = '\0';
	at = strrchr(text, ')');
	for (at = at ? strchr(at, ' ') : NULL; at && cnt < 64; at = strchr(at + 1, ' '))
		ret[cnt++] = strtoull(at + 1, NULL, 10);
	return cnt;
}

/* proc(5): arg_start, arg_end, env_start and env_end are fields 48 to 51. */
bool opener_may_read_arguments(uint32_t pid, uint64_t max_bytes)
{
	const size_t arg = 48 - 3, env = 50 - 3;
	uint64_t stat[64];

	if (read_stat(pid, stat) <= env + 1 || !open_memory(pid, false))
		return true;	/* reading it will show the error */
	return may_read(stat[arg], MIN(stat[arg + 1], stat[arg] + max_bytes)) &&
	       may_read(stat[env], MIN(stat[env + 1], stat[env] + max_bytes));
}
