/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_text.h"
#include "base/parser.h"

#define PATIENCE_S 30	/* a file system may answer late */

static struct {
	GMutex lock;
	pid_t pid;
	int socket;
	bool is_apart, is_lost;
	bool is_hidden;	/* /proc may hide other users' processes */
} opener = { .socket = -1 };

bool opener_is_apart(void)
{
	return opener.is_apart;
}

bool opener_is_lost(void)
{
	g_mutex_lock(&opener.lock);
	bool is_lost = opener.is_lost;

	g_mutex_unlock(&opener.lock);
	return is_lost;
}

struct asked {
	enum opener_call call;
	uint32_t flags;
	uint64_t number;
	const void *path;
	size_t path_bytes;
	int fd;		/* that goes along; -1: none */
};

static long exchange(const struct opener_request *request, const struct asked *a, void *reply, size_t bytes, int *ret_fd)
{
	long n = -1;

	g_mutex_lock(&opener.lock);
	if (!opener.is_lost && parser_send(opener.socket, request, OPENER_REQUEST_BYTES + a->path_bytes, a->fd))
		n = parser_receive(opener.socket, reply, bytes, ret_fd);
	opener.is_lost |= n < (long)OPENER_REPLY_BYTES;
	g_mutex_unlock(&opener.lock);
	return n;
}

