/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who has file locks, and SQLite's, at looks into a /proc made by hand. */
#include "fold/limits/limits.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../fixture.h"

#define S UINT64_C(1000000000)
/* no machine has these processes: names of scripts are read in the real /proc */
#define APP 4194201
#define HOLDER 4194202
#define CHILD 4194203
#define FLOCK "__do_sys_flock@[kernel] locks_lock_inode_wait@[kernel]"
#define SLEEP "__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel]"

static char *folder;

static char *path_in(uint32_t pid, const char *name)
{
	g_autofree char *id = g_strdup_printf("%u", pid);
	char *path = pid ? g_build_filename(folder, id, name, NULL) : g_build_filename(folder, name, NULL);
	g_autofree char *dir = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	return path;
}

static void put(uint32_t pid, const char *name, const char *text)
{
	g_autofree char *path = path_in(pid, name);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void put_process(uint32_t pid, const char *name, const char *wchan)
{
	g_autofree char *status = g_strdup_printf("Name:\t%s\nState:\tS (sleeping)\nPPid:\t1\n", name);

	put(pid, "comm", name);
	put(pid, "status", status);
	put(pid, "wchan", wchan);
}

static void put_fd(uint32_t pid, const char *link, const char *info)
{
	g_autofree char *fd = path_in(pid, "fd/5");

	g_assert_cmpint(symlink(link, fd), ==, 0);
	put(pid, "fdinfo/5", info);
}

/* The text of what is told of the process; NULL: nothing. */
static char *looked(const char *const *locks, const char *kernel)
{
	struct profile *p = profile_new();
	struct file_looks *l = file_looks_new(folder);
	const uint32_t thread = fixture_thread(p, APP, APP, "app", "app");

	fixture_wait(p, thread, 'S', 10, S / 20, "main@app", kernel);
	for (unsigned i = 0; locks[i]; i++) {
		put(0, "locks", locks[i]);
		file_looks_look(l, i * 20 * S);
		file_looks_look(l, i * 20 * S + 1);	/* too early */
	}
	file_looks_put(l, p);
	const struct profile_limit *found = profile_find_limit(p, LIMIT_LOCKED, APP, 0);
	char *text = found ? g_strdup(found->text) : NULL;

	file_looks_free(l);
	profile_free(p);
	return text;
}

#define HELD(by, start) "1: POSIX  ADVISORY  WRITE " by " fe:00:12 " start " " start "\n"
#define TAKEN(by) "1: FLOCK  ADVISORY  WRITE " by " fe:00:12 0 EOF\n"
#define AWAITED "1:  -> FLOCK  ADVISORY  WRITE 4194201 fe:00:12 0 EOF\n"

static void test_looks(void)
{
	static const struct { const char *locks[4], *kernel, *link, *told; } cases[] = {
		{ { TAKEN("4194202") AWAITED, TAKEN("4194202"), TAKEN("4194201") "2: -> FLOCK  ADVISORY  WRITE 9 fe:00:13 0 EOF\n" },
		  FLOCK, "/data/seq", "1 of 1 looks, 4194202 of 1 4194203 sleeps file\tback up\ttar\t\t/data/seq" },
		/* another program waits, or it is not known who has it */
		{ { TAKEN("4194202") "1: -> FLOCK  ADVISORY  WRITE 77 fe:00:12 0 EOF\n" }, FLOCK, "/data/seq", NULL },
		{ { TAKEN("4194209") AWAITED, "nonsense\n", "" }, FLOCK, "/data/seq", NULL },
		{ { TAKEN("-7") AWAITED, TAKEN("99999999999") AWAITED }, FLOCK, "/data/seq", NULL },
		/* an open file's lock */
		{ { "1: OFDLCK ADVISORY  WRITE -1 fe:00:12 0 EOF\n1: -> OFDLCK ADVISORY  WRITE -1 fe:00:12 0 EOF\n" },
		  FLOCK, "/data/seq", NULL },
		{ { HELD("4194202", "1073741825"), HELD("4194202", "1073741825"), "" }, SLEEP, "/data/shop.db",
		  "2 of 3 looks, 4194202 of 1 4194203 sleeps sqlite\tback up\ttar\t\t/data/shop.db" },
		{ { HELD("4194202", "120"), HELD("4194201", "120"), HELD("4194202", "120") }, SLEEP, "/data/shop.db-shm",
		  "2 of 3 looks, 4194202 of 1 4194203 sleeps sqlite\tback up\ttar\t\t/data/shop.db" },
		/* no bytes of SQLite's, and nobody who sleeps */
		{ { HELD("4194202", "7"), HELD("4194202", "7"), HELD("4194202", "7") }, SLEEP, "/data/shop.db", NULL },
		{ { HELD("4194202", "1073741825") }, FLOCK, "/data/shop.db", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		folder = g_dir_make_tmp("locks-XXXXXX", NULL);
		put_process(APP, "app", "0");
		put_process(HOLDER, "back\tup", "do_wait");
		put_process(CHILD, "tar", "hrtimer_nanosleep");
		put(HOLDER, "task/4194202/children", "4194203 ");
		g_autofree char *link = g_strdup(cases[i].link);

		if (g_str_has_suffix(link, "-shm"))	/* the database itself */
			link[strlen(link) - strlen("-shm")] = 0;
		put_fd(APP, link, "pos:\t0\nino:\t12\n");
		put_fd(HOLDER, cases[i].link, "pos:\t0\nino:\t12\n");
		g_autofree char *told = looked(cases[i].locks, cases[i].kernel);
		g_autofree char *command = g_strdup_printf("rm -r '%s'", folder);

		g_test_message("case %zu: %s", i, told ? told : "nothing");
		g_assert_cmpstr(told, ==, cases[i].told);
		g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
		g_free(folder);
	}
}

static void test_text(void)
{
	static const char *const wrong[] = { "", "1 of 2 looks, 7 of 1 8 runs file\tx\ty\tz",
					     "3 of 2 looks, 7 of 1 8 runs file\tx\ty\tz\tp",
					     "1 of 2 looks, 7 of 1 8 runs file\t\ty\tz\tp", "a of b looks\tx\ty\tz\tp" };

	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		const struct profile_limit l = { .kind = LIMIT_LOCKED, .text = wrong[i] };
		struct limit_locked k;
		g_auto(GStrv) names = NULL;

		g_assert_false(limit_locked_read(&l, &k, &names));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/file-looks/looks", test_looks);
	g_test_add_func("/file-looks/text", test_text);
	return g_test_run();
}
