/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_PROC_FILES_H
#define FOLD_PROC_FILES_H

#include <stdio.h>

#include <glib/gstdio.h>

#include "../fixture.h"

/* A /proc and control groups as files. */
static char *folder;

static inline void put(const char *name, const char *format, ...) G_GNUC_PRINTF(2, 3);
static inline void put(const char *name, const char *format, ...)
{
	g_autofree char *path = g_build_filename(folder, name, NULL), *dir = g_path_get_dirname(path), *text = NULL;
	va_list ap;

	va_start(ap, format);
	text = g_strdup_vprintf(format, ap);
	va_end(ap);
	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	/* whole at each instant, as the kernel's files are, and without an fsync(), which takes long on a busy disk */
	g_autofree char *next = g_strconcat(path, ".next", NULL);

	g_assert_true(g_file_set_contents_full(next, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
	g_assert_cmpint(rename(next, path), ==, 0);
}

static inline void begin(void)
{
	folder = g_dir_make_tmp("limits-XXXXXX", NULL);
	g_assert_nonnull(folder);
}

static inline void end(struct profile *p)
{
	g_autofree char *command = g_strdup_printf("rm -r '%s'", folder);

	profile_free(p);
	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
	g_free(folder);
}

#endif
