/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "place.h"

#include <glib/gstdio.h>

#include "profile/profile_file.h"
#include "sample.h"

void place_make(struct place *at, gconstpointer data)
{
	at->dir = g_dir_make_tmp(NULL, NULL);
	g_assert_nonnull(at->dir);
	at->path = g_build_filename(at->dir, "trace 50%?.offcpu#", NULL);
	at->old = g_strconcat(at->path, ".old", NULL);
}

void place_remove(struct place *at, gconstpointer data)
{
	GDir *dir = g_dir_open(at->dir, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(at->dir, name, NULL);

		g_assert_cmpint(g_remove(path), ==, 0);
	}
	g_dir_close(dir);
	g_assert_cmpint(g_rmdir(at->dir), ==, 0);
	g_free(at->dir);
	g_free(at->path);
	g_free(at->old);
}

void write_sample(const struct profile *p, const char *path)
{
	GError *error = NULL;

	profile_file_write(p, path, &error);
	g_assert_no_error(error);
}

void assert_reads_as(const struct profile *p, const char *path)
{
	GError *error = NULL;
	struct profile *q = profile_file_read(path, &error);

	g_assert_no_error(error);
	assert_profiles_equal(p, q);
	profile_free(q);
}
