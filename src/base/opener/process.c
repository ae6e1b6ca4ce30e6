/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/opener/confine.h"
#include "base/opener/parser.h"
#include "base/opener/wire.h"

/*
 * An opener serves one client. A client that gave up its rights may have been compromised. Of any process it gives
 * what /proc has, including its memory: the client needs that, and could read the kernel's memory anyway. Of other
 * files it gives those that names are made of, recognised by beginning or name, so no keys or passwords. It opens
 * nothing for writing.
 */

#define SOCKET_FD 3
#define PROC_FD 4
#define NAMES_AT_ONCE 4096	/* size of a buffer for getdents64(2) */
#define KERNFS_HANDLE 0xfe	/* FILEID_KERNFS, which user headers lack */

/* The client has fewer rights, so its requests must be checked. */
static bool is_guarded;

struct linux_dirent64 {	/* layout for getdents64(2) */
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* ---- common parts */

int opener_hold_here(const char *root, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (flags & (O_NOFOLLOW | O_DIRECTORY)),
				.resolve = resolve };
	int at = root ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD, fd, error;

	if (root && at < 0) {
		errno = errno == ENOENT ? ESRCH : errno;
		return -1;
	}
	fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
	error = errno;
	if (root)
		close(at);
	errno = error;
	return fd;
}

bool opener_stat_here(int at, const char *path, struct stat *ret)
{
	const int flags = AT_STATX_DONT_SYNC | (*path ? 0 : AT_EMPTY_PATH);
	struct statx st;

	if (statx(at, path, flags, STATX_BASIC_STATS, &st))
		return false;
	*ret = (struct stat){ .st_dev = makedev(st.stx_dev_major, st.stx_dev_minor),
			      .st_rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor),
			      .st_ino = st.stx_ino,
			      .st_mode = st.stx_mode,
			      .st_nlink = st.stx_nlink,
			      .st_uid = st.stx_uid,
			      .st_gid = st.stx_gid,
			      .st_size = (off_t)st.stx_size,
			      .st_blksize = st.stx_blksize,
			      .st_blocks = (blkcnt_t)st.stx_blocks,
			      .st_mtim = { st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec },
			      .st_ctim = { st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec } };
	return true;
}

int opener_reopen_here(int held_fd)
{
	char self[32];

	g_snprintf(self, sizeof(self), "/proc/self/fd/%d", held_fd);
	return open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int opener_cgroup_here(int mount_fd, uint64_t id)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} of = { .handle = { .handle_bytes = sizeof(id), .handle_type = KERNFS_HANDLE } };

	memcpy(of.handle.f_handle, &id, sizeof(id));
	return open_by_handle_at(mount_fd, &of.handle, O_PATH | O_CLOEXEC);
}

int opener_bpf_stats_here(void)
{
	union bpf_attr attr = { .enable_stats.type = BPF_STATS_RUN_TIME };

	return (int)syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr));	/* Linux 5.8, d46edd671a14 */
}

int opener_perf_event_here(const struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Mode, name, link target. */
static size_t put_entry(int dir, const char *name, bool with_link, char *to)
{
	struct stat st = { 0 };
	size_t name_bytes = strlen(name) + 1;
	char *link = to + sizeof(uint32_t) + name_bytes;
	ssize_t n = with_link ? readlinkat(dir, name, link, OPENER_LINK_MAX - 1) : 0;

	n = MAX(n, 0);
	link[n] = '\0';
	uint32_t mode = n && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode : 0;

	memcpy(to, &mode, sizeof(mode));
	memcpy(to + sizeof(uint32_t), name, name_bytes);
	return sizeof(uint32_t) + name_bytes + (size_t)n + 1;
}

long opener_list_some(int dir, bool with_links, char text[OPENER_TEXT_MAX])
{
	_Alignas(struct linux_dirent64) char names[NAMES_AT_ONCE];
	size_t len = 0;
	long n;

	/* an entry takes at least 24 bytes there; here its name and a bounded rest */
	_Static_assert(NAMES_AT_ONCE / 24 * (sizeof(uint32_t) + OPENER_LINK_MAX + 1) + NAMES_AT_ONCE <= OPENER_TEXT_MAX,
		       "what is read at once has room");
	do {
		n = syscall(SYS_getdents64, dir, names, sizeof(names));
		for (long at = 0; at < n;) {
			const struct linux_dirent64 *e = (const void *)(names + at);

			if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
				len += put_entry(dir, e->name, with_links, text + len);
			at += e->bytes;
		}
	} while (n > 0 && !len);
	return n < 0 ? -errno : (long)len;
}

/* ---- permitted files */

static bool is_of_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* A file of a process, or a global one; no link leads out of /proc. */
static int open_of_proc(const char *path, uint32_t flags)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (flags & O_DIRECTORY),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	const char *below = path + strlen("/proc/");

	if (strcmp(path, "/proc") == 0)
		below = ".";
	else if (strncmp(path, "/proc/", strlen("/proc/")) != 0 || strstr(path, "..") ||
		 (!isdigit((unsigned char)*below) && strcmp(below, "kallsyms") != 0)) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_openat2, PROC_FD, below, &how, sizeof(how));
}

