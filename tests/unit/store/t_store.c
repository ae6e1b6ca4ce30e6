/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"
#include "store/error.h"
#include "store/files.h"
#include "store/merge.h"
#include "store/short_lived.h"
#include "store/store.h"

#define S UINT64_C(1000000000)
#define START SIM_START_UNIX_NS

static char *new_dir(void)
{
	char *dir = g_dir_make_tmp("offcpu-store-XXXXXX", NULL);

	g_assert_nonnull(dir);
	return dir;
}

static void remove_dir(char *dir)
{
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	while (d && (name = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		g_unlink(path);
	}
	if (d)
		g_dir_close(d);
	g_rmdir(dir);
	g_free(dir);
}

static struct store *open_store(const char *dir)
{
	const struct store_options options = { .dir = dir };
	g_autoptr(GError) error = NULL;
	struct store *s = store_open(&options, &error);

	g_assert_no_error(error);
	return s;
}

static void add_windows(struct store *s, const struct sim *sim, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns)
{
	for (uint64_t at = from_ns; at < to_ns; at += step_ns) {
		g_autoptr(GError) error = NULL;
		struct profile *p = sim_window(sim, at, MIN(at + step_ns, to_ns));

		g_assert_true(store_add(s, p, NULL, &error));
		g_assert_no_error(error);
		profile_free(p);
	}
}

static struct profile *read_range(const char *dir, uint64_t from_ns, uint64_t to_ns)
{
	g_autoptr(GError) error = NULL;
	struct profile *p = store_read(dir, START + from_ns, START + to_ns, &error);

	g_assert_no_error(error);
	g_assert_true(profile_check(p, &error));
	return p;
}

static void assert_range(const char *dir, const struct sim *sim, uint64_t from_ns, uint64_t to_ns)
{
	struct profile *p = read_range(dir, from_ns, to_ns), *whole = sim_window(sim, from_ns, to_ns);

	sim_assert_same(p, whole);
	profile_free(p);
	profile_free(whole);
}

/* A window comes back as it was, while the writer has the file and after. */
static void round_trip(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(1, 20, 10 * S);
	struct store *s = open_store(dir);

	add_windows(s, sim, 0, 10 * S, 10 * S);
	assert_range(dir, sim, 0, 10 * S);
	store_close(s);
	assert_range(dir, sim, 0, 10 * S);
	sim_free(sim);
	remove_dir(dir);
}

/* Minutes and hours are exact sums, whichever tier a range is read from. */
static void roll_up(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(2, 20, 7500 * S);
	struct store *s = open_store(dir);

	add_windows(s, sim, 0, 7500 * S, 10 * S);
	assert_range(dir, sim, 0, 7500 * S);
	assert_range(dir, sim, 1800 * S, 5400 * S);
	assert_range(dir, sim, 130 * S, 5510 * S);
	store_close(s);
	g_autofree char *fine = g_build_filename(dir, "2025-11-25.10s.db", NULL), *minutes = g_build_filename(dir, "2025-11-25.1m.db", NULL);

	g_assert_cmpint(g_unlink(fine), ==, 0);
	assert_range(dir, sim, 0, 7500 * S);
	g_assert_cmpint(g_unlink(minutes), ==, 0);
	assert_range(dir, sim, 0, 5400 * S);
	sim_free(sim);
	remove_dir(dir);
}

/* By name whatever ended, also where it is alone. */
static struct profile *by_name(struct profile *p)
{
	const struct short_lived_options options = { .may_fold = true, .even_one = true };
	uint64_t start_ns = p->info.start_ns;

	p->info.start_ns = 0;
	struct profile *told = short_lived_fold(p, &options);

	p->info.start_ns = told->info.start_ns = start_ns;
	return told;
}

static void assert_range_by_name(const char *dir, const struct sim *sim, uint64_t from_ns, uint64_t to_ns, guint rows_max)
{
	struct profile *p = read_range(dir, from_ns, to_ns), *whole = sim_window(sim, from_ns, to_ns);
	struct profile *p_told = by_name(p), *whole_told = by_name(whole);

	sim_assert_same(p_told, whole_told);
	g_assert_cmpuint(p->threads->len, <=, rows_max);
	profile_free_rows(p_told);
	profile_free_rows(whole_told);
	profile_free(p);
	profile_free(whole);
}

/* Threads that came and went are told by name in minutes, and once more in hours; whatever is summed over them stays exact. */
static void came_and_went(void)
{
	enum { THREADS = 12, CHURN = 800 };
	char *dir = new_dir();
	struct sim *sim = sim_new(12, THREADS, 7300 * S);
	struct store *s = open_store(dir);

	sim_add_short_lived(sim, 13, CHURN, 7300 * S, 15 * S);
	add_windows(s, sim, 0, 7300 * S, 10 * S);
	assert_range_by_name(dir, sim, 0, 7300 * S, 200);
	assert_range_by_name(dir, sim, 1230 * S, 5450 * S, 200);
	store_close(s);
	g_autofree char *fine = g_build_filename(dir, "2025-11-25.10s.db", NULL), *minutes = g_build_filename(dir, "2025-11-25.1m.db", NULL);

	g_assert_cmpint(g_unlink(fine), ==, 0);
	/* of two hours and parts of two more */
	assert_range_by_name(dir, sim, 0, 7200 * S, 200);
	g_assert_cmpint(g_unlink(minutes), ==, 0);
	assert_range_by_name(dir, sim, 1800 * S, 5400 * S, THREADS + 20);
	sim_free(sim);
	remove_dir(dir);
}

/* Where each is to have a row of its own, it has. */
static void each_by_itself(void)
{
	char *dir = new_dir();
	const struct store_options options = { .dir = dir, .keep_ended = true };
	struct sim *sim = sim_new(14, 12, 3700 * S);
	struct store *s = store_open(&options, NULL);

	sim_add_short_lived(sim, 15, 200, 3700 * S, 15 * S);
	add_windows(s, sim, 0, 3700 * S, 10 * S);
	assert_range(dir, sim, 0, 3700 * S);
	store_close(s);
	sim_free(sim);
	remove_dir(dir);
}

static unsigned files_of(const char *dir, enum store_tier tier)
{
	g_autoptr(GArray) names = store_list(dir, NULL);
	unsigned cnt = 0;

	for (guint i = 0; i < names->len; i++)
		cnt += g_array_index(names, struct store_name, i).tier == tier;
	return cnt;
}

/* Gaps are told; who lived on both sides has no residual. */
static void gaps(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(3, 10, 600 * S);
	struct store *s = open_store(dir);
	struct profile *p;

	add_windows(s, sim, 0, 200 * S, 10 * S);
	g_assert_true(store_add_gap(s, START + 200 * S, START + 230 * S, "suspended", NULL));
	add_windows(s, sim, 230 * S, 600 * S, 10 * S);
	p = read_range(dir, 0, 600 * S);
	g_assert_cmpuint(p->info.start_unix_ns, ==, START);
	g_assert_cmpuint(p->info.duration_ns, ==, 570 * S);
	g_assert_cmpuint(p->info.history.windows, ==, 57);
	g_assert_cmpuint(p->info.history.gap_cnt, ==, 1);
	g_assert_cmpuint(p->info.history.gap_ns, ==, 30 * S);
	g_assert_cmpstr(p->info.history.gap_why, ==, "suspended");
	for (guint i = 0; i < p->threads->len; i++)
		g_assert_cmpint(thread_residual_ns(profile_thread(p, i)), ==, 0);
	profile_free(p);
	store_close(s);
	assert_range(dir, sim, 230 * S, 600 * S);
	sim_free(sim);
	remove_dir(dir);
}

/* A new writer goes on where the last one was: sums do not need it to have seen the windows. */
static void opened_anew(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(4, 10, 7400 * S);
	struct store *s;

	for (unsigned i = 0; i < 74; i++) {
		s = open_store(dir);
		add_windows(s, sim, i * 100 * S, (i + 1) * 100 * S, 10 * S);
		store_close(s);
	}
	assert_range(dir, sim, 0, 7400 * S);
	g_autofree char *fine = g_build_filename(dir, "2025-11-25.10s.db", NULL), *minutes = g_build_filename(dir, "2025-11-25.1m.db", NULL);

	g_assert_cmpint(g_unlink(fine), ==, 0);
	g_assert_cmpint(g_unlink(minutes), ==, 0);
	assert_range(dir, sim, 0, 5400 * S);
	sim_free(sim);
	remove_dir(dir);
}

/* Windows of the same time are both there, and both are in a range. */
static void clock_set_back(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(5, 10, 600 * S);
	struct store *s = open_store(dir);
	struct profile *p;
	uint64_t ns = 0;

	add_windows(s, sim, 0, 300 * S, 10 * S);
	for (uint64_t at = 300 * S; at < 600 * S; at += 10 * S) {
		p = sim_window(sim, at, at + 10 * S);
		p->info.start_unix_ns -= 200 * S;
		g_assert_true(store_add(s, p, NULL, NULL));
		profile_free(p);
	}
	p = read_range(dir, 0, 600 * S);
	g_assert_cmpuint(p->info.duration_ns, ==, 600 * S);
	struct profile *whole = sim_window(sim, 0, 600 * S);

	sim_assert_same(p, whole);
	profile_free(whole);
	profile_free(p);
	p = read_range(dir, 100 * S, 300 * S);
	g_assert_cmpuint(p->info.duration_ns, ==, 400 * S);
	for (guint i = 0; i < p->threads->len; i++)
		ns = MAX(ns, thread_observed_ns(profile_thread(p, i)));
	g_assert_cmpuint(ns, ==, 400 * S);
	profile_free(p);
	store_close(s);
	sim_free(sim);
	remove_dir(dir);
}

static void add_days(struct store *s, const struct sim *sim, unsigned days, unsigned windows)
{
	for (unsigned day = 0; day < days; day++) {
		for (unsigned i = 0; i < windows; i++) {
			struct profile *p = sim_window(sim, i * 10 * S, (i + 1) * 10 * S);

			p->info.start_unix_ns = (SIM_START_UNIX_NS / STORE_NS_A_DAY + day) * STORE_NS_A_DAY + i * 10 * S;
			g_assert_true(store_add(s, p, NULL, NULL));
			profile_free(p);
		}
	}
}

/* By age: what each tier keeps. */
static void too_old(void)
{
	char *dir = new_dir();
	const struct store_options options = { .dir = dir, .window_hours = 24, .minute_days = 3, .hour_days = 5 };
	struct sim *sim = sim_new(6, 3, 3700 * S);
	struct store *s = store_open(&options, NULL);

	add_days(s, sim, 9, 365);
	g_assert_cmpuint(files_of(dir, TIER_WINDOW), ==, 2);
	g_assert_cmpuint(files_of(dir, TIER_MINUTE), ==, 4);
	g_assert_cmpuint(files_of(dir, TIER_HOUR), ==, 6);
	store_close(s);
	sim_free(sim);
	remove_dir(dir);
}

/* By size: finest and oldest first, and never above. */
static void too_much(void)
{
	char *dir = new_dir();
	const struct store_options options = { .dir = dir, .max_bytes = 1200000 };
	struct sim *sim = sim_new(7, 30, 600 * S);
	struct store *s = store_open(&options, NULL);
	struct store_extent e;

	for (unsigned round = 0; round < 30; round++) {
		add_days(s, sim, 1, 60);
		g_assert_true(store_extent(dir, &e, NULL));
		g_assert_cmpuint(e.bytes, <=, 1200000 + 1200000 / 8);
	}
	g_assert_cmpuint(e.windows, <, 30 * 60);
	g_assert_cmpuint(files_of(dir, TIER_WINDOW), >, 1);
	store_close(s);
	sim_free(sim);
	remove_dir(dir);
}

/* One writer at a time. */
static void two_writers(void)
{
	char *dir = new_dir();
	const struct store_options options = { .dir = dir };
	g_autoptr(GError) error = NULL;
	struct store *s = open_store(dir);

	g_assert_null(store_open(&options, &error));
	g_assert_error(error, STORE_ERROR, STORE_ERROR_BUSY);
	store_close(s);
	s = open_store(dir);
	store_close(s);
	remove_dir(dir);
}

static void nothing(void)
{
	char *dir = new_dir();
	struct store_extent e;
	GError *error = NULL;

	g_assert_false(store_extent(dir, &e, &error));
	g_assert_error(error, STORE_ERROR, STORE_ERROR_EMPTY);
	g_clear_error(&error);
	g_assert_null(store_read(dir, 1, 2, &error));
	g_assert_error(error, STORE_ERROR, STORE_ERROR_EMPTY);
	g_clear_error(&error);
	g_assert_null(store_read("/nonexistent/offcpu", 1, 2, &error));
	g_assert_error(error, STORE_ERROR, STORE_ERROR_EMPTY);
	g_clear_error(&error);
	remove_dir(dir);
}

/* ---- time lines ---- */

static uint64_t all_of(const struct store_line *l, const char *name)
{
	uint64_t ns = 0;

	for (guint i = 0; i < l->series->len; i++) {
		const struct store_series *series = &g_array_index(l->series, struct store_series, i);

		for (uint32_t k = 0; k < l->steps && (!name || strcmp(series->name, name) == 0); k++)
			ns += series->ns[k];
	}
	return ns;
}

static void line_adds_up(const char *dir, const struct profile *p, uint64_t step_ns)
{
	uint64_t on_cpu_ns = 0, observed_ns = 0, runnable_ns = 0;
	struct store_line *l = store_line_read(dir, START, START + 7200 * S, step_ns, STORE_BY_CLASS, 10, NULL);

	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		on_cpu_ns += t->on_cpu_ns;
		observed_ns += thread_observed_ns(t);
		runnable_ns += t->runnable_ns;
	}
	g_assert_nonnull(l);
	g_assert_cmpuint(all_of(l, "on CPU"), ==, on_cpu_ns);
	g_assert_cmpuint(all_of(l, "runnable"), ==, runnable_ns);
	g_assert_cmpuint(all_of(l, NULL), ==, observed_ns);
	for (uint32_t i = 0; i < l->steps; i++)
		g_assert_cmpuint(l->is_gap[i], ==, 0);
	store_line_free(l);
}

