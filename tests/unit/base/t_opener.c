/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the process that opens gives, and what it refuses to a client that was taken over. */
#include "base/opener/wire.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hurry.h"
#include "base/opener/parser.h"
#include "base/opener/confine.h"

static int server = -1;
static pid_t server_pid;

static void begin_server(void)
{
	const uint64_t none = 0;
	int sockets[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), ==, 0);
	server_pid = fork();
	if (server_pid == 0)
		opener_serve(sockets[1], &none);
	close(sockets[1]);
	server = sockets[0];
}

static void end_server(void)
{
	close(server);
	g_assert_cmpint(waitpid(server_pid, NULL, 0), ==, server_pid);
}

/* As a client could send it: errno, or 0; *ret_fd is its own to close. */
static int ask(uint32_t call, uint32_t flags, const char *path, int fd, int *ret_fd)
{
	struct opener_request request = { .call = call, .flags = flags };
	struct opener_reply reply;
	size_t bytes = strlen(path) + 1;

	memcpy(request.path, path, bytes);
	g_assert_true(parser_send(server, &request, OPENER_REQUEST_BYTES + bytes, fd));
	g_assert_cmpint(parser_receive(server, &reply, sizeof(reply), ret_fd), >=, (long)OPENER_REPLY_BYTES);
	g_assert_true(reply.error ? *ret_fd < 0 : true);
	return reply.error;
}

static int refused(uint32_t call, uint32_t flags, const char *path, int fd)
{
	int got, error = ask(call, flags, path, fd, &got);

	if (got >= 0)
		close(got);
	return error;
}

static char *own(const char *name)
{
	return g_strdup_printf("/proc/%d/%s", (int)getpid(), name);
}

static void opens_only_processes(void)
{
	static const char *const outside[] = { "/etc/passwd", "/proc/sys/kernel/ostype", "/proc/kmsg", "/proc/self/status",
					       "/proc/1/../sys/kernel/ostype", "/proc/1/../../etc/passwd", "/procfs", "", "proc",
					       "/dev/null" };
	g_autofree char *status = own("status"), *root = own("root/etc/passwd"), *exe = own("exe");
	g_autofree char *mtab = own("root/etc/mtab");
	int fd;

	for (size_t i = 0; i < G_N_ELEMENTS(outside); i++) {
		g_assert_cmpint(refused(OPENER_OPEN, 0, outside[i], -1), !=, 0);
		g_assert_cmpint(refused(OPENER_TEXT, 0, outside[i], -1), !=, 0);
	}
	/* links that lead out of there */
	g_assert_cmpint(refused(OPENER_OPEN, 0, root, -1), !=, 0);
	g_assert_cmpint(refused(OPENER_OPEN, 0, exe, -1), !=, 0);
	g_assert_cmpint(refused(OPENER_LINK, 0, "/etc/mtab", -1), !=, 0);
	g_assert_cmpint(refused(OPENER_LINK, 0, "/proc/../etc/mtab", -1), !=, 0);
	g_assert_cmpint(refused(OPENER_LINK, 0, mtab, -1), !=, 0);
	g_assert_cmpint(refused(OPENER_LINK, 0, "/proc/self", -1), ==, 0);
	g_assert_cmpint(refused(OPENER_CGROUP + 100, 0, status, -1), ==, EINVAL);
	g_assert_cmpint(ask(OPENER_OPEN, 0, status, -1, &fd), ==, 0);
	g_assert_cmpint(fd, >=, 0);
	close(fd);
}

static void opens_nothing_to_write(void)
{
	g_autofree char *comm = own("comm"), *path = NULL;
	int file = g_file_open_tmp("opener-XXXXXX", &path, NULL), fd;

	g_assert_cmpint(ask(OPENER_OPEN, O_RDWR | O_TRUNC, comm, -1, &fd), ==, 0);
	g_assert_cmpint(fcntl(fd, F_GETFL) & O_ACCMODE, ==, O_RDONLY);
	close(fd);
	g_assert_cmpint(ask(OPENER_HOLD, O_RDWR | O_CREAT | O_TRUNC, path, -1, &fd), ==, 0);
	g_assert_cmpint(fcntl(fd, F_GETFL) & (O_PATH | O_ACCMODE), ==, O_PATH);
	close(fd);
	unlink(path);
	g_assert_cmpint(refused(OPENER_HOLD, O_CREAT | O_RDWR, path, -1), ==, ENOENT);
	g_assert_cmpint(access(path, F_OK), !=, 0);
	close(file);
}

