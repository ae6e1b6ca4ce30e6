/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Writers that are killed, files that are damaged, readers without rights. */
#include <glib/gstdio.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "history.h"
#include "store/file.h"

#define KILLS 100

static void write_for_ever(const char *dir, const struct sim *sim, int told)
{
	const struct store_options options = { .dir = dir };
	g_autoptr(GError) error = NULL;
	struct store *s = store_open(&options, &error);

	for (uint64_t i = 0; s; i++) {
		uint64_t at = i % 600 * 10 * S;
		struct profile *p = sim_window(sim, at, at + 10 * S);

		if (!store_add(s, p, NULL, &error) || write(told, "w", 1) != 1)
			break;
		profile_free(p);
	}
	fprintf(stderr, "the writer ended: %s\n", error ? error->message : "nobody reads what it tells");
	_exit(1);
}

static void integrity(const char *dir)
{
	g_autoptr(GArray) names = store_list(dir, NULL);

	for (guint i = 0; i < names->len; i++) {
		g_autofree char *path = store_path(dir, &g_array_index(names, struct store_name, i));
		sqlite3 *db;
		sqlite3_stmt *stmt;

		g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
		g_assert_cmpint(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL), ==, SQLITE_OK);
		g_assert_cmpint(sqlite3_step(stmt), ==, SQLITE_ROW);
		g_assert_cmpstr((const char *)sqlite3_column_text(stmt, 0), ==, "ok");
		sqlite3_finalize(stmt);
		sqlite3_close(db);
	}
}

/* How many windows a child has stored that is killed `us` microseconds after its start, or after the first of them. */
static uint64_t write_and_kill(const char *dir, const struct sim *sim, guint32 us, bool after_the_first)
{
	int told[2], status;
	uint64_t windows = 0;
	char byte[4096];
	ssize_t got;

	g_assert_cmpint(pipe(told), ==, 0);
	pid_t child = fork();

	g_assert_cmpint(child, >=, 0);
	if (child == 0)
		write_for_ever(dir, sim, told[1]);
	close(told[1]);
	if (after_the_first)
		windows += read(told[0], byte, 1) == 1;
	g_usleep(us);
	g_assert_cmpint(kill(child, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFSIGNALED(status));
	while ((got = read(told[0], byte, sizeof(byte))) > 0)
		windows += (uint64_t)got;
	close(told[0]);
	return windows;
}

static void killed(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(9, 6, 6000 * S);
	uint64_t stored = 0;

	for (unsigned i = 0; i < KILLS; i++) {
		/* each tenth whatever the machine's speed: the others may all die before they have stored any */
		stored += write_and_kill(dir, sim, (guint32)g_test_rand_int_range(500, 60000), i % 10 == 0);
		g_autoptr(GError) error = NULL;
		struct store_extent e = { 0 };

		if (i % 10 == 9)
			integrity(dir);
		if (!stored)
			continue;
		store_extent(dir, &e, &error);
		g_assert_no_error(error);
		/* the one that was told last may be there and not be told */
		g_assert_cmpuint(e.windows, >=, stored);
		g_assert_cmpuint(e.windows, <=, stored + 1);
		stored = e.windows;
	}
	g_assert_cmpuint(stored, >, 0);
	integrity(dir);
	struct profile *p = read_range(dir, 0, 6000 * S);

	profile_free(p);
	sim_free(sim);
	remove_dir(dir);
}

/*
 * Killed as it closed a file: SQLite turns from a log to a journal, of which the first page is part.  A reader cannot take that back, and need
 * not; the next writer does.
 */
static void killed_as_it_closed(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(12, 6, 60 * S);
	struct store *s = open_store(dir);

	add_windows(s, sim, 0, 50 * S, 10 * S);
	store_close(s);
	g_autofree char *path = g_build_filename(dir, "2025-11-25.10s.db", NULL), *journal = g_strconcat(path, "-journal", NULL), *file = NULL;
	gsize bytes;

	g_assert_true(g_file_get_contents(path, &file, &bytes, NULL));
	/* magic, no page in it, a salt, so many pages in all, sector and page size: https://www.sqlite.org/fileformat.html#the_rollback_journal */
	const guint32 numbers[] = { 0xd9d505f9, 0x20a163d7, 0, 1234, (guint32)(bytes / 4096), 512, 4096 };
	guint8 header[512] = { 0 };

	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
		const guint32 big = GUINT32_TO_BE(numbers[i]);

		memcpy(header + i * 4, &big, 4);
	}
	g_assert_true(g_file_set_contents(journal, (const char *)header, sizeof(header), NULL));
	assert_range(dir, sim, 0, 50 * S);
	s = open_store(dir);
	add_windows(s, sim, 50 * S, 60 * S, 10 * S);
	store_close(s);
	g_assert_false(g_file_test(journal, G_FILE_TEST_EXISTS));
	assert_range(dir, sim, 0, 60 * S);
	sim_free(sim);
	remove_dir(dir);
}

