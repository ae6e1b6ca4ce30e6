/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Sessions of PostgreSQL by the titles of their processes, which are played by `sleep` under that name. */
#include "fold/targets/part.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../fixture.h"
#include "profile/limits.h"

#define LOOKS 5

static char *folder;

/* A copy of sleep(1) under that name, with the title as its first argument, and one descriptor; -1: none. */
static pid_t play(const char *name, const char *title, int fd)
{
	g_autofree char *path = g_build_filename(folder, name, NULL), *text = NULL;
	gsize bytes;

	g_assert_true(g_file_get_contents("/bin/sleep", &text, &bytes, NULL));
	if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
		g_assert_true(g_file_set_contents(path, text, (gssize)bytes, NULL));
		g_assert_cmpint(g_chmod(path, 0700), ==, 0);
	}
	pid_t pid = fork();

	if (!pid) {
		if (fd >= 0)
			dup2(fd, 9);
		for (int i = 3; i < 64; i++)
			if (i != 9 || fd < 0)
				close(i);
		execl(path, title, "60", NULL);
		_exit(1);
	}
	return pid;
}

/* Its title is there once it has executed. */
static void await_title(pid_t pid, const char *title)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", pid);
	g_autofree char *text = NULL;

	for (unsigned left = 500; left; left--) {
		g_free(text);
		g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
		if (strcmp(text, title) == 0)
			return;
		g_usleep(10000);
	}
	g_assert_cmpstr(text, ==, title);
}

static const char *text_of(const struct profile *p, enum profile_limit_kind kind, pid_t pid, pid_t tid)
{
	const struct profile_limit *l = profile_find_limit(p, kind, (uint32_t)pid, (uint32_t)tid);

	return l ? l->text : NULL;
}

/* On a busy machine the next look may not be due yet. */
static void look_at(struct backends *b)
{
	for (unsigned looks = 0; looks < LOOKS; g_usleep(100))
		looks += backends_look(b);
}

