/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Time lines of a history. */
#include <string.h>

#include "history.h"
#include "store/error.h"

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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store-line/time_lines", time_lines);
	return g_test_run();
}
