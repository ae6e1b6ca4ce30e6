/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "process.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int G_GNUC_NO_INLINE symbolizer_test_probe(int x)
{
	return x * 7 - 1;
}

static void find_own_text(struct fixture *f)
{
	g_autofree char *maps = NULL;
	g_auto(GStrv) lines = NULL;

	g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
	lines = g_strsplit(maps, "\n", -1);
	for (char **l = lines; *l; l++)
		if (maps_parse_line(*l, &f->text) && PROBE >= f->text.start && PROBE < f->text.end)
			break;
	g_assert_cmphex(PROBE - f->text.start, <, f->text.end - f->text.start);
	f->text.path = NULL;
}

void put(const char *path, const char *bytes, gssize len)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	g_file_set_contents(path, bytes, len, &error);
	g_assert_no_error(error);
}

void put_copy(struct fixture *f, const char *bytes, gssize len)
{
	put(f->copy, bytes, len);
	g_assert_cmpint(stat(f->copy, &f->st), ==, 0);
}

void set_up(struct fixture *f, gconstpointer data)
{
	g_autofree char *link = NULL, *own = NULL;
	gsize len;

	f->dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL);
	f->process = g_build_filename(f->dir, "500", NULL);
	f->root = g_build_filename(f->dir, "root-of-500", NULL);
	f->copy = g_build_filename(f->root, "app", "program", NULL);
	f->debug = g_build_filename(f->dir, "debug", NULL);
	f->kallsyms = g_build_filename(f->dir, "kallsyms", NULL);
	link = g_build_filename(f->process, "root", NULL);
	g_assert_cmpint(g_mkdir_with_parents(f->process, 0700) | g_mkdir_with_parents(f->root, 0700), ==, 0);
	g_assert_cmpint(symlink(f->root, link), ==, 0);
	find_own_text(f);
	g_assert_true(g_file_get_contents("/proc/self/exe", &own, &len, NULL));
	put_copy(f, own, (gssize)len);
	f->symbolizer = symbolizer_new_at(f->dir, f->kallsyms, f->debug);
}

void tear_down(struct fixture *f, gconstpointer data)
{
	g_autofree char *command = g_strdup_printf("rm -rf '%s'", f->dir);

	symbolizer_free(f->symbolizer);
	unsetenv("DEBUGINFOD_URLS");
	g_assert_cmpint(system(command), ==, 0);
	g_free(f->dir);
	g_free(f->process);
	g_free(f->root);
	g_free(f->copy);
	g_free(f->debug);
	g_free(f->kallsyms);
}

void map_text(struct fixture *f, uint64_t inode, const char *path)
{
	g_autofree char *maps = g_build_filename(f->process, "maps", NULL);
	g_autofree char *line = g_strdup_printf("%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r-xp %" G_GINT64_MODIFIER
						"x %x:%x %" G_GUINT64_FORMAT " %s\n", f->text.start, f->text.end, f->text.pgoff,
						major(f->st.st_dev), minor(f->st.st_dev), inode, path);

	put(maps, line, -1);
}

void probe_is(struct fixture *f, const char *name, const char *module, enum frame_why why)
{
	struct symbol symbol;

	symbolizer_user(f->symbolizer, 500, 1, PROBE, false, &symbol);
	g_assert_cmpstr(symbol.name, ==, name);
	g_assert_cmpstr(symbol.module, ==, module);
	g_assert_cmpint(symbol.why, ==, why);
}
