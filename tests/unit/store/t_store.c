/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib/gstdio.h>

#include "history.h"
#include "store/blob.h"
#include "store/file.h"
#include "store/short_lived.h"
#include "store/store.h"

static unsigned files_of(const char *dir, enum store_tier tier)
{
	g_autoptr(GArray) names = store_list(dir, NULL);
	unsigned cnt = 0;

	for (guint i = 0; i < names->len; i++)
		cnt += g_array_index(names, struct store_name, i).tier == tier;
	return cnt;
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

/*
 * A day of many parts is read as one, and parts in the middle whose windows hours tell are not even opened: here they
 * are no files of ours.
 */
static void parts_of_a_day(void)
{
	char *dir = new_dir();
	const struct store_options options = { .dir = dir, .max_bytes = 2600000 };
	struct sim *sim = sim_new(21, 20, 7500 * S);
	struct store *s = store_open(&options, NULL);
	guint parts;

	add_windows(s, sim, 0, 7500 * S, 10 * S);
	store_close(s);
	parts = files_of(dir, TIER_WINDOW);
	g_assert_cmpuint(parts, >=, 6);
	assert_range(dir, sim, 0, 7500 * S);
	assert_range(dir, sim, 130 * S, 5510 * S);
	for (guint i = 1; i + 1 < parts; i++) {
		g_autofree char *name = g_strdup_printf("2025-11-25.10s.%u.db", i);
		g_autofree char *path = g_build_filename(dir, name, NULL);

		g_assert_true(g_file_set_contents(path, "no database", -1, NULL));
	}
	assert_range(dir, sim, 0, 7500 * S);
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

static struct profile *window_with_network(const struct sim *sim, unsigned i)
{
	const struct object peer = { .kind = OBJECT_SOCKET, .operation = "", .name = "10.0.0.5:3306", .place = "tcp" };
	struct profile *p = sim_window(sim, i * 10 * S, (i + 1) * 10 * S);
	const struct tcp_wait row = { .object = profile_object(p, &peer), .direction = TCP_WAIT_SEND, .count = 3, .blocked_ns = S,
				      .peer_ns = S / 2, .resent = i, .min_rtt_us = 300 };
	const uint32_t pid = profile_thread(p, 0)->pid;

	g_array_index(p->waits, struct wait, 0).object = row.object + 1;
	profile_add_tcp_wait(p, &row);
	for (unsigned k = 0; k < 9; k++) {
		g_autofree char *local = g_strdup_printf("10.0.0.9:%u", 40000 + 9 * i + k);
		const struct connection client = { .pid = pid, .local = local, .remote = "10.0.0.5:3306" },
					serves = { .pid = pid, .side = CONNECTION_SERVER, .local = "[fd00::7]:80", .remote = local };

		profile_add_connection(p, &client);
		profile_add_connection(p, &serves);
	}
	return p;
}

static void assert_network(const char *dir, uint64_t to_ns, unsigned windows)
{
	struct profile *p = read_range(dir, 0, to_ns);
	const struct tcp_wait *row = profile_tcp_wait(p, 0);

	g_assert_cmpuint(p->tcp_waits->len, ==, 1);
	g_assert_cmpstr(profile_get_object(p, row->object)->name, ==, "10.0.0.5:3306");
	g_assert_cmpuint(row->direction, ==, TCP_WAIT_SEND);
	g_assert_cmpuint(row->blocked_ns, ==, windows * S);
	g_assert_cmpuint(row->peer_ns, ==, windows * S / 2);
	g_assert_cmpuint(row->resent, ==, windows * (windows - 1) / 2);
	g_assert_cmpuint(row->min_rtt_us, ==, 300);
	g_assert_cmpuint(p->connections->len, ==, 2);
	g_assert_cmpstr(profile_connection(p, 0)->local, ==, "10.0.0.9");
	g_assert_cmpstr(profile_connection(p, 1)->local, ==, "[fd00::7]:80");
	g_assert_cmpstr(profile_connection(p, 1)->remote, ==, "");
	profile_free(p);
}

/* What TCP waits went on, and connections without the ports that the kernel chose: of windows, and the minute of them. */
static void network_is_kept(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(3, 5, 100 * S);
	struct store *s = open_store(dir);

	for (unsigned i = 0; i < 10; i++) {
		struct profile *p = window_with_network(sim, i);

		g_assert_true(store_add(s, p, NULL, NULL));
		profile_free(p);
	}
	assert_network(dir, 10 * S, 1);
	assert_network(dir, 100 * S, 10);
	store_close(s);
	g_autofree char *fine = g_build_filename(dir, "2025-11-25.10s.db", NULL);

	g_assert_cmpint(g_unlink(fine), ==, 0);
	assert_network(dir, 60 * S, 6);
	sim_free(sim);
	remove_dir(dir);
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
	const struct store_options options = { .dir = dir, .max_bytes = 2000000 };
	struct sim *sim = sim_new(7, 30, 600 * S);
	struct store *s = store_open(&options, NULL);
	struct store_extent e;

	for (unsigned round = 0; round < 30; round++) {
		add_days(s, sim, 1, 60);
		g_assert_true(store_extent(dir, &e, NULL));
		g_assert_cmpuint(e.bytes, <=, 2000000 + 2000000 / 8);
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store/round_trip", round_trip);
	g_test_add_func("/store/roll_up", roll_up);
	g_test_add_func("/store/parts_of_a_day", parts_of_a_day);
	g_test_add_func("/store/came_and_went", came_and_went);
	g_test_add_func("/store/each_by_itself", each_by_itself);
	g_test_add_func("/store/network", network_is_kept);
	g_test_add_func("/store/gaps", gaps);
	g_test_add_func("/store/opened_anew", opened_anew);
	g_test_add_func("/store/clock_set_back", clock_set_back);
	g_test_add_func("/store/too_old", too_old);
	g_test_add_func("/store/too_much", too_much);
	g_test_add_func("/store/two_writers", two_writers);
	g_test_add_func("/store/nothing", nothing);
	return g_test_run();
}
