/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener/opener.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/find.h"
#include "base/opener/wire.h"
#include "base/proc/status.h"

static struct {
	bool is_apart;
	bool is_hidden;	/* /proc may hide other users' processes */
	/* Devices that proved to be disks, because a file on them may be read here: no user can create one. */
	GMutex lock;
	dev_t local[64];
	unsigned local_cnt;
} opener;

bool opener_is_apart(void)
{
	return opener.is_apart;
}

static int ask_for_fd(const struct opener_asked *a)
{
	int32_t reply;
	int fd;

	if (opener_ask(a, &reply, sizeof(reply), &fd) == 0 && fd < 0)
		errno = EMFILE;	/* it was sent, but no descriptor was free */
	return fd;
}

/*
 * Most files are open to all, and many processes have ended meanwhile: only what is refused is requested. Where /proc
 * hides other users' processes, those seem to have ended.
 */
static bool is_refused(void)
{
	return opener.is_apart &&
	       (errno == EACCES || errno == EPERM || (opener.is_hidden && (errno == ENOENT || errno == ESRCH)));
}

static bool is_of_process(const char *path)
{
	return strncmp(path, "/proc/", strlen("/proc/")) == 0 && isdigit((unsigned char)path[strlen("/proc/")]);
}

/*
 * Reading these needs the process's memory, or the lock of its mappings, which a thread that waits for its memory may
 * hold. The kernel has all other files there at hand.
 */
static bool may_hang(const char *path)
{
	static const char *const names[] = { "/cmdline", "/environ", "/maps", "/mem", "/smaps", "/stat" };
	const char *name = strrchr(path, '/');

	if (!opener_is_there() || !is_of_process(path))
		return false;
	return ANY(x, names, strcmp(name, *x) == 0) || strstr(path, "/map_files/") != NULL;
}

/* A process's links are read under a lock that an exec holds, and an exec may never end. */
static bool waits_for_exec(const char *path)
{
	return opener_is_there() && is_of_process(path) && strrchr(path, '/') - path > (ptrdiff_t)strlen("/proc");
}

/* Files that all may read, but with zeros for addresses. */
static bool is_veiled(const char *path)
{
	return opener.is_apart && strcmp(path, "/proc/kallsyms") == 0;
}

bool opener_has_ended(const char *subject)
{
	return subject && strncmp(subject, "pid ", strlen("pid ")) == 0 &&
	       process_has_ended((uint32_t)atoi(subject + strlen("pid ")));
}

void opener_settle(void)
{
	opener.is_hidden = access("/proc/1", F_OK) != 0;
}