static struct selection *all_of_it(void *ctx, const struct profile *p, GError **error)
{
	return selection_new(p, &(struct query){ 0 }, error);
}

static struct selection *nothing_of_it(void *ctx, const struct profile *p, GError **error)
{
	store_fail(error, STORE_ERROR_TOO_MUCH, "no");
	return NULL;
}

/* All of it as a part is what the small rows tell.  By windows: what is idle is judged anew for each row that is read. */
static void assert_part(const char *dir)
{
	g_autoptr(GError) error = NULL;

	for (int by = STORE_BY_CLASS; by <= STORE_BY_REASON; by++) {
		struct store_line *l = store_line_read(dir, START, START + 7200 * S, 10 * S, (enum store_by)by, 20, NULL);
		struct store_line *part = store_line_read_part(dir, START, START + 7200 * S, 10 * S, (enum store_by)by, 20, all_of_it, NULL, NULL);

		g_assert_cmpuint(part->series->len, ==, l->series->len);
		for (guint i = 0; i < l->series->len; i++) {
			const struct store_series *a = &g_array_index(l->series, struct store_series, i);
			const struct store_series *b = &g_array_index(part->series, struct store_series, i);

			g_assert_cmpstr(a->name, ==, b->name);
			g_assert_cmpmem(a->ns, l->steps * sizeof(uint64_t), b->ns, l->steps * sizeof(uint64_t));
		}
		store_line_free(l);
		store_line_free(part);
	}
	g_assert_null(store_line_read_part(dir, START, START + 7200 * S, 90 * S, STORE_BY_REASON, 20, nothing_of_it, NULL, &error));
	g_assert_error(error, STORE_ERROR, STORE_ERROR_TOO_MUCH);
	g_clear_error(&error);
}