/* As another user who may only read: while it is written to, after the writer was killed, and after it has ended. */
static void read_as_nobody(const char *dir, const struct sim *sim)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(2);
		assert_range(dir, sim, 0, 100 * S);
		_exit(access(dir, W_OK) == 0);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, 0);
}

static void let_read(const char *dir)
{
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	g_assert_cmpint(chmod(dir, 0755), ==, 0);
	while ((name = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		g_assert_cmpint(chmod(path, 0644), ==, 0);
	}
	g_dir_close(d);
}

static void without_write_access(void)
{
	if (geteuid() != 0) {
		g_test_skip("only root can become somebody else");
		return;
	}
	char *dir = new_dir();
	struct sim *sim = sim_new(10, 6, 200 * S);
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct store *s = open_store(dir);

		add_windows(s, sim, 0, 100 * S, 10 * S);
		let_read(dir);
		read_as_nobody(dir, sim);
		kill(getpid(), SIGKILL);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFSIGNALED(status));
	g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
	read_as_nobody(dir, sim);
	struct store *s = open_store(dir);

	add_windows(s, sim, 100 * S, 200 * S, 10 * S);
	store_close(s);
	let_read(dir);
	read_as_nobody(dir, sim);
	sim_free(sim);
	remove_dir(dir);
}

/* Whatever bytes are changed: a sentence or a valid profile. */
static void damaged(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(11, 6, 100 * S);
	struct store *s = open_store(dir);
	g_autofree char *path = g_build_filename(dir, "2025-11-25.10s.db", NULL), *good = NULL;
	unsigned refused = 0;
	gsize bytes;

	add_windows(s, sim, 0, 100 * S, 10 * S);
	store_close(s);
	g_assert_true(g_file_get_contents(path, &good, &bytes, NULL));
	for (unsigned i = 0; i < 400; i++) {
		g_autofree char *bad = g_memdup2(good, bytes);
		g_autoptr(GError) error = NULL;

		for (int n = g_test_rand_int_range(1, 6); n; n--)
			bad[g_test_rand_int_range(0, (gint32)bytes)] ^= (char)(1 << g_test_rand_int_range(0, 8));
		g_assert_true(g_file_set_contents(path, bad, i % 20 ? (gssize)bytes : (gssize)(bytes / 2), NULL));
		struct profile *p = store_read(dir, START, START + 100 * S, &error);

		g_assert_true(!p == !!error);
		g_assert_true(!p || profile_check(p, NULL));
		refused += !p;
		profile_free(p);
	}
	g_assert_cmpuint(refused, >, 0);
	/* a writer puts it aside and goes on; what was summed up of it stays, but here */
	g_autofree char *minutes = g_build_filename(dir, "2025-11-25.1m.db", NULL);

	g_assert_cmpint(g_unlink(minutes), ==, 0);
	g_assert_true(g_file_set_contents(path, "no database", -1, NULL));
	s = open_store(dir);
	add_windows(s, sim, 0, 100 * S, 10 * S);
	assert_range(dir, sim, 0, 100 * S);
	g_autofree char *warning = store_take_warning(s);

	g_assert_nonnull(strstr(warning, "2025-11-25.10s.db.damaged'"));
	g_assert_null(store_take_warning(s));
	store_close(s);
	sim_free(sim);
	remove_dir(dir);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store-damage/killed", killed);
	g_test_add_func("/store-damage/killed_as_it_closed", killed_as_it_closed);
	g_test_add_func("/store-damage/without_write_access", without_write_access);
	g_test_add_func("/store-damage/damaged", damaged);
	return g_test_run();
}
