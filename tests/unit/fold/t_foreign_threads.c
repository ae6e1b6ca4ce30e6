/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <unistd.h>

#include <glib/gstdio.h>

struct fixture {
	char *proc;
	struct foreign_threads *threads;
};

static void write_file(const struct fixture *x, const char *folder, const char *name, const char *text)
{
	g_autofree char *in = g_build_filename(x->proc, folder, NULL), *path = g_build_filename(in, name, NULL);

	g_assert_cmpint(g_mkdir_with_parents(in, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void add_thread(const struct fixture *x, unsigned ours, const char *ids)
{
	g_autofree char *folder = g_strdup_printf("70/task/%u", ours), *text = g_strdup_printf("Name:\tx\nNSpid:\t%s\nVmPeak:\t7\n", ids);

	write_file(x, folder, "status", text);
}

static void set_up(struct fixture *x, gconstpointer data)
{
	x->proc = g_dir_make_tmp("foreign-XXXXXX", NULL);
	write_file(x, "self/ns", "pid", "");
	write_file(x, "70/ns", "pid", "");
	add_thread(x, 70, "70\t1");
	add_thread(x, 71, "71\t30\t5");
	x->threads = foreign_threads_new(x->proc);
}

static void tear_down(struct fixture *x, gconstpointer data)
{
	g_autofree char *remove = g_strdup_printf("rm -r '%s'", x->proc);

	g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
	foreign_threads_free(x->threads);
	g_free(x->proc);
}

static void test_find(struct fixture *x, gconstpointer data)
{
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 5), ==, 71);
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 1), ==, 70);
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 30), ==, 0);
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 0), ==, 0);
	g_assert_cmpuint(foreign_threads_find(x->threads, 99, 1, 5), ==, 0);	/* has ended */
}

static void test_own_namespace(struct fixture *x, gconstpointer data)
{
	g_autofree char *self = g_build_filename(x->proc, "self/ns/pid", NULL), *theirs = g_build_filename(x->proc, "80/ns/pid", NULL);

	write_file(x, "80/ns", "other", "");
	g_assert_cmpint(link(self, theirs), ==, 0);
	g_assert_cmpuint(foreign_threads_find(x->threads, 80, 1, 12345), ==, 12345);
}

/* Words without end cost no reading each; a thread that is there later is found after a pause; another process with the number at once. */
static void test_pause(struct fixture *x, gconstpointer data)
{
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 6), ==, 0);
	add_thread(x, 72, "72\t6");
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 6), ==, 0);
	g_usleep(FOREIGN_PAUSE_US + 1000);
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 6), ==, 72);
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 7), ==, 0);
	add_thread(x, 73, "73\t7");
	g_usleep(FOREIGN_PAUSE_US + 1000);
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 1, 7), ==, 0);	/* the second pause is longer */
	g_assert_cmpuint(foreign_threads_find(x->threads, 70, 2, 7), ==, 73);
}

#define ADD(name, test) g_test_add("/foreign-threads/" name, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("find", test_find);
	ADD("own-namespace", test_own_namespace);
	ADD("pause", test_pause);
	return g_test_run();
}