int opener_open(const char *path, int flags)
{
	g_autofree char *subject = opener_subject_of_path(path);
	const struct opener_asked a = { OPENER_OPEN, (uint32_t)flags, 0, path, strlen(path) + 1, -1, subject };
	int fd = is_veiled(path) ? -1 : open(path, flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return is_veiled(path) || (fd < 0 && is_refused()) ? ask_for_fd(&a) : fd;
}

FILE *opener_file(const char *path)
{
	int fd = opener_open(path, 0);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static char *text_by_fd(int fd, size_t max_bytes, size_t *ret_bytes)
{
	char *text = fd < 0 ? NULL : file_read_fd(fd, max_bytes, ret_bytes);
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return text;
}

static void tell_strange(uint32_t pid)
{
	opener_tell_of("pid", pid, "what is asked of its memory lies in a file system that may never answer, and is not read");
}

static char *text_by_asking(const char *path, size_t max_bytes, size_t *ret_bytes)
{
	g_autofree char *subject = opener_subject_of_path(path);
	const struct opener_asked a = { OPENER_TEXT, 0, max_bytes, path, strlen(path) + 1, -1, subject };
	struct opener_reply reply;
	int fd;
	long n = opener_ask(&a, &reply, sizeof(reply), &fd);

	if (n < 0 && errno == EREMOTE)
		tell_strange((uint32_t)g_ascii_strtoull(path + strlen("/proc/"), NULL, 10));
	if (n < 0)
		return NULL;
	if (fd >= 0)
		return text_by_fd(fd, max_bytes, ret_bytes);	/* too long for the reply */
	*ret_bytes = MIN((size_t)n, max_bytes);
	char *text = g_malloc(*ret_bytes + 1);

	memcpy(text, reply.text, *ret_bytes);
	text[*ret_bytes] = '\0';
	return text;
}

/* Some files can be opened by many, and read by few. */
char *opener_text(const char *path, size_t max_bytes, size_t *ret_bytes)
{
	if (may_hang(path))
		return text_by_asking(path, max_bytes, ret_bytes);
	char *text = text_by_fd(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), max_bytes, ret_bytes);

	return !text && is_refused() ? text_by_asking(path, max_bytes, ret_bytes) : text;
}

char *opener_process_text(const char *proc_dir, uint32_t pid, const char *name)
{
	g_autofree char *path = g_strdup_printf("%s/%u/%s", proc_dir, pid, name);
	size_t len;

	return opener_text(path, OPENER_TEXT_MAX, &len);
}

/* Opens it here unless a path must be looked up on a disk, or in a file system: the opener does that. */
static int hold_at_once(const char *root, const char *path, uint64_t flags, uint64_t resolve)
{
	if (!opener_is_there())
		return opener_hold_here(root, path, flags, resolve);
	if (is_of_process(root ? root : path)) {
		errno = EAGAIN;
		return -1;
	}
	return opener_hold_here(root, path, flags, resolve | RESOLVE_CACHED);
}

int opener_hold(const char *root, const char *path, uint64_t flags, uint64_t resolve)
{
	size_t path_bytes = strlen(path) + 1, root_bytes = root ? strlen(root) + 1 : 0;
	int fd = hold_at_once(root, path, flags, resolve);
	/* Linux 5.12, 99668f618062 */
	bool is_late = fd < 0 && opener_is_there() && (errno == EAGAIN || errno == EINVAL);

	if (fd >= 0 || (!is_late && !is_refused()))
		return fd;
	g_autofree char *both = g_malloc(path_bytes + root_bytes),
			*subject = opener_subject_of_path(root ? root : path);
	const struct opener_asked a = { OPENER_HOLD, (uint32_t)flags, resolve, both, path_bytes + root_bytes,
					-1,          subject };

	memcpy(both, path, path_bytes);
	if (root)
		memcpy(both + path_bytes, root, root_bytes);
	return ask_for_fd(&a);
}

static bool is_known_local(dev_t dev)
{
	bool is_known = false;

	g_mutex_lock(&opener.lock);
	for (unsigned i = 0; i < opener.local_cnt; i++)
		is_known |= opener.local[i] == dev;
	g_mutex_unlock(&opener.lock);
	return is_known;
}

static void note_local(dev_t dev)
{
	g_mutex_lock(&opener.lock);
	if (opener.local_cnt < G_N_ELEMENTS(opener.local))
		opener.local[opener.local_cnt++] = dev;
	g_mutex_unlock(&opener.lock);
}

/* The opener sent the file itself, not a copy: it may be read here. */
static bool is_same_file(int fd, const struct stat *held)
{
	struct stat st;

	return fd >= 0 && opener_stat_here(fd, "", &st) && st.st_dev == held->st_dev && st.st_ino == held->st_ino;
}

bool opener_stat_held(int held_fd, struct stat *ret)
{
	return opener_stat_here(held_fd, "", ret);
}

int opener_read_held(int held_fd)
{
	struct stat st = { 0 };
	bool is_on_disk = opener_stat_here(held_fd, "", &st) && major(st.st_dev);
	int fd = -1;

	if (!opener_is_there() || (is_on_disk && is_known_local(st.st_dev))) {
		fd = opener_reopen_here(held_fd);
		if (fd >= 0 || !is_refused())
			return fd;
	}
	g_autofree char *subject = opener_subject_of_fd(held_fd);
	const struct opener_asked a = { .call = OPENER_READ_HELD, .fd = held_fd, .subject = subject };

	fd = ask_for_fd(&a);
	if (is_on_disk && !is_known_local(st.st_dev) && is_same_file(fd, &st))
		note_local(st.st_dev);
	return fd;
}

char *opener_link(const char *path)
{
	g_autofree char *subject = opener_subject_of_path(path);
	const struct opener_asked a = { OPENER_LINK, 0, 0, path, strlen(path) + 1, -1, subject };
	struct opener_reply reply;
	int fd;
	bool is_late = waits_for_exec(path);
	long n = is_late ? -1 : readlink(path, reply.text, sizeof(reply.text));

	if (is_late || (n < 0 && is_refused()))
		n = opener_ask(&a, &reply, sizeof(reply), &fd);
	return n > 0 ? g_strndup(reply.text, (gsize)n) : NULL;
}

bool opener_stat(const char *path, struct stat *ret)
{
	g_autofree char *subject = opener_subject_of_path(path);
	const struct opener_asked a = { OPENER_STAT, 0, 0, path, strlen(path) + 1, -1, subject };
	char reply[OPENER_REPLY_BYTES + sizeof(*ret)];
	bool is_late = waits_for_exec(path), is_well = !is_late && opener_stat_here(AT_FDCWD, path, ret);
	int fd;

	if (is_well || (!is_late && !is_refused()))
		return is_well;
	is_well = opener_ask(&a, reply, sizeof(reply), &fd) == (long)sizeof(*ret);
	if (is_well)
		memcpy(ret, reply + OPENER_REPLY_BYTES, sizeof(*ret));
	return is_well;
}

/* Parses entries in the format of opener_list_some(); false: the caller wants no more. */
static bool take_entries(const char *text, long bytes, opener_entry_fn take, void *data)
{
	for (const char *at = text, *end = text + bytes; at < end;) {
		struct opener_entry e;

		memcpy(&e.mode, at, sizeof(e.mode));
		e.name = at + sizeof(e.mode);
		e.link = e.name + strlen(e.name) + 1;
		at = e.link + strlen(e.link) + 1;
		if (!take(&e, data))
			return false;
	}
	return true;
}

bool opener_list(const char *dir, bool with_links, opener_entry_fn take, void *data)
{
	g_autofree char *subject = opener_subject_of_path(dir);
	const struct opener_asked a = { .call = OPENER_LIST,
					.flags = with_links,
					.fd = opener_open(dir, O_DIRECTORY),
					.subject = subject };
	bool by_other = (with_links && waits_for_exec(dir)) || (opener.is_apart && opener.is_hidden);
	struct opener_reply reply;
	int fd;
	long n;

	if (a.fd < 0)
		return false;
	do
		n = by_other ? opener_ask(&a, &reply, sizeof(reply), &fd)
			     : opener_list_some(a.fd, with_links, reply.text);
	while (n > 0 && take_entries(reply.text, n, take, data));
	close(a.fd);
	return n >= 0;
}

/* Copies the reply to the pieces that were read; false: the reply is invalid. */
static bool take_pieces(const char *text, long bytes, const struct opener_piece *pieces, size_t cnt, bool *is_read,
			bool *ret_strange)
{
	size_t at = cnt;

	if (bytes < (long)cnt)
		return false;
	for (size_t i = 0; i < cnt; i++) {
		*ret_strange |= text[i] == OPENER_PIECE_STRANGE;
		if (text[i] != OPENER_PIECE_READ)
			continue;
		if (pieces[i].bytes > (size_t)bytes - at)
			return false;
		memcpy(pieces[i].ret, text + at, pieces[i].bytes);
		at += pieces[i].bytes;
		is_read[i] = true;
	}
	return true;
}

bool opener_memory(uint32_t pid, const struct opener_piece *pieces, size_t cnt, bool *is_read)
{
	struct opener_address addresses[OPENER_PIECES_MAX];
	g_autofree char *subject = g_strdup_printf("pid %u", pid);
	const struct opener_asked a = { OPENER_MEMORY, 0, pid, addresses, cnt * sizeof(addresses[0]), -1, subject };
	struct opener_reply reply;
	bool is_strange = false, is_well;
	int fd;

	_Static_assert(sizeof(addresses) <= OPENER_PATH_MAX, "a request has room for them");
	memset(is_read, 0, cnt * sizeof(*is_read));
	for (size_t i = 0; i < cnt; i++)
		addresses[i] = (struct opener_address){ pieces[i].addr, pieces[i].bytes };
	is_well = take_pieces(reply.text, opener_ask(&a, &reply, sizeof(reply), &fd), pieces, cnt, is_read,
			      &is_strange);
	if (is_strange)
		tell_strange(pid);
	errno = is_well ? EFAULT : errno;	/* for pieces that were not read */
	return is_well;
}

int opener_cgroup(int mount_fd, uint64_t id)
{
	const struct opener_asked a = { .call = OPENER_CGROUP, .number = id, .fd = mount_fd };
	int fd = opener_cgroup_here(mount_fd, id);

	return fd < 0 && is_refused() ? ask_for_fd(&a) : fd;
}

int opener_bpf_stats(void)
{
	const struct opener_asked a = { .call = OPENER_BPF_STATS, .fd = -1 };
	int fd = opener_bpf_stats_here();

	return fd < 0 && is_refused() ? ask_for_fd(&a) : fd;
}

int opener_perf_event(const struct perf_event_attr *attr, int cpu)
{
	const struct opener_asked a = { OPENER_PERF_EVENT, 0, (uint64_t)cpu, attr, sizeof(*attr), -1, NULL };
	int fd = opener_perf_event_here(attr, cpu);

	return fd < 0 && is_refused() ? ask_for_fd(&a) : fd;
}

/* A file that every process has, so the opener must be able to read it like other users'. */
static bool is_able(void)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/maps", (int)getpid());
	const struct opener_asked a = { OPENER_OPEN, 0, 0, path, strlen(path) + 1, -1, NULL };
	int fd = ask_for_fd(&a);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool opener_start(uint64_t kept, GError **error)
{
	opener.is_hidden = true;
	opener.is_apart = opener_channel_open(&kept) && is_able();
	if (opener.is_apart)
		return true;
	opener_begin();
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			    "a process for opening what is other users' cannot be had");
	return false;
}

void opener_begin(void)
{
	if (opener_is_there())
		return;
	opener.is_apart = false;
	if (!opener_channel_open(NULL) || !is_able())
		opener_stop();
}

void opener_stop(void)
{
	opener_channel_close();
	opener.is_apart = false;
	opener.local_cnt = 0;
}
