/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * never_answers OUT FOLDER HOW: a process whose memory lies in a file that its own file system (FUSE) never gives.  HOW:
 *   arguments  its arguments and its environment
 *   text       the code it runs, of a file whose file system has answered up to now
 *   overlay    the same through an overlayfs in a mount namespace of its own
 *   stack      where another of its threads sleeps
 *   perf_map   the list of functions compiled at run time, one of which calls what sleeps
 *   debug      its own separate debug information: FOLDER/.debug, beside a copy of it
 *   lock       from SIGUSR1 on: it reads its own memory, and waits with the lock of that
 *   exec       nothing of it, but it stays between two programs: what shares its memory waits with the lock of that
 *   serve      the file system alone, for a process that maps its file where it likes
 * Then it sleeps by turns until its stdin ends.  Without FUSE it says so, and only sleeps.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_ID 2
#define PAGE 4096UL
#define FILE_BYTES (64 * PAGE)
#define PADDING (8 * PAGE)	/* of the environment, so that some pages have nothing else */

static char mount_path[500];

/* -- the file system: it tells of one file, and answers no read while `is_silent` -- */

static volatile sig_atomic_t *is_silent;
static volatile sig_atomic_t *is_direct;	/* what is opened then is mapped once all that was written is with us */

static void fill_attr(struct fuse_attr *a, uint64_t id)
{
	memset(a, 0, sizeof(*a));
	a->ino = id;
	a->mode = id == FILE_ID ? S_IFREG | 0755 : S_IFDIR | 0755;
	a->nlink = 1;
	a->size = id == FILE_ID ? FILE_BYTES : 0;
	a->blksize = PAGE;
}

static void answer(int fd, uint64_t unique, int error, const void *body, size_t bytes)
{
	static char out[sizeof(struct fuse_out_header) + FILE_BYTES];
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + bytes), .error = error, .unique = unique };

	memcpy(out, &head, sizeof(head));
	if (bytes)
		memcpy(out + sizeof(head), body, bytes);
	if (write(fd, out, head.len) < 0 && errno != ENOENT)
		_exit(1);
}

/* "ret", so that all of the file can be run. */
static void answer_read(int fd, const struct fuse_in_header *in, const struct fuse_read_in *read_in)
{
	static unsigned char code[FILE_BYTES];

	memset(code, 0xc3, sizeof(code));
	if (!*is_silent)
		answer(fd, in->unique, 0, code, read_in->size);
}

static void serve_one(int fd, const struct fuse_in_header *in, const char *body)
{
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 65536, .max_background = 16 };
	const struct fuse_open_out open_out = { .fh = 1, .open_flags = *is_direct ? FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE : 0 };
	struct fuse_entry_out e = { .nodeid = FILE_ID, .entry_valid = 3600, .attr_valid = 3600 };
	struct fuse_attr_out attr = { .attr_valid = 3600 };
	const struct fuse_statfs_out statfs_out = { .st = { .bsize = PAGE, .namelen = 255, .frsize = PAGE } };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fill_attr(&e.attr, FILE_ID);
		answer(fd, in->unique, strcmp(body, "file") ? -ENOENT : 0, &e, strcmp(body, "file") ? 0 : sizeof(e));
		break;
	case FUSE_GETATTR:
		fill_attr(&attr.attr, in->nodeid);
		answer(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(fd, in->unique, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		answer_read(fd, in, (const void *)body);
		break;
	case FUSE_STATFS:	/* overlayfs asks */
		answer(fd, in->unique, 0, &statfs_out, sizeof(statfs_out));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_WRITE:	/* never */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(fd, in->unique, -ENOSYS, NULL, 0);
	}
}

/* Until whoever mounted it has ended: nothing of ours may sleep for ever. */
static void serve(int fd)
{
	static _Alignas(8) char in[FILE_BYTES + 4 * PAGE];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		ssize_t n = read(fd, in, sizeof(in));

		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n < (ssize_t)sizeof(struct fuse_in_header))
			_exit(0);
		serve_one(fd, (const void *)in, in + sizeof(struct fuse_in_header));
	}
}

/* The process that serves; 0: there is no FUSE here. */
static pid_t mount_silent(void)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	pid_t child;

	if (fd < 0)
		return 0;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (mkdir(mount_path, 0755) || mount("offcpu-silent", mount_path, "fuse", MS_NOSUID | MS_NODEV, options)) {
		close(fd);
		return 0;
	}
	child = fork();
	if (child == 0)
		serve(fd);
	close(fd);
	return child;
}

/* -- the memory -- */

static uintptr_t page_of(const char *text)
{
	return (uintptr_t)text & ~(PAGE - 1);
}

/* Pages that hold nothing but arguments, the environment and the program's path. */
static void map_over_strings(int fd, char **argv)
{
	uintptr_t from = page_of(argv[0]) + PAGE, until = page_of((const char *)getauxval(AT_EXECFN)) + PAGE;

	if (from >= until || mmap((void *)from, until - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		truth_die("mmap", errno);
}

/* A thread that sleeps this deep in its stack, of which the pages around are exchanged meanwhile. */
#define STACK_BYTES (1 << 20)
#define DEPTH (FILE_BYTES / 2)

static void *sleep_deep(void *arg)
{
	char room[DEPTH];

	__asm__ volatile("" ::"r"(room) : "memory");
	for (;;)
		nanosleep(&(const struct timespec){ .tv_sec = 3600 }, NULL);
	return arg;
}

static void map_over_stack(int fd)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK_BYTES);
	if (pthread_create(&thread, &attr, sleep_deep, NULL))
		truth_die("pthread_create", errno);
	usleep(200 * 1000);
	if (mmap(stack + STACK_BYTES - FILE_BYTES, FILE_BYTES - 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		 fd, 0) == MAP_FAILED)
		truth_die("mmap", errno);
}

