/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A confined process tries what a fault in it would be used for. */
#include "base/opener/confine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct attempt {
	const char *what;
	bool (*succeeds)(const char *folder);
	bool server, client, parser;	/* may it? */
};

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool read_inside(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, "file", NULL);

	return opens(path, O_RDONLY);
}

static bool write_inside(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, "file", NULL);

	return opens(path, O_WRONLY);
}

static bool make_inside(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, "new", NULL);

	return opens(path, O_RDWR | O_CREAT);
}

static bool remove_inside(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, "file", NULL);

	return unlink(path) == 0;
}

static bool read_outside(const char *folder)
{
	return opens("/etc/passwd", O_RDONLY);
}

static bool run(const char *folder)
{
	char *argv[] = { (char *)(uintptr_t)"true", NULL };

	return execv("/bin/true", argv) == 0 || errno != EPERM;
}

static bool connects(const char *folder)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool forks(const char *folder)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid >= 0;
}

static bool signals(const char *folder)
{
	return kill(getppid(), 0) == 0;
}

static bool traces(const char *folder)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool makes_code(const char *folder)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static gpointer nothing(gpointer data)
{
	return data;
}

static bool makes_thread(const char *folder)
{
	GThread *t = g_thread_try_new("one", nothing, GINT_TO_POINTER(1), NULL);

	return t && g_thread_join(t);
}

static bool has_memory(const char *folder)
{
	void *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return m != MAP_FAILED && memset(m, 1, 1 << 20) == m;
}

static const struct attempt attempts[] = {
	{ "read a file of the folder", read_inside, true, true, false },
	{ "have memory", has_memory, true, true, true },
	{ "make a thread", makes_thread, true, true, true },
	{ "write a file of the folder", write_inside, false, false, false },
	{ "make a file", make_inside, false, false, false },
	{ "remove a file", remove_inside, false, false, false },
	{ "read a file elsewhere", read_outside, false, true, false },
	{ "run a program", run, false, false, false },
	{ "make a socket", connects, false, true, false },
	{ "fork", forks, false, false, false },
	{ "signal another process", signals, false, false, false },
	{ "be traced", traces, false, false, false },
	{ "make memory that can be run", makes_code, false, false, false },
};

/* The child's status: 0, or the number of the first attempt that went the other way, from 1 on; 100: not confined, 101: has rights left. */
static int attempt_all(const char *folder, enum confine_calls calls, bool has_folder)
{
	struct confine c = { .calls = calls, .folder = has_folder ? folder : NULL };
	g_autoptr(GError) error = NULL;

	if (!confine(&c, &error))
		return 100;
	if (geteuid() == 0 || (privileges_now() && !c.reads_by_capability))
		return 101;
	for (size_t i = 0; i < G_N_ELEMENTS(attempts); i++) {
		bool may = calls == CONFINE_SERVER   ? attempts[i].server
			   : calls == CONFINE_CLIENT ? attempts[i].client
						     : attempts[i].parser;
		bool is_outside = calls != CONFINE_CLIENT && (attempts[i].succeeds == read_outside || (attempts[i].succeeds == read_inside && !has_folder));

		if (is_outside && calls == CONFINE_SERVER && !c.has_landlock)
			continue;
		may = may && !is_outside;
		if (attempts[i].succeeds(folder) != may)
			return (int)i + 1;
	}
	return 0;
}

/* mode: of the folder, which other users' processes may then read or not. */
static void check(enum confine_calls calls, int mode, bool has_folder)
{
	g_autofree char *folder = g_dir_make_tmp("confine-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "file", NULL);
	int status;

	g_assert_true(g_file_set_contents(path, "x", 1, NULL));
	g_assert_cmpint(g_chmod(folder, mode), ==, 0);
	g_assert_cmpint(g_chmod(path, mode & 0666), ==, 0);
	pid_t pid = fork();

	g_assert_cmpint(pid, >=, 0);
	if (pid == 0)
		_exit(attempt_all(folder, calls, has_folder));
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_true(WIFEXITED(status));
	int at = WEXITSTATUS(status);

	if (at > 0 && at <= (int)G_N_ELEMENTS(attempts))
		g_test_message("it went the other way: %s", attempts[at - 1].what);
	g_assert_cmpint(at, ==, 0);
	g_unlink(path);
	g_rmdir(folder);
}

static void server_open(void)
{
	check(CONFINE_SERVER, 0755, true);
}

static void server_group(void)
{
	check(CONFINE_SERVER, 0750, true);
}

static void server_closed(void)
{
	check(CONFINE_SERVER, 0700, true);
}

/* Who shows one recording has it in memory. */
static void server_of_no_folder(void)
{
	check(CONFINE_SERVER, 0755, false);
}

static void client(void)
{
	check(CONFINE_CLIENT, 0755, false);
}

static void parser(void)
{
	check(CONFINE_PARSER, 0755, false);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/confine/server", server_open);
	g_test_add_func("/confine/server-of-a-group", server_group);
	g_test_add_func("/confine/server-of-a-closed-folder", server_closed);
	g_test_add_func("/confine/server-of-no-folder", server_of_no_folder);
	g_test_add_func("/confine/client", client);
	g_test_add_func("/confine/parser", parser);
	return g_test_run();
}
