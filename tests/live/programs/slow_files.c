/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * slow_files OUT FOLDER ROUNDS: file operations that take a known time.  A file system of its own (FUSE) in FOLDER/slow answers each
 * request late; where there is no FUSE, only a lock is waited for.  Beside them: a pipe that is read as slowly, and fast reads.
 * Each operation is a line of OUT, with its own clock.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS_NS 1000000L
#define FILE_ID 2
#define FILE_BYTES 65536
#define READ_BYTES 4096
#define WRITE_BYTES 512
#define FAST_READS 20000

enum { OPEN_MS = 15, READ_MS = 30, WRITE_MS = 20, FSYNC_MS = 40, CLOSE_MS = 35, MISSING_MS = 25, LOCK_MS = 50 };

static char lock_path[512], slow_path[512], missing_path[512], mount_path[500];

static void pause_ms(long ms)
{
	const struct timespec t = { .tv_nsec = ms * MS_NS };

	nanosleep(&t, NULL);
}

/* -- the file system ----------------------------------------------------- */

static void fill_attr(struct fuse_attr *a, uint64_t id)
{
	memset(a, 0, sizeof(*a));
	a->ino = id;
	a->mode = id == FILE_ID ? S_IFREG | 0644 : S_IFDIR | 0755;
	a->nlink = 1;
	a->size = id == FILE_ID ? FILE_BYTES : 0;
}

static void answer(int fd, uint64_t unique, int error, const void *body, size_t bytes)
{
	static char out[sizeof(struct fuse_out_header) + FILE_BYTES];
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + bytes), .error = error, .unique = unique };

	memcpy(out, &head, sizeof(head));
	if (bytes)
		memcpy(out + sizeof(head), body, bytes);
	if (write(fd, out, head.len) < 0 && errno != ENOENT)
		truth_die("answer", errno);
}

static void answer_lookup(int fd, const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out e = { .nodeid = FILE_ID };

	if (strcmp(name, "file") != 0) {
		pause_ms(MISSING_MS);
		answer(fd, in->unique, -ENOENT, NULL, 0);
		return;
	}
	fill_attr(&e.attr, FILE_ID);
	answer(fd, in->unique, 0, &e, sizeof(e));
}

static void serve_one(int fd, const struct fuse_in_header *in, const void *body)
{
	static const char zeroes[FILE_BYTES];
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 65536, .max_background = 16 };
	const struct fuse_open_out open_out = { .fh = 1, .open_flags = FOPEN_DIRECT_IO };
	struct fuse_write_out write_out = { 0 };
	struct fuse_attr_out attr = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer_lookup(fd, in, body);
		break;
	case FUSE_GETATTR:
		fill_attr(&attr.attr, in->nodeid);
		answer(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		pause_ms(OPEN_MS);
		answer(fd, in->unique, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		pause_ms(READ_MS);
		answer(fd, in->unique, 0, zeroes, ((const struct fuse_read_in *)body)->size);
		break;
	case FUSE_WRITE:
		pause_ms(WRITE_MS);
		write_out.size = ((const struct fuse_write_in *)body)->size;
		answer(fd, in->unique, 0, &write_out, sizeof(write_out));
		break;
	case FUSE_FSYNC:
		pause_ms(FSYNC_MS);
		answer(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_FLUSH:	/* of close() */
		pause_ms(CLOSE_MS);
		answer(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_RELEASE:
		answer(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(fd, in->unique, -ENOSYS, NULL, 0);
	}
}

static void serve(int fd)
{
	static _Alignas(8) char in[FILE_BYTES + 4096 * 4];

	for (;;) {
		ssize_t n = read(fd, in, sizeof(in));

		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n < (ssize_t)sizeof(struct fuse_in_header))
			_exit(0);	/* unmounted */
		serve_one(fd, (const void *)in, in + sizeof(struct fuse_in_header));
	}
}

/* The process that serves; 0: there is no FUSE here. */
static pid_t mount_slow(void)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	pid_t child;

	if (fd < 0)
		return 0;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mkdir(mount_path, 0700) || mount("offcpu-slow", mount_path, "fuse", MS_NOSUID | MS_NODEV, options)) {
		close(fd);
		return 0;
	}
	child = fork();
	if (child == 0)
		serve(fd);
	close(fd);
	return child;
}

/* -- the operations ------------------------------------------------------ */