/* What is held can be opened by the client's own rights, whatever stands around it. */
static void holds_what_cannot_harm(void)
{
	static const struct {
		const char *name, *bytes;
		mode_t mode;
		int error;
	} files[] = {
		{ "closed", "text", 0600, 0 },
		{ "to-read", "text", 0644, 0 },
		{ "to-write", "text", 0666, EPERM },
		{ "program", ELFMAG, 0777, 0 },
	};
	g_autofree char *top = g_dir_make_tmp("opener-XXXXXX", NULL), *fifo = g_build_filename(top, "fifo", NULL),
			*link = g_build_filename(top, "link", NULL), *root = own("root");

	chmod(top, 0755);
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(top, files[i].name, NULL);

		g_assert_true(g_file_set_contents(path, files[i].bytes, -1, NULL));
		chmod(path, files[i].mode);
		g_assert_cmpint(refused(OPENER_HOLD, 0, path, -1), ==, files[i].error);
		unlink(path);
	}
	g_assert_cmpint(mkfifo(fifo, 0666), ==, 0);
	g_assert_cmpint(symlink("fifo", link), ==, 0);
	g_assert_cmpint(refused(OPENER_HOLD, 0, fifo, -1), ==, EPERM);
	g_assert_cmpint(refused(OPENER_HOLD, 0, link, -1), ==, EPERM);
	g_assert_cmpint(refused(OPENER_HOLD, O_NOFOLLOW, link, -1), ==, 0);
	g_assert_cmpint(refused(OPENER_HOLD, 0, "/dev/null", -1), ==, EPERM);
	g_assert_cmpint(refused(OPENER_HOLD, O_DIRECTORY, "/", -1), ==, EPERM);
	g_assert_cmpint(refused(OPENER_HOLD, O_DIRECTORY, root, -1), !=, 0);
	g_assert_cmpint(refused(OPENER_STAT, 0, fifo, -1), ==, 0);
	unlink(link);
	unlink(fifo);
	rmdir(top);
}

/* What a file that begins with these bytes, or is called so, is answered with. */
static int reading(const char *name, const char *bytes, size_t cnt)
{
	g_autofree char *top = g_dir_make_tmp("opener-XXXXXX", NULL), *path = g_build_filename(top, name, NULL),
			*folder = g_path_get_dirname(path);
	int held, error;

	g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
	g_assert_true(g_file_set_contents(path, bytes, (gssize)cnt, NULL));
	chmod(top, 0755);
	chmod(path, 0644);
	held = open(path, O_PATH | O_CLOEXEC);
	error = refused(OPENER_READ_HELD, 0, "", held);
	close(held);
	unlink(path);
	for (; strlen(folder) >= strlen(top); folder[strrchr(folder, '/') - folder] = '\0')
		rmdir(folder);
	return error;
}

static void reads_what_tells_names(void)
{
	const Elf64_Ehdr core = { .e_ident = ELFMAG, .e_type = ET_CORE };
	g_autofree char *environ_path = own("environ");
	int held = open(environ_path, O_PATH | O_CLOEXEC), folder = open("/", O_PATH | O_CLOEXEC);

	g_assert_cmpint(reading("program", ELFMAG "rest", SELFMAG + 4), ==, 0);
	g_assert_cmpint(reading("jit-7.dump", "JiTDrest", 8), ==, 0);
	g_assert_cmpint(reading("perf-77.map", "1000 10 f\n", 10), ==, 0);
	g_assert_cmpint(reading("docker/containers/77/config.v2.json", "{}", 2), ==, 0);
	g_assert_cmpint(reading("config.json", "{\n\t\"ociVersion\": \"1.1.0\"}", 24), ==, 0);
	g_assert_cmpint(reading("config.json", "{}", 2), ==, EPERM);
	g_assert_cmpint(reading("storage/overlay-containers/config.json", "{}", 2), ==, EPERM);
	g_assert_cmpint(reading(".docker/config.json", "{}", 2), ==, EPERM);
	g_assert_cmpint(reading("core", (const char *)&core, sizeof(core)), ==, EPERM);
	g_assert_cmpint(reading("id_ed25519", "-----BEGIN", 10), ==, EPERM);
	g_assert_cmpint(reading("perf-.map", "1000 10 f\n", 10), ==, EPERM);
	g_assert_cmpint(reading("perf-77.map.key", "1000 10 f\n", 10), ==, EPERM);
	g_assert_cmpint(reading("short", "\x7f", 1), ==, EPERM);
	g_assert_cmpint(refused(OPENER_READ_HELD, 0, "", held), ==, EPERM);
	g_assert_cmpint(refused(OPENER_READ_HELD, 0, "", folder), ==, EPERM);
	g_assert_cmpint(refused(OPENER_READ_HELD, 0, "", -1), ==, EPERM);
	g_assert_cmpint(refused(OPENER_LIST, 0, "", folder), ==, EPERM);
	close(held);
	close(folder);
}

