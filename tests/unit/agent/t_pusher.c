/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which windows are put where they wait for an engine; nobody answers at its address. */
#include <glib/gstdio.h>
#include <string.h>

#include "agent/pusher.h"
#include "../fixture.h"

static void quiet(enum log_level level, const char *sentence)
{
}

static unsigned waiting(const char *spool)
{
	g_autofree char *path = g_build_filename(spool, "clickhouse", NULL);
	g_autoptr(GDir) d = g_dir_open(path, 0, NULL);
	const char *name;
	unsigned cnt = 0;

	g_assert_nonnull(d);
	while ((name = g_dir_read_name(d)))
		cnt += g_str_has_suffix(name, ".push");
	return cnt;
}

static void remove_spool(const char *spool)
{
	g_autofree char *path = g_build_filename(spool, "clickhouse", NULL);
	g_autoptr(GDir) d = g_dir_open(path, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(d))) {
		g_autofree char *file = g_build_filename(path, name, NULL);

		g_unlink(file);
	}
	g_rmdir(path);
	g_rmdir(spool);
}

/* How many windows are kept of one that has findings and one in which nobody waits. */
static unsigned kept(const char *which, bool is_alarming)
{
	g_autofree char *spool = g_dir_make_tmp("offcpu-pusher-XXXXXX", NULL);
	g_autofree char *text = g_strdup_printf("[push]\nclickhouse = http://127.0.0.1:1\nspool = %s\nwindows = %s\n", spool, which);
	g_autoptr(GError) error = NULL;
	struct agent_config *c = agent_config_new();
	struct profile *windows[] = { fixture_new(), profile_new() };

	g_assert_true(agent_config_take(c, text, strlen(text), "a.conf", &error));
	struct pusher *p = pusher_new(c, quiet);

	for (size_t i = 0; i < G_N_ELEMENTS(windows); i++) {
		struct reasons *reasons = reasons_new(windows[i], NULL);

		pusher_add(p, windows[i], reasons, is_alarming);
		reasons_free(reasons);
		profile_free(windows[i]);
	}
	pusher_free(p);
	unsigned cnt = waiting(spool);

	remove_spool(spool);
	agent_config_free(c);
	return cnt;
}

static void test_windows(void)
{
	g_assert_cmpuint(kept("all", false), ==, 2);
	g_assert_cmpuint(kept("findings", false), ==, 1);
	g_assert_cmpuint(kept("findings", true), ==, 2);
	g_assert_cmpuint(kept("alerts", false), ==, 0);
	g_assert_cmpuint(kept("alerts", true), ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/pusher/windows", test_windows);
	return g_test_run();
}
