/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Time lines of a history. */
#include <sqlite3.h>
#include <string.h>

#include "history.h"
#include "store/line.h"
#include "store/blob.h"

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

static struct store_line *read_part(const char *dir, enum store_by by, const struct store_part *part)
{
	return store_line_read_part(dir, START, START + 7200 * S, 10 * S, by, 100, part, NULL);
}

static const struct store_series *series_of(const struct store_line *l, const char *name)
{
	for (guint i = 0; i < l->series->len; i++)
		if (strcmp(g_array_index(l->series, struct store_series, i).name, name) == 0)
			return &g_array_index(l->series, struct store_series, i);
	return NULL;
}

static void assert_same(const struct store_line *a, const struct store_line *b)
{
	g_assert_cmpuint(b->series->len, ==, a->series->len);
	for (guint i = 0; i < a->series->len; i++) {
		const struct store_series *of_a = &g_array_index(a->series, struct store_series, i);
		const struct store_series *of_b = series_of(b, of_a->name);

		g_assert_nonnull(of_b);
		g_assert_cmpmem(of_a->ns, a->steps * sizeof(uint64_t), of_b->ns, b->steps * sizeof(uint64_t));
	}
}

/*
 * All of it as a part is what the small rows tell.  By windows: what is idle is judged anew for each row that is
 * unpacked.
 */
static void assert_part(const char *dir)
{
	const struct store_part all = { .select = all_of_it }, unpacked = { .select = all_of_it, .needs_rows = true };
	const struct store_part no_part = { .select = nothing_of_it, .needs_rows = true };
	g_autoptr(GError) error = NULL;

	for (int by = STORE_BY_CLASS; by <= STORE_BY_REASON; by++) {
		struct store_line *l = store_line_read(dir, START, START + 7200 * S, 10 * S, (enum store_by)by, 100, NULL);
		struct store_line *part = read_part(dir, (enum store_by)by, &all);
		struct store_line *rows = read_part(dir, (enum store_by)by, &unpacked);

		assert_same(l, part);
		assert_same(l, rows);
		store_line_free(l);
		store_line_free(part);
		store_line_free(rows);
	}
	g_assert_null(store_line_read_part(dir, START, START + 7200 * S, 90 * S, STORE_BY_REASON, 20, &no_part, &error));
	g_assert_error(error, STORE_ERROR, STORE_ERROR_TOO_MUCH);
	g_clear_error(&error);
}

/* A service and a reason of it, by rows. */
struct wish {
	const char *service;
	const bool *reasons;
};

static bool is_service(void *ctx, const char *name)
{
	return strcmp(((const struct wish *)ctx)->service, name) == 0;
}

static struct selection *select_wish(void *ctx, const struct profile *p, GError **error)
{
	const struct wish *wish = ctx;
	struct selection *s = selection_new(p, &(struct query){ 0 }, error);
	struct reasons *reasons = reasons_new(p, NULL);

	for (guint i = 0; i < p->threads->len; i++)
		s->threads[i] = is_service(ctx, cells_service(profile_thread(p, i)));
	for (guint i = 0; i < p->waits->len; i++)
		s->waits[i] = s->threads[profile_wait(p, i)->thread] &&
			      (!wish->reasons || wish->reasons[reasons_of(reasons, i)]);
	s->whole = false;
	s->by_stack = wish->reasons != NULL;
	reasons_free(reasons);
	return s;
}

/* How long waits were is kept in three digits. */
static void assert_durations(const struct store_line *rows, const struct store_line *cells)
{
	for (guint i = 0; i < rows->series->len; i++) {
		const char *name = g_array_index(rows->series, struct store_series, i).name;
		uint64_t exact = all_of(rows, name), told = all_of(cells, name);

		g_assert_cmpuint(told, <=, exact + exact / 8 + rows->steps);
		g_assert_cmpuint(exact, <=, told + exact / 8 + rows->steps * UINT64_C(4));
	}
}

