/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A process that gets no more memory, in each way in which GLib notices it, in the main thread and in another one. */

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "cmd/cmd.h"

/* Of this much and less each piece is taken until there is none left. */
#define PIECE_MOST (1u << 20)
#define PIECE_LEAST 16u

static void take_all(void)
{
	const struct rlimit none = { 0 };
	void *volatile piece;	/* else a compiler may leave the call out (gcc 16), and this never ends */

	setrlimit(RLIMIT_AS, &none);
	for (size_t bytes = PIECE_MOST; bytes >= PIECE_LEAST; bytes /= 2)
		while ((piece = malloc(bytes)))
			;
}

static void want_text(void)
{
	g_free(g_strdup_printf("%*d", 4000, 1));
}

static void want_memory(void)
{
	g_free(g_malloc(4000));
}

static void want_slices(void)
{
	for (;;)
		g_slice_alloc(200);
}

static void (*const ways[])(void) = { want_text, want_memory, want_slices };

static gpointer run_out(gpointer data)
{
	void (*const *way)(void) = data;

	spare_stack_use();
	take_all();
	(*way)();
	return NULL;
}

/* The child's part; what it says goes to fd. */
static void end_without_room(unsigned way, bool apart, int fd)
{
	const struct rlimit no_core = { 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	dup2(fd, STDERR_FILENO);
	no_room_tell();
	if (apart)
		g_thread_join(quiet_thread_new("apart", run_out, (gpointer)&ways[way], NULL));
	else
		run_out((gpointer)&ways[way]);
	_exit(EXIT_OK);
}

static void test_is_told(gconstpointer data)
{
	unsigned what = GPOINTER_TO_UINT(data);
	char said[400] = { 0 };
	int fds[2], status;
	ssize_t got;
	pid_t child;

#ifdef __SANITIZE_ADDRESS__
	g_test_skip("the sanitizer's own memory is bounded, too");
	return;
#endif
	g_assert_cmpint(pipe(fds), ==, 0);
	child = fork();
	if (!child)
		end_without_room(what / 2, what % 2, fds[1]);
	close(fds[1]);
	for (size_t len = 0; (got = read(fds[0], said + len, sizeof(said) - 1 - len)) > 0;)
		len += (size_t)got;
	close(fds[0]);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, EXIT_FAILED);
	g_assert_nonnull(strstr(said, "offcpu: the system gave no room"));
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "text", "memory", "slices" };

	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < 2 * G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_strdup_printf("/no-room/%s%s", names[i / 2], i % 2 ? "/apart" : "");

		g_test_add_data_func(path, GUINT_TO_POINTER(i), test_is_told);
	}
	return g_test_run();
}