/* In their own mount namespace users can mount any file, or directories above it, under any name. */
static bool has_own_name(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 && !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static bool begins_as_container(int fd)
{
	char text[256] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 && strstr(text, "\"ociVersion\"");
}

/* Names that containers, JDKs and compilers give to files with names in them; a user's own config.json is not one. */
static bool has_naming_name(int fd)
{
	static const struct {
		const char *name, *below;
	} known[] = {
		{ "config.v2.json", "docker/containers/" },
		{ "containers.json", "/storage/" },
		{ "volatile-containers.json", "/storage/" },
		{ "release", "/" },
	};
	char self[32], path[4096];

	if (!has_own_name(fd))
		return false;
	g_snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(self, path, sizeof(path) - 1);

	path[MAX(n, 0)] = '\0';
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t digits = strncmp(name, "perf-", 5) == 0 ? strspn(name + 5, "0123456789") : 0;

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (strcmp(name, known[i].name) == 0 && strstr(path, known[i].below))
			return true;
	if (strcmp(name, "config.json") == 0)
		return begins_as_container(fd);
	return digits && strcmp(name + 5 + digits, ".map") == 0;
}

/* A program or library, but not a core dump; a jitdump; or known by its name. */
static bool contains_names(int fd)
{
	Elf64_Ehdr head = { .e_type = ET_NONE };
	bool has_magic = pread(fd, &head, sizeof(head), 0) >= SELFMAG;

	if (has_magic && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0)
		return head.e_type != ET_CORE;
	return (has_magic && (memcmp(head.e_ident, "JiTD", 4) == 0 || memcmp(head.e_ident, "DTiJ", 4) == 0)) ||
	       has_naming_name(fd);
}

static int read_held(int held_fd)
{
	struct stat st;
	bool is_file = fstat(held_fd, &st) == 0 && S_ISREG(st.st_mode) && !is_of_proc(held_fd);
	int fd = is_file ? opener_reopen_here(held_fd) : -1;

	if (!is_file)
		errno = EPERM;
	if (fd < 0 || !is_guarded || contains_names(fd))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static void go_on(void)
{
	const int32_t going = EINPROGRESS;

	parser_send(SOCKET_FD, &going, sizeof(going), -1);
}

/* What the client reads must not wait for a file system. */
static int read_held_at_once(int held_fd)
{
	int fd = read_held(held_fd), copy;

	if (fd < 0 || opener_is_local(fd))
		return fd;
	copy = opener_copy(fd, go_on);
	int error = errno;

	close(fd);
	errno = error;
	return copy;
}

/*
 * The client can open a held object by its own rights, and no closed directory protects it then. So it gets no
 * directory, no socket, no pipe, and nothing that all may write to, such as shared memory, unless it contains names.
 */
static bool may_be_held(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (S_ISDIR(st.st_mode))
		return strcmp(path, OPENER_SEMAPHORES) == 0;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IWOTH))
		return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode);
	int readable = st.st_nlink ? read_held(fd) : -1;

	if (readable >= 0)
		close(readable);
	return readable >= 0;
}

