/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"
#include "store/error.h"
#include "store/files.h"
#include "store/merge.h"
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

		g_assert_true(store_add(s, p, &error));
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store/round_trip", round_trip);
	g_test_add_func("/store/roll_up", roll_up);
	return g_test_run();
}