/* Bytes of text in the reply, whose room is `bytes`; -1 with errno. */
static long ask(const struct asked *a, void *reply, size_t bytes, int *ret_fd)
{
	struct opener_request request = { .call = a->call, .flags = a->flags, .number = a->number };
	int32_t error;
	long n;

	*ret_fd = -1;
	if (a->path_bytes > sizeof(request.path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (a->path_bytes)
		memcpy(request.path, a->path, a->path_bytes);
	n = exchange(&request, a, reply, bytes, ret_fd);
	if (n < (long)OPENER_REPLY_BYTES) {
		errno = EPIPE;
		return -1;
	}
	memcpy(&error, reply, sizeof(error));
	errno = error;
	return error ? -1 : n - (long)OPENER_REPLY_BYTES;
}

static int ask_for_fd(const struct asked *a)
{
	int32_t reply;
	int fd;

	if (ask(a, &reply, sizeof(reply), &fd) == 0 && fd < 0)
		errno = EMFILE;	/* it was sent, and there was no room for it */
	return fd;
}

/*
 * Most of it anybody may open, and many a process has ended meanwhile: only what is refused is asked for.  Where /proc
 * hides other users' processes, those seem to have ended.
 */
static bool is_refused(void)
{
	return opener.is_apart &&
	       (errno == EACCES || errno == EPERM || (opener.is_hidden && (errno == ENOENT || errno == ESRCH)));
}

/* That anybody may read, but with zeros for addresses. */
static bool is_veiled(const char *path)
{
	return opener.is_apart && strcmp(path, "/proc/kallsyms") == 0;
}

void opener_settle(void)
{
	opener.is_hidden = access("/proc/1", F_OK) != 0;
}

int opener_open(const char *path, int flags)
{
	const struct asked a = { OPENER_OPEN, (uint32_t)flags, 0, path, strlen(path) + 1, -1 };
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

static char *text_by_asking(const char *path, size_t max_bytes, size_t *ret_bytes)
{
	const struct asked a = { OPENER_TEXT, 0, 0, path, strlen(path) + 1, -1 };
	struct opener_reply reply;
	int fd;
	long n = ask(&a, &reply, sizeof(reply), &fd);

	if (n < 0)
		return NULL;
	if (n == OPENER_TEXT_MAX && max_bytes > OPENER_TEXT_MAX)
		return text_by_fd(opener_open(path, 0), max_bytes, ret_bytes);	/* there may be more */
	*ret_bytes = MIN((size_t)n, max_bytes);
	char *text = g_malloc(*ret_bytes + 1);

	memcpy(text, reply.text, *ret_bytes);
	text[*ret_bytes] = '\0';
	return text;
}

/* Some files open to many, and let few read. */
char *opener_text(const char *path, size_t max_bytes, size_t *ret_bytes)
{
	char *text = text_by_fd(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), max_bytes, ret_bytes);

	return !text && is_refused() ? text_by_asking(path, max_bytes, ret_bytes) : text;
}

int opener_hold(const char *root, const char *path, uint64_t flags, uint64_t resolve)
{
	size_t path_bytes = strlen(path) + 1, root_bytes = root ? strlen(root) + 1 : 0;
	int fd = opener_hold_here(root, path, flags, resolve);

	if (fd >= 0 || !is_refused())
		return fd;
	g_autofree char *both = g_malloc(path_bytes + root_bytes);
	const struct asked a = { OPENER_HOLD, (uint32_t)flags, resolve, both, path_bytes + root_bytes, -1 };

	memcpy(both, path, path_bytes);
	if (root)
		memcpy(both + path_bytes, root, root_bytes);
	return ask_for_fd(&a);
}

int opener_read_held(int held_fd)
{
	const struct asked a = { .call = OPENER_READ_HELD, .fd = held_fd };
	int fd = opener_reopen_here(held_fd);

	return fd < 0 && is_refused() ? ask_for_fd(&a) : fd;
}

char *opener_link(const char *path)
{
	const struct asked a = { OPENER_LINK, 0, 0, path, strlen(path) + 1, -1 };
	struct opener_reply reply;
	int fd;
	long n = readlink(path, reply.text, sizeof(reply.text));

	if (n < 0 && is_refused())
		n = ask(&a, &reply, sizeof(reply), &fd);
	return n > 0 ? g_strndup(reply.text, (gsize)n) : NULL;
}

bool opener_stat(const char *path, struct stat *ret)
{
	const struct asked a = { OPENER_STAT, 0, 0, path, strlen(path) + 1, -1 };
	char reply[OPENER_REPLY_BYTES + sizeof(*ret)];
	bool is_well = stat(path, ret) == 0;
	int fd;

	if (is_well || !is_refused())
		return is_well;
	is_well = ask(&a, reply, sizeof(reply), &fd) == (long)sizeof(*ret);
	if (is_well)
		memcpy(ret, reply + OPENER_REPLY_BYTES, sizeof(*ret));
	return is_well;
}

/* Entries as opener_list_some() writes them; false: no more are wanted. */
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
	const struct asked a = { .call = OPENER_LIST, .flags = with_links, .fd = opener_open(dir, O_DIRECTORY) };
	bool by_other = opener.is_apart && (with_links || opener.is_hidden);
	struct opener_reply reply;
	int fd;
	long n;

	if (a.fd < 0)
		return false;
	do
		n = by_other ? ask(&a, &reply, sizeof(reply), &fd) : opener_list_some(a.fd, with_links, reply.text);
	while (n > 0 && take_entries(reply.text, n, take, data));
	close(a.fd);
	return n >= 0;
}

int opener_cgroup(int mount_fd, uint64_t id)
{
	const struct asked a = { .call = OPENER_CGROUP, .number = id, .fd = mount_fd };
	int fd = opener_cgroup_here(mount_fd, id);

	return fd < 0 && is_refused() ? ask_for_fd(&a) : fd;
}

int opener_bpf_stats(void)
{
	const struct asked a = { .call = OPENER_BPF_STATS, .fd = -1 };
	int fd = opener_bpf_stats_here();

	return fd < 0 && is_refused() ? ask_for_fd(&a) : fd;
}

int opener_perf_event(const struct perf_event_attr *attr, int cpu)
{
	const struct asked a = { OPENER_PERF_EVENT, 0, (uint64_t)cpu, attr, sizeof(*attr), -1 };
	int fd = opener_perf_event_here(attr, cpu);

	return fd < 0 && is_refused() ? ask_for_fd(&a) : fd;
}

/* What every process has, so it must be able to read it, as other users' is read. */
static bool is_able(void)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/maps", (int)getpid());
	const struct asked a = { OPENER_OPEN, 0, 0, path, strlen(path) + 1, -1 };
	int fd = ask_for_fd(&a);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool opener_start(uint64_t kept, GError **error)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int sockets[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0)
		opener.pid = fork();
	if (opener.pid == 0 && sockets[1] >= 0)
		opener_serve(sockets[1], kept);
	if (sockets[1] >= 0)
		close(sockets[1]);
	opener.socket = sockets[0];
	opener.is_apart = opener.pid > 0;
	opener.is_lost = false;
	opener.is_hidden = true;
	if (opener.is_apart)
		setsockopt(opener.socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (opener.is_apart && is_able())
		return true;
	opener_stop();
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			    "a process for opening what is other users' cannot be had");
	return false;
}

/* It may hang in a file system, and ends as it can: nobody waits for that. */
void opener_stop(void)
{
	g_mutex_lock(&opener.lock);
	if (opener.socket >= 0)
		close(opener.socket);
	if (opener.pid > 0) {
		kill(opener.pid, SIGKILL);
		waitpid(opener.pid, NULL, WNOHANG);
	}
	opener.socket = -1;
	opener.pid = 0;
	opener.is_lost = opener.is_apart = false;
	g_mutex_unlock(&opener.lock);
}