static void assert_wish(const char *dir, struct wish *wish)
{
	const struct store_part cells = { .wants_service = is_service, .reasons = wish->reasons, .select = select_wish,
					  .ctx = wish };
	struct store_part rows = cells;

	rows.needs_rows = true;
	for (int by = STORE_BY_CLASS; by < STORE_BY_CNT; by++) {
		struct store_line *a = read_part(dir, (enum store_by)by, &rows), *b = read_part(dir, (enum store_by)by, &cells);

		g_assert_cmpuint(a->series->len, >, 0);
		if (by == STORE_BY_DURATION)
			assert_durations(a, b);
		else
			assert_same(a, b);
		store_line_free(a);
		store_line_free(b);
	}
}

/* The reason of most time, but for waiting for a CPU. */
static enum reason some_reason(const char *dir)
{
	struct store_line *l = store_line_read(dir, START, START + 7200 * S, 7200 * S, STORE_BY_REASON, 100, NULL);
	enum reason reason = REASON_OTHER;

	for (guint i = 0; i < l->series->len; i++)
		if (reason_parse(g_array_index(l->series, struct store_series, i).name, &reason) && reason != REASON_CPU_QUEUE)
			break;
	store_line_free(l);
	return reason;
}

/* Of a service, and of a reason in it, cells tell what rows do. */
static void parts(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(9, 12, 7200 * S);
	struct store *s = open_store(dir);
	bool reasons[REASON_COUNT] = { false };

	add_windows(s, sim, 0, 7200 * S, 10 * S);
	reasons[some_reason(dir)] = true;
	assert_wish(dir, &(struct wish){ "db.service", NULL });
	assert_wish(dir, &(struct wish){ "(no service)", NULL });
	assert_wish(dir, &(struct wish){ "db.service", reasons });
	store_close(s);
	sim_free(sim);
	remove_dir(dir);
}

static void forge(const char *dir, const char *sql)
{
	g_autoptr(GDir) files = g_dir_open(dir, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(files))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);
		sqlite3 *db;

		if (!g_str_has_suffix(name, ".db"))
			continue;
		g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
		g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
		sqlite3_close(db);
	}
}

/* By what only rows tell, 900 windows are more than are unpacked at once: minutes tell the same, more coarsely. */
static void coarser(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(11, 3, 9060 * S);
	struct store *s = open_store(dir);
	const struct store_part rows = { .select = all_of_it, .needs_rows = true }, cells = { .select = all_of_it };
	struct store_line *all, *part;

	add_windows(s, sim, 0, 9000 * S, 10 * S);
	all = store_line_read(dir, START, START + 9000 * S, 10 * S, STORE_BY_CLASS, 10, NULL);
	part = store_line_read_part(dir, START, START + 9000 * S, 10 * S, STORE_BY_CLASS, 10, &rows, NULL);
	g_assert_nonnull(part);
	g_assert_cmpuint(part->steps, ==, 900);
	g_assert_cmpuint(all_of(part, NULL), ==, all_of(all, NULL));
	g_assert_cmpuint(all_of(part, "on CPU"), ==, all_of(all, "on CPU"));
	store_line_free(part);
	store_close(s);
	forge(dir, "DELETE FROM cells");
	part = store_line_read_part(dir, START, START + 9000 * S, 10 * S, STORE_BY_CLASS, 10, &cells, NULL);
	g_assert_nonnull(part);
	g_assert_cmpuint(all_of(part, "on CPU"), ==, all_of(all, "on CPU"));
	store_line_free(part);
	s = open_store(dir);
	add_windows(s, sim, 9000 * S, 9060 * S, 10 * S);
	store_close(s);
	part = store_line_read_part(dir, START, START + 9000 * S, 10 * S, STORE_BY_CLASS, 10, &cells, NULL);
	g_assert_nonnull(part);
	g_assert_cmpuint(all_of(part, "on CPU"), ==, all_of(all, "on CPU"));
	store_line_free(all);
	store_line_free(part);
	sim_free(sim);
	remove_dir(dir);
}