/* Whoever has a mount namespace can give any file that he may not read a name there. */
static void name_of_a_mount(void)
{
	g_autofree char *top = g_dir_make_tmp("opener-XXXXXX", NULL), *secret = g_build_filename(top, "secret", NULL),
			*name = g_build_filename(top, "release", NULL);
	int held;

	g_assert_true(g_file_set_contents(secret, "key", -1, NULL) && g_file_set_contents(name, "", -1, NULL));
	chmod(secret, 0644);
	chmod(name, 0644);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(secret, name, NULL, MS_BIND, NULL)) {
		g_test_skip("no right to mount");
	} else {
		held = open(name, O_PATH | O_CLOEXEC);
		g_assert_cmpint(refused(OPENER_READ_HELD, 0, "", held), ==, EPERM);
		close(held);
		g_assert_cmpint(umount2(name, MNT_DETACH), ==, 0);
		held = open(name, O_PATH | O_CLOEXEC);
		g_assert_cmpint(refused(OPENER_READ_HELD, 0, "", held), ==, 0);
		close(held);
	}
	unlink(name);
	unlink(secret);
	rmdir(top);
}

/* ---- what the agent calls */

struct found {
	ino_t pipe;
	unsigned names, pipes;
	uint32_t modes;
};

static bool find(const struct opener_entry *e, void *data)
{
	struct found *f = data;
	g_autofree char *wanted = g_strdup_printf("pipe:[%lu]", (unsigned long)f->pipe);

	f->names++;
	if (strcmp(e->link, wanted) == 0) {
		f->pipes++;
		f->modes |= e->mode & (S_IRUSR | S_IWUSR);
	}
	return true;
}