/* The request has the path, then the root that it is below. */
static int hold_permitted(const struct opener_request *r, size_t path_bytes)
{
	const char *root = r->path + strlen(r->path) + 1;
	int fd = opener_hold_here(root < r->path + path_bytes ? root : NULL, r->path, r->flags, r->number);

	if (fd < 0 || !is_guarded || may_be_held(fd, r->path))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static long stat_of(const char *path, char text[OPENER_TEXT_MAX])
{
	int fd = opener_hold_here(NULL, path, 0, 0);
	struct stat st;
	long n = fd >= 0 && opener_stat_here(fd, "", &st) ? (long)sizeof(st) : -errno;

	if (n > 0)
		memcpy(text, &st, sizeof(st));
	if (fd >= 0)
		close(fd);
	return n;
}

/* cmdline and environ are read from the process's memory. */
static bool is_of_memory(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (strcmp(name, "/cmdline") == 0 || strcmp(name, "/environ") == 0);
}

/* If the text is longer than a reply, ret_fd is a memory file with all of it. */
static long read_text(const char *path, uint64_t max_bytes, char text[OPENER_TEXT_MAX], int *ret_fd)
{
	int fd, error;
	long len = 0, n;

	if (g_str_has_suffix(path, "/maps"))	/* a client that reads the mappings begins anew with the process */
		opener_forget_memory();
	if (is_of_memory(path) && !opener_may_read_arguments((uint32_t)atoi(path + strlen("/proc/")), max_bytes))
		return -EREMOTE;
	fd = open_of_proc(path, 0);
	n = fd < 0 ? -1 : 1;
	while (n > 0 && len < OPENER_TEXT_MAX && (uint64_t)len < max_bytes) {
		n = read(fd, text + len, (size_t)MIN((uint64_t)(OPENER_TEXT_MAX - len), max_bytes - (uint64_t)len));
		len += MAX(n, 0);
	}
	error = errno;
	if (n > 0 && len == OPENER_TEXT_MAX && max_bytes > OPENER_TEXT_MAX) {
		*ret_fd = opener_copy_text(fd, text, len, max_bytes);
		error = errno;
		n = *ret_fd < 0 ? -1 : 0;
		len = 0;
	}
	if (fd >= 0)
		close(fd);
	return n < 0 ? -error : len;
}

static long list_of_proc(int dir, bool with_links, char text[OPENER_TEXT_MAX])
{
	return is_of_proc(dir) ? opener_list_some(dir, with_links, text) : -EPERM;
}

/* A link there, not one reached through another link or "..". */
static long link_of_proc(const char *path, char text[OPENER_TEXT_MAX])
{
	const struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	bool is_there = strncmp(path, "/proc/", strlen("/proc/")) == 0 && !strstr(path, "..");
	int fd = is_there ? (int)syscall(SYS_openat2, PROC_FD, path + strlen("/proc/"), &how, sizeof(how)) : -1;
	long n = fd >= 0 ? readlinkat(fd, "", text, OPENER_TEXT_MAX) : -1, error = is_there ? errno : EPERM;

	if (fd >= 0)
		close(fd);
	return n < 0 ? -error : n;
}

static int perf_event(const struct opener_request *r, size_t bytes)
{
	struct perf_event_attr attr;

	if (bytes == sizeof(attr)) {
		memcpy(&attr, r->path, sizeof(attr));
		if (attr.type == PERF_TYPE_SOFTWARE && attr.size == sizeof(attr))
			return opener_perf_event_here(&attr, (int)r->number);
	}
	errno = EPERM;
	return -1;
}

/* A descriptor, or -1 with errno. */
static int fd_for(const struct opener_request *r, size_t path_bytes, int fd)
{
	switch (r->call) {
	case OPENER_OPEN: return open_of_proc(r->path, r->flags);
	case OPENER_HOLD: return hold_permitted(r, path_bytes);
	case OPENER_READ_HELD: return read_held_at_once(fd);
	case OPENER_CGROUP: return opener_cgroup_here(fd, r->number);
	case OPENER_BPF_STATS: return opener_bpf_stats_here();
	case OPENER_PERF_EVENT: return perf_event(r, path_bytes);
	default:
		errno = EINVAL;
		return -1;
	}
}

static void serve_request(const struct opener_request *r, size_t path_bytes, int fd)
{
	static struct opener_reply reply;
	int ret_fd = -1;
	long n = 0;

	errno = 0;
	switch (r->call) {
	case OPENER_TEXT: n = read_text(r->path, r->number, reply.text, &ret_fd); break;
	case OPENER_MEMORY:
		n = opener_read_memory((uint32_t)r->number, (const void *)r->path,
				       path_bytes / sizeof(struct opener_address), reply.text);
		break;
	case OPENER_LINK: n = link_of_proc(r->path, reply.text); break;
	case OPENER_STAT: n = stat_of(r->path, reply.text); break;
	case OPENER_LIST: n = list_of_proc(fd, r->flags, reply.text); break;
	default:
		ret_fd = fd_for(r, path_bytes, fd);
		n = ret_fd < 0 ? -errno : 0;
	}
	reply.error = n < 0 ? (int32_t)-n : 0;
	parser_send(SOCKET_FD, &reply, OPENER_REPLY_BYTES + (size_t)MAX(n, 0), ret_fd);
	if (ret_fd >= 0)
		close(ret_fd);
}

_Noreturn void opener_serve(int socket, const uint64_t *kept)
{
	static _Alignas(struct opener_address) struct opener_request request;
	struct confine c = { .calls = CONFINE_OPENER, .kept = kept ? *kept : 0 };
	long n;
	int fd;

	confine_descriptors((const int[]){ socket, open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC) }, 2);
	prctl(PR_SET_NAME, "offcpu-opener", 0, 0, 0);
	is_guarded = kept != NULL;
	if (is_guarded && !confine(&c, NULL))
		_exit(2);
	while ((n = parser_receive(SOCKET_FD, &request, sizeof(request), &fd)) >= (long)OPENER_REQUEST_BYTES) {
		size_t path_bytes = (size_t)n - OPENER_REQUEST_BYTES;

		if (path_bytes < sizeof(request.path))
			request.path[path_bytes] = '\0';
		request.path[sizeof(request.path) - 1] = '\0';
		serve_request(&request, path_bytes, fd);
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}