/* holder: the title of the session that importer has; NULL: nobody has one. */
static void check(const char *holder, unsigned held)
{
	static const char *const titles[] = { "postgres: app shop [local] UPDATE waiting", "postgres: app shop [local] SELECT" };
	struct profile *p = profile_new();
	struct backends *b = backends_new("/proc");
	struct net_tables *nets = net_tables_new("/proc");
	const struct client_search search = { "/proc", nets, net_homes_new("/proc", nets), fd_owners_new("/proc") };
	int ends[2];

	folder = g_dir_make_tmp("backends-XXXXXX", NULL);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
	const pid_t pids[] = { play("postgres", titles[0], -1), play("postgres", titles[1], -1),
			       play("postgres", holder, ends[0]), play("importer", "importer", ends[1]) };

	close(ends[0]);
	close(ends[1]);
	await_title(pids[0], titles[0]);
	await_title(pids[1], titles[1]);
	await_title(pids[2], holder);
	await_title(pids[3], "importer");
	backends_note(b, (uint32_t)pids[0]);
	backends_note(b, (uint32_t)pids[3]);	/* no session */
	look_at(b);
	backends_put(b, p, &search);
	g_autofree char *expected = g_strdup_printf("%u of %u looks, %u of these %d %s", LOOKS, LOOKS, held, held ? pids[3] : 0,
						    held ? "importer" : "");

	g_assert_cmpstr(text_of(p, LIMIT_BLOCKED, pids[0], getpid()), ==, expected);
	g_assert_null(text_of(p, LIMIT_BLOCKED, pids[1], getpid()));
	g_assert_cmpstr(text_of(p, LIMIT_STATEMENTS, getpid(), 0), ==, held ? "5 seen, 0 ran, 0 at a disk, 0 flush" : "10 seen, 0 ran, 0 at a disk, 0 flush");
	backends_put(b, p, &search);	/* a new window has nothing of the last one */
	g_assert_cmpuint(p->limits->len, ==, 2);
	for (unsigned i = 0; i < G_N_ELEMENTS(pids); i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	g_autofree char *command = g_strdup_printf("rm -r '%s'", folder);

	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
	g_free(folder);
	fd_owners_free(search.owners);
	net_homes_free(search.homes);
	net_tables_free(nets);
	backends_free(b);
	profile_free(p);
}

static void test_blocked(void)
{
	check("postgres: app shop [local] idle in transaction", LOOKS);
	check("postgres: app shop [local] idle in transaction (aborted)", LOOKS);
	check("postgres: app shop [local] INSERT", 0);
}

static void write_file(const char *pid, const char *name, const char *text)
{
	g_autofree char *dir = g_build_filename(folder, pid, "task", pid, NULL), *path = g_build_filename(folder, pid, name, NULL);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void play_session(const char *pid, const char *title, const char *state, long call)
{
	g_autofree char *stat = g_strdup_printf("%s (postgres) %s 40 40 40", pid, state);
	g_autofree char *blocked = call < 0 ? g_strdup("running\n") : g_strdup_printf("%ld 0x5 0x0 0x0\n", call);

	write_file(pid, "comm", "postgres\n");
	write_file(pid, "status", "Name:\tpostgres\nPPid:\t40\n");
	write_file(pid, "cmdline", title);
	write_file(pid, "stat", stat);
	write_file(pid, "syscall", blocked);
}

/* One flushes for all that wait for it; without it a session that sleeps, or reads, is none of these. */
static void test_flushes(void)
{
	static const struct { long call; const char *text; } cases[] = {
		{ SYS_fdatasync, "15 seen, 5 ran, 0 at a disk, 10 flush" },
		{ SYS_fsync, "15 seen, 5 ran, 0 at a disk, 10 flush" },
		{ SYS_pread64, "15 seen, 5 ran, 5 at a disk, 0 flush" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		folder = g_dir_make_tmp("backends-XXXXXX", NULL);
		play_session("41", "postgres: app shop [local] COMMIT", "D", cases[i].call);
		play_session("42", "postgres: app shop [local] COMMIT", "S", SYS_futex);
		play_session("43", "postgres: app shop [local] SELECT", "R", -1);
		play_session("44", "postgres: app shop [local] idle", "S", SYS_epoll_pwait);
		play_session("45", "postgres: walwriter ", "D", SYS_fdatasync);
		write_file("40", "task/40/children", "41 42 43 44 45 ");
		struct profile *p = profile_new();
		struct backends *b = backends_new(folder);
		const struct client_search search = { 0 };	/* of those that wait for locks */
		g_autofree char *command = g_strdup_printf("rm -r '%s'", folder);

		backends_note(b, 41);
		look_at(b);
		backends_put(b, p, &search);
		g_assert_cmpstr(text_of(p, LIMIT_STATEMENTS, 40, 0), ==, cases[i].text);
		g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
		g_free(folder);
		backends_free(b);
		profile_free(p);
	}
}

/* Of a server with threads: whether any runs, or waits for a disk.  One that nobody waits for counts if it is alone. */
static void test_threads(void)
{
	static const struct { const char *first, *second; bool has_other; const char *text; } cases[] = {
		{ "S", "S", false, "5 looks, 0 ran, 0 at a disk" },
		{ "S", "D", false, "5 looks, 0 ran, 5 at a disk" },
		{ "D", "R", false, "5 looks, 5 ran, 0 at a disk" },
		{ "S", "S", true, NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		folder = g_dir_make_tmp("backends-XXXXXX", NULL);
		g_autofree char *first = g_strdup_printf("60 (mariadbd) %s 1", cases[i].first);
		g_autofree char *second = g_strdup_printf("61 (one) thread) %s 1", cases[i].second);
		g_autofree char *command = g_strdup_printf("rm -r '%s'", folder), *task = g_build_filename(folder, "60", "task", "61", NULL);

		g_assert_cmpint(g_mkdir_with_parents(task, 0700), ==, 0);
		write_file("60", "task/60/stat", first);
		write_file("60", "task/61/stat", second);
		write_file("70", "task/70/stat", first);
		write_file("70", "comm", "mysqld\n");
		struct profile *p = profile_new();
		struct backends *b = backends_new(folder);
		const struct client_search search = { 0 };

		backends_note_named(b, 60, "mariadbd");
		backends_note_named(b, 61, "mariadb");
		if (cases[i].has_other)
			backends_note(b, 70);
		look_at(b);
		backends_put(b, p, &search);
		g_assert_cmpstr(text_of(p, LIMIT_THREADS_DO, 60, 0), ==, cases[i].text);
		g_assert_cmpint(text_of(p, LIMIT_THREADS_DO, 70, 0) != NULL, ==, cases[i].has_other);
		g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
		g_free(folder);
		backends_free(b);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/backends/blocked", test_blocked);
	g_test_add_func("/backends/flushes", test_flushes);
	g_test_add_func("/backends/threads", test_threads);
	return g_test_run();
}
