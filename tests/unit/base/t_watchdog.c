/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A process that stands still says where its threads stand, once; one that goes on says nothing. */
#include "base/urgency.h"

#include <glib.h>
#include <string.h>

static GMutex lock;
static GString *said;

static void say(const char *line, void *data)
{
	g_assert_true(data == &said);
	g_mutex_lock(&lock);
	g_string_append_printf(said, "%s\n", line);
	g_mutex_unlock(&lock);
}

static gpointer stand(gpointer data)
{
	g_mutex_lock(data);
	g_mutex_unlock(data);
	return NULL;
}

static const struct watchdog_options soon = { .after_ms = 100, .why = "it stands still:", .say = say, .data = &said };

/* What was said meanwhile. */
static char *take(unsigned ms)
{
	g_usleep(ms * 1000);
	g_mutex_lock(&lock);
	char *text = g_strdup(said->str);

	g_string_truncate(said, 0);
	g_mutex_unlock(&lock);
	return text;
}

static void test_stands(void)
{
	GMutex held;

	g_mutex_init(&held);
	g_mutex_lock(&held);
	GThread *thread = g_thread_new("waits-for-lock", stand, &held);

	watchdog_begin(&soon);
	for (unsigned round = 0; round < 2; round++) {
		g_autofree char *first = take(600), *second = take(300);

		g_assert_true(g_str_has_prefix(first, "it stands still:\n"));
		g_assert_nonnull(strstr(first, "  waits-for-lock ("));
		g_assert_nonnull(strstr(first, "futex"));
		g_assert_cmpstr(second, ==, "");	/* until it is fed again */
		watchdog_feed();
	}
	watchdog_end();
	g_mutex_unlock(&held);
	g_thread_join(thread);
}

static void test_goes_on(void)
{
	const struct watchdog_options later = { .after_ms = 2000, .why = "", .say = say, .data = &said };

	watchdog_begin(&later);
	for (unsigned i = 0; i < 30; i++) {
		g_usleep(100 * 1000);
		watchdog_feed();
	}
	watchdog_end();
	g_autofree char *text = take(0);

	g_assert_cmpstr(text, ==, "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	said = g_string_new(NULL);
	g_test_add_func("/watchdog/stands", test_stands);
	g_test_add_func("/watchdog/goes-on", test_goes_on);
	int status = g_test_run();

	g_string_free(said, TRUE);
	return status;
}
