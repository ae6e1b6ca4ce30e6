/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "history.h"

#include <glib/gstdio.h>

char *new_dir(void)
{
	char *dir = g_dir_make_tmp("offcpu-store-XXXXXX", NULL);

	g_assert_nonnull(dir);
	return dir;
}

void remove_dir(char *dir)
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

struct store *open_store(const char *dir)
{
	const struct store_options options = { .dir = dir };
	g_autoptr(GError) error = NULL;
	struct store *s = store_open(&options, &error);

	g_assert_no_error(error);
	return s;
}

void add_windows(struct store *s, const struct sim *sim, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns)
{
	for (uint64_t at = from_ns; at < to_ns; at += step_ns) {
		g_autoptr(GError) error = NULL;
		struct profile *p = sim_window(sim, at, MIN(at + step_ns, to_ns));

		g_assert_true(store_add(s, p, NULL, &error));
		g_assert_no_error(error);
		profile_free(p);
	}
}

struct profile *read_range(const char *dir, uint64_t from_ns, uint64_t to_ns)
{
	g_autoptr(GError) error = NULL;
	struct profile *p = store_read(dir, START + from_ns, START + to_ns, &error);

	g_assert_no_error(error);
	g_assert_true(profile_check(p, &error));
	return p;
}

void assert_range(const char *dir, const struct sim *sim, uint64_t from_ns, uint64_t to_ns)
{
	struct profile *p = read_range(dir, from_ns, to_ns), *whole = sim_window(sim, from_ns, to_ns);

	sim_assert_same(p, whole);
	profile_free(p);
	profile_free(whole);
}