/* As many that one answer does not hold them all. */
static void check_calls(void)
{
	g_autofree char *fds = own("fd"), *comm = own("comm"), *exe = own("exe"), *mem = own("mem"), *root = own("root"),
			*text = NULL, *link = NULL, *ours = g_file_read_link("/proc/self/exe", NULL);
	int pipes[2], more[500], fd;
	uint64_t there = 0x1234567890abcdef, seen = 0;
	struct found f = { 0 };
	struct stat st;
	size_t len;

	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	g_assert_cmpint(fstat(pipes[0], &st), ==, 0);
	f.pipe = st.st_ino;
	for (size_t i = 0; i < G_N_ELEMENTS(more); i++)
		more[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	g_assert_true(opener_list(fds, true, find, &f));
	g_assert_cmpuint(f.names, >=, G_N_ELEMENTS(more) + 2);
	g_assert_cmpuint(f.pipes, ==, 2);
	g_assert_cmpuint(f.modes, ==, S_IRUSR | S_IWUSR);
	text = opener_text(comm, 100, &len);
	g_assert_cmpuint(len, ==, strlen(text));
	g_assert_true(g_str_has_suffix(text, "\n"));
	link = opener_link(exe);
	g_assert_cmpstr(link, ==, ours);
	g_assert_true(opener_stat(exe, &st) && S_ISREG(st.st_mode));
	fd = opener_open(mem, 0);
	g_assert_cmpint(pread(fd, &seen, sizeof(seen), (off_t)(uintptr_t)&there), ==, sizeof(seen));
	g_assert_cmpuint(seen, ==, there);
	close(fd);
	g_assert_false(opener_stat("/proc/0/comm", &st));
	g_assert_cmpint(errno, ==, ENOENT);
	fd = opener_hold(root, "/proc/self/../version", 0, RESOLVE_IN_ROOT);
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_assert_cmpint(opener_hold(root, "/no/such", 0, 0), ==, -1);
	g_assert_cmpint(errno, ==, ENOENT);
	g_assert_cmpint(opener_hold("/proc/0/root", "/no/such", 0, 0), ==, -1);
	g_assert_cmpint(errno, ==, ESRCH);
	for (size_t i = 0; i < G_N_ELEMENTS(more); i++)
		close(more[i]);
	close(pipes[0]);
	close(pipes[1]);
}

/* Memory that is there, that nobody wrote to, and that is not mapped. */
static void check_memory(void)
{
	uint64_t there = 0x1234567890abcdef, seen = 0, zero = 1, none = 2;
	void *fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct opener_piece pieces[] = {
		{ (uintptr_t)&there, &seen, sizeof(seen) },
		{ (uintptr_t)fresh, &zero, sizeof(zero) },
		{ 8, &none, sizeof(none) },
	};
	bool is_read[G_N_ELEMENTS(pieces)];

	g_assert_true(opener_memory((uint32_t)getpid(), pieces, G_N_ELEMENTS(pieces), is_read));
	g_assert_true(is_read[0] && is_read[1] && !is_read[2]);
	g_assert_cmpuint(seen, ==, there);
	g_assert_cmpuint(zero, ==, 0);
	g_assert_cmpuint(none, ==, 2);
	munmap(fresh, 4096);
}

/* One that is stopped does not answer: what was asked is skipped and told, all else another one answers. */
static void check_stopped(void)
{
	g_autofree char *maps = own("maps"), *news = NULL;
	const struct opener_counts before = opener_counts();
	size_t len;

	kill(opener_pid(), SIGSTOP);
	g_assert_null(opener_text(maps, 100, &len));
	g_assert_cmpint(errno, ==, ETIMEDOUT);
	news = opener_news();
	g_assert_nonnull(strstr(news, "did not answer"));
	g_assert_null(opener_news());
	g_assert_null(opener_text(maps, 100, &len));	/* at once */
	g_assert_cmpuint(opener_counts().replaced, ==, before.replaced + 1);
	g_assert_cmpuint(opener_counts().skipped, ==, before.skipped + 2);
	g_autofree char *others = g_strdup_printf("/proc/%d/maps", (int)getppid()), *text = opener_text(others, 100, &len);

	g_assert_true(text || errno != ETIMEDOUT);
	kill(opener_pid(), SIGKILL);
	g_clear_pointer(&text, g_free);
	text = opener_text(others, 100, &len);
	g_assert_true(text || errno != ETIMEDOUT);
	g_assert_cmpuint(opener_counts().replaced, ==, before.replaced + 2);
}

static void leaves_behind(void)
{
	opener_begin();
	if (!opener_is_there()) {
		g_test_skip("no process can be had");
		return;
	}
	g_assert_false(opener_is_apart());
	check_calls();
	check_memory();
	check_stopped();
	opener_stop();
}

/* Asked for by a signal that is held back: nothing takes long any more once that was a while ago. */
static void leaves_out_at_the_end(void)
{
	const struct timespec now = { 0 };
	sigset_t held, before;
	size_t len;

	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &held, &before);
	opener_begin();
	g_assert_false(hurry_is_asked());
	kill(getpid(), SIGHUP);
	g_assert_true(hurry_is_asked());
	hurry_not_by_hangup();
	g_assert_false(hurry_is_asked() || hurry_is_over());
	kill(getpid(), SIGTERM);
	g_assert_true(hurry_is_asked());
	g_assert_false(hurry_is_over());
	g_usleep(HURRY_MS * 1000);
	g_assert_true(hurry_is_over());
	uint64_t left_out = hurry_left_out();
	g_autofree char *maps = own("maps"), *none = opener_is_there() ? opener_text(maps, 100, &len) : NULL;

	g_assert_null(none);
	g_assert_cmpuint(hurry_left_out(), ==, left_out + opener_is_there());
	while (sigtimedwait(&held, NULL, &now) > 0)
		;
	g_assert_false(hurry_is_asked() || hurry_is_over());
	g_autofree char *text = opener_text(maps, 100, &len);

	g_assert_nonnull(text);
	opener_stop();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void calls_alike(void)
{
	g_autoptr(GError) error = NULL;

	check_calls();
	if (!opener_start(privileges_to_open(false), &error)) {
		g_test_skip(error->message);	/* root without the rights to see us as another user */
		return;
	}
	g_assert_true(opener_is_apart());
	check_calls();
	opener_stop();
	g_assert_false(opener_is_apart());
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	begin_server();
	g_test_add_func("/opener/only-processes", opens_only_processes);
	g_test_add_func("/opener/nothing-to-write", opens_nothing_to_write);
	g_test_add_func("/opener/what-cannot-harm", holds_what_cannot_harm);
	g_test_add_func("/opener/what-tells-names", reads_what_tells_names);
	g_test_add_func("/opener/name-of-a-mount", name_of_a_mount);
	g_test_add_func("/opener/calls-alike", calls_alike);
	g_test_add_func("/opener/leaves-behind", leaves_behind);
	g_test_add_func("/opener/leaves-out-at-the-end", leaves_out_at_the_end);
	int status = g_test_run();

	end_server();
	return status;
}