static void time_lines(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(8, 12, 7200 * S);
	struct store *s = open_store(dir);
	struct profile *whole = sim_window(sim, 0, 7200 * S);
	struct store_line *l;
	GError *error = NULL;

	add_windows(s, sim, 0, 7200 * S, 10 * S);
	line_adds_up(dir, whole, 10 * S);
	line_adds_up(dir, whole, 7 * S);
	line_adds_up(dir, whole, 60 * S);
	line_adds_up(dir, whole, 90 * S);
	line_adds_up(dir, whole, 7200 * S);
	for (int by = STORE_BY_PROCESS; by <= STORE_BY_REASON; by++) {
		l = store_line_read(dir, START - 600 * S, START + 7200 * S, 600 * S, (enum store_by)by, 1, NULL);
		g_assert_nonnull(l);
		g_assert_cmpuint(l->steps, ==, 13);
		g_assert_cmpuint(l->is_gap[0], ==, 1);
		g_assert_cmpuint(l->is_gap[1], ==, 0);
		g_assert_cmpuint(l->series->len, <=, 2);
		store_line_free(l);
	}
	assert_part(dir);
	g_assert_null(store_line_read(dir, START, START + 7200 * S, 1000, STORE_BY_CLASS, 1, &error));
	g_assert_error(error, STORE_ERROR, STORE_ERROR_TOO_MUCH);
	g_clear_error(&error);
	profile_free(whole);
	store_close(s);
	sim_free(sim);
	remove_dir(dir);
}

/* ---- killed, damaged, without rights ---- */

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

/* How many windows a child has stored when it is killed. */
static uint64_t write_and_kill(const char *dir, const struct sim *sim, guint32 us)
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
		stored += write_and_kill(dir, sim, (guint32)g_test_rand_int_range(500, 60000));
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
	g_test_add_func("/store/round_trip", round_trip);
	g_test_add_func("/store/roll_up", roll_up);
	g_test_add_func("/store/came_and_went", came_and_went);
	g_test_add_func("/store/each_by_itself", each_by_itself);
	g_test_add_func("/store/gaps", gaps);
	g_test_add_func("/store/opened_anew", opened_anew);
	g_test_add_func("/store/clock_set_back", clock_set_back);
	g_test_add_func("/store/too_old", too_old);
	g_test_add_func("/store/too_much", too_much);
	g_test_add_func("/store/two_writers", two_writers);
	g_test_add_func("/store/nothing", nothing);
	g_test_add_func("/store/time_lines", time_lines);
	g_test_add_func("/store/killed", killed);
	g_test_add_func("/store/killed_as_it_closed", killed_as_it_closed);
	g_test_add_func("/store/without_write_access", without_write_access);
	g_test_add_func("/store/damaged", damaged);
	return g_test_run();
}