/* The file by way of an overlay, which any user may make in namespaces of his own. */
static int open_by_overlay(const char *folder)
{
	char merged[600], options[1200], path[700];

	snprintf(merged, sizeof(merged), "%s/merged", folder);
	snprintf(path, sizeof(path), "%s/file", merged);
	snprintf(options, sizeof(options), "lowerdir=%s:%s", mount_path, folder);
	if (mkdir(merged, 0755) || mount("overlay", merged, "overlay", 0, options))
		truth_die("mount an overlay", errno);
	return open(path, O_RDONLY | O_CLOEXEC);
}

typedef void (*code_fn)(void);
typedef void (*call_fn)(void (*)(void));

static char perf_map_path[64];

/* A list that never comes, and code that it would name: "call its argument". */
static call_fn compile(void)
{
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[600];

	snprintf(path, sizeof(path), "%s/file", mount_path);
	snprintf(perf_map_path, sizeof(perf_map_path), "/tmp/perf-%d.map", (int)getpid());
	close(open(perf_map_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	if (at == MAP_FAILED || mount(path, perf_map_path, NULL, MS_BIND, NULL))
		truth_die("a perf map", errno);
	memcpy(at, code, sizeof(code));
	return (call_fn)(uintptr_t)at;
}

static void drop_perf_map(void)
{
	if (!perf_map_path[0])
		return;
	umount2(perf_map_path, MNT_DETACH);
	unlink(perf_map_path);
}

/* Maps what waits for a page to be written, with the memory's lock. */
static int hold_lock(void *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	_exit(0);
}

/* The next program may not begin before the lock is free. */
static void begin_exec(char *path)
{
	static _Alignas(16) char stack[16 * PAGE];
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		truth_die("mmap", errno);
	page[0] = 1;
	*is_direct = 1;
	if (clone(hold_lock, stack + sizeof(stack), CLONE_VM | SIGCHLD, path) < 0)
		truth_die("clone", errno);
	usleep(300 * 1000);
	execl("/bin/true", "true", NULL);
	truth_die("exec", errno);
}

static volatile sig_atomic_t is_asked_to_hold;

static void ask_to_hold(int signal)
{
	is_asked_to_hold = signal;
}

static void *read_own(void *page)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char byte;

	return pread(fd, &byte, 1, (off_t)(uintptr_t)page) < 0 ? NULL : page;
}

static void hold_by_reading(int fd)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	pthread_t thread;

	if (page == MAP_FAILED || pthread_create(&thread, NULL, read_own, page))
		truth_die("a thread that reads", errno);
}

SITE void sleep_site(void)
{
	const struct timespec t = { .tv_nsec = 20 * 1000 * 1000 };

	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	static char path[600];
	const char *folder = truth_arg_string(argc, argv, 2), *how = truth_arg_string(argc, argv, 3);
	struct pollfd end = { .fd = STDIN_FILENO, .events = POLLIN };
	const volatile char *code = NULL;
	call_fn calls = NULL;
	pid_t server;
	int fd = -1;

	if (!getenv("PADDING")) {
		char *padding = calloc(1, PADDING);

		memset(padding, 'x', PADDING - 1);
		setenv("PADDING", padding, 1);
		execv("/proc/self/exe", argv);
	}
	prctl(PR_SET_NAME, "never_answers");
	is_silent = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	is_direct = is_silent + 1;
	snprintf(mount_path, sizeof(mount_path), "%s/%s", folder, strcmp(how, "debug") ? "silent" : ".debug");
	snprintf(path, sizeof(path), "%s/file", mount_path);
	bool is_overlay = strcmp(how, "overlay") == 0, is_text = is_overlay || strcmp(how, "text") == 0,
	     is_exec = strcmp(how, "exec") == 0;

	truth_open(truth_arg_string(argc, argv, 1));
	*is_silent = !is_text && !is_exec;
	if (is_overlay && (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)))
		truth_die("unshare", errno);
	server = mount_silent();
	truth_printf("{\"kind\": \"fuse\", \"is_there\": %s, \"server\": %d}\n", server ? "true" : "false", (int)server);
	if (server)
		fd = is_overlay ? open_by_overlay(folder) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && is_text) {
		code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		((code_fn)(uintptr_t)code)();
	}
	signal(SIGUSR1, ask_to_hold);
	truth_ready(NULL, 0);
	if (fd >= 0 && is_exec)
		begin_exec(path);
	*is_silent = 1;
	if (fd >= 0 && strcmp(how, "stack") == 0)
		map_over_stack(fd);
	else if (fd >= 0 && strcmp(how, "arguments") == 0)
		map_over_strings(fd, argv);
	else if (fd >= 0 && strcmp(how, "perf_map") == 0)
		calls = compile();
	while (poll(&end, 1, 0) == 0) {
		if (calls)
			calls(sleep_site);
		else
			sleep_site();
		if (is_asked_to_hold && fd >= 0 && strcmp(how, "lock") == 0)
			hold_by_reading(fd);
		is_asked_to_hold = 0;
	}
	drop_perf_map();
	/* its memory ends with its file system, and whoever waits for that goes on */
	if (server)
		kill(server, SIGKILL);
	umount2(mount_path, MNT_FORCE | MNT_DETACH);
	_exit(0);
}