/* Windows with more groups than cells are kept of: their rows are unpacked. */
static void without_cells(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(10, 6, 7200 * S);
	struct store *s = open_store(dir);
	struct wish wish = { "db.service", NULL };
	const struct store_part cells = { .wants_service = is_service, .select = select_wish, .ctx = &wish };
	const struct store_part rows = { .select = select_wish, .needs_rows = true, .ctx = &wish };

	add_windows(s, sim, 0, 600 * S, 10 * S);
	store_close(s);
	forge(dir, "DELETE FROM cells");
	for (uint64_t from = 600; from <= 1200; from += 600) {
		struct store_line *a = read_part(dir, STORE_BY_REASON, &rows), *b = read_part(dir, STORE_BY_REASON, &cells);

		g_assert_cmpuint(a->series->len, >, 0);
		assert_same(a, b);
		store_line_free(a);
		store_line_free(b);
		s = open_store(dir);
		add_windows(s, sim, from * S, (from + 600) * S, 10 * S);
		store_close(s);
	}
	sim_free(sim);
	remove_dir(dir);
}

/* A host of which nothing is recorded, as no thread is of what is asked for, has windows and minutes all the same. */
static void nobody(void)
{
	char *dir = new_dir();
	struct store *s = open_store(dir);
	const struct store_part all = { .select = all_of_it };
	struct store_line *part;

	for (unsigned i = 0; i < 60; i++) {
		struct profile *p = profile_new();
		g_autoptr(GError) error = NULL;

		p->info.start_unix_ns = START + i * 10 * S;
		p->info.start_ns = i * 10 * S;
		p->info.duration_ns = 10 * S;
		g_assert_true(store_add(s, p, NULL, &error));
		g_assert_no_error(error);
		profile_free(p);
	}
	store_close(s);
	g_autofree char *minutes = g_build_filename(dir, "2025-11-25.1m.db", NULL);
	g_assert_true(g_file_test(minutes, G_FILE_TEST_EXISTS));
	part = store_line_read_part(dir, START, START + 600 * S, 10 * S, STORE_BY_CLASS, 10, &all, NULL);
	g_assert_nonnull(part);
	g_assert_cmpuint(part->series->len, ==, 0);
	g_assert_cmpuint(part->is_gap[59], ==, 0);
	store_line_free(part);
	remove_dir(dir);
}

/* Names that nobody can know: what is told is no more than was asked for, whatever there is. */
static void many_names(void)
{
	char *dir = new_dir();
	struct store *s = open_store(dir);
	const struct store_part all = { .select = all_of_it };

	for (unsigned i = 0; i < 30; i++) {
		struct profile *p = profile_new();

		p->info.start_unix_ns = START + i * 10 * S;
		p->info.start_ns = i * 10 * S;
		p->info.duration_ns = 10 * S;
		for (unsigned k = 0; k < 300; k++) {
			const uint32_t number = i * 300 + k;
			g_autofree char *text = g_strdup_printf("job-%u", number);
			const char *name = profile_string(p, text);
			const struct thread t = { .pid = number + 1, .tid = number + 1, .comm = name, .process = name,
						  .from_ns = i * 10 * S, .to_ns = (i + 1) * 10 * S, .on_cpu_ns = k,
						  .blocked_ns = 10 * S - k };
			const struct wait w = { .thread = profile_add_thread(p, &t), .state = 'D', .count = 1,
						.blocked_ns = 10 * S - k, .max_ns = 10 * S - k, .hist[33] = 1 };

			profile_add_wait(p, &w);
		}
		g_assert_true(store_add(s, p, NULL, NULL));
		profile_free(p);
	}
	store_close(s);
	struct store_line *part = store_line_read_part(dir, START, START + 300 * S, S, STORE_BY_PROCESS, 5, &all, NULL);
	g_assert_nonnull(part);
	g_assert_cmpuint(part->series->len, ==, 6);
	g_assert_cmpuint(all_of(part, NULL), ==, 30 * (300 * 10 * S - 300 * 299 / 2));
	g_assert_cmpuint(all_of(part, "job-0"), ==, 10 * S);
	store_line_free(part);
	remove_dir(dir);
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store-line/time_lines", time_lines);
	g_test_add_func("/store-line/parts", parts);
	g_test_add_func("/store-line/coarser", coarser);
	g_test_add_func("/store-line/without_cells", without_cells);
	g_test_add_func("/store-line/nobody", nobody);
	g_test_add_func("/store-line/many_names", many_names);
	return g_test_run();
}