/* One operation: what it is called, on what, how long by our clock, at least how long, and what it gave. */
static void tell(const char *op, const char *path, uint64_t start_ns, uint64_t end_ns, long least_ms, long result, int error)
{
	truth_printf("{\"kind\": \"op\", \"op\": \"%s\", \"path\": \"%s\", \"tid\": %d, \"start_ns\": %llu, \"ns\": %llu, \"least_ns\": %llu, "
		     "\"result\": %ld, \"error\": %d}\n", op, path, truth_gettid(), (unsigned long long)start_ns,
		     (unsigned long long)(end_ns - start_ns), (unsigned long long)(least_ms * MS_NS), result, error);
}

#define DO(op, path, least_ms, ret, call) do { \
	uint64_t start_ns = truth_now_ns(), end_ns; \
	errno = 0; \
	(ret) = (call); \
	int error = errno; \
	end_ns = truth_now_ns(); \
	tell(op, path, start_ns, end_ns, least_ms, (long)(ret), (long)(ret) < 0 ? error : 0); \
} while (0)

/* A page of the file that no cache has, read by touching it. */
SITE void fault_site(int fd)
{
	const volatile char *page;
	long ret;

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	page = mmap(NULL, READ_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		truth_die("mmap", errno);
	DO("fault", slow_path, READ_MS, ret, *page);
	munmap((void *)(uintptr_t)page, READ_BYTES);
}

SITE void slow_round(void)
{
	char buffer[READ_BYTES] = { 0 };
	struct stat st;
	long ret;
	int fd;

	DO("openat", slow_path, OPEN_MS, fd, open(slow_path, O_RDWR));
	if (fd < 0)
		truth_die(slow_path, errno);
	DO("read", slow_path, READ_MS, ret, read(fd, buffer, READ_BYTES));
	DO("pwrite", slow_path, WRITE_MS, ret, pwrite(fd, buffer, WRITE_BYTES, 0));
	DO("fsync", slow_path, FSYNC_MS, ret, fsync(fd));
	fault_site(fd);
	DO("close", slow_path, CLOSE_MS, ret, close(fd));
	DO("stat", missing_path, MISSING_MS, ret, stat(missing_path, &st));
}

static void *hold(void *arg)
{
	int *pipe_to = arg, fd = open(lock_path, O_RDWR);

	flock(fd, LOCK_EX);
	if (write(pipe_to[0], "h", 1) != 1)
		truth_die("write", errno);
	pause_ms(LOCK_MS);
	flock(fd, LOCK_UN);
	pause_ms(LOCK_MS);
	if (write(pipe_to[1], "p", 1) != 1)
		truth_die("write", errno);
	close(fd);
	return NULL;
}

/* Another thread holds the lock for a while, and writes to the pipe some time after that. */
SITE void lock_round(void)
{
	int held[2], slow[2], ends[2], fd = open(lock_path, O_RDWR);
	pthread_t thread;
	char byte;
	long ret;

	if (fd < 0 || pipe(held) || pipe(slow))
		truth_die(lock_path, errno);
	ends[0] = held[1];
	ends[1] = slow[1];
	if (pthread_create(&thread, NULL, hold, ends) || read(held[0], &byte, 1) != 1)
		truth_die("pthread_create", errno);
	/* it may have held it for a while already */
	DO("flock", lock_path, LOCK_MS / 2, ret, flock(fd, LOCK_EX));
	ret = read(slow[0], &byte, 1);	/* no file */
	pthread_join(thread, NULL);
	close(fd);
	for (int i = 0; i < 2; i++) {
		close(held[i]);
		close(slow[i]);
	}
}

static void fast_reads(void)
{
	char byte;
	int fd = open(lock_path, O_RDWR);

	for (int i = 0; i < FAST_READS; i++)
		if (pread(fd, &byte, 1, 0) < 0)
			truth_die("pread", errno);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *folder = truth_arg_string(argc, argv, 2);
	uint64_t rounds = truth_arg(argc, argv, 3);
	pid_t server;
	int fd;

	snprintf(lock_path, sizeof(lock_path), "%s/lock", folder);
	snprintf(mount_path, sizeof(mount_path), "%s/slow", folder);
	snprintf(slow_path, sizeof(slow_path), "%s/file", mount_path);
	snprintf(missing_path, sizeof(missing_path), "%s/missing", mount_path);
	fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		truth_die(lock_path, errno);
	close(fd);
	truth_open(truth_arg_string(argc, argv, 1));
	server = mount_slow();
	truth_printf("{\"kind\": \"fuse\", \"is_there\": %s}\n", server ? "true" : "false");
	truth_ready(NULL, 0);
	for (uint64_t i = 0; i < rounds; i++) {
		if (server)
			slow_round();
		lock_round();
	}
	fast_reads();
	if (server) {
		umount2(mount_path, MNT_DETACH);
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
	}
	truth_done();
	return 0;
}
