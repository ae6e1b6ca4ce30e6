/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a real child waits for. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fold/limits/limits.h"
#include "fold/targets/part.h"

#include "../fixture.h"

#define MS UINT64_C(1000000)

/* Writes, or reads, at the pipe for ever. */
static pid_t child_at(const int ends[2], bool writes)
{
	const pid_t child = fork();
	char bytes[4096] = "";

	if (child)
		return child;
	close(ends[!writes]);	/* it has only its own end */
	while ((writes ? write(ends[1], bytes, sizeof(bytes)) : read(ends[0], bytes, sizeof(bytes))) > 0)
		;
	_exit(0);
}

/* A real child at a pipe whose other end its parent has, or only this child's own brother. */
static void test_child_at_own_pipe(void)
{
	static const struct { bool writes, is_own; const char *told; } cases[] = {
		{ true, true, "own-pipe-full" }, { false, true, "own-pipe" }, { true, false, "pipe-full" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		const uint32_t pid = (uint32_t)getpid(), thread = fixture_thread(p, pid, pid, "app", "app");
		int ends[2];

		g_assert_cmpint(pipe(ends), ==, 0);
		const pid_t brother = cases[i].is_own ? 0 : fork();
		if (brother == 0 && !cases[i].is_own) {
			pause();
			_exit(0);
		}
		const pid_t child = child_at(ends, cases[i].writes);
		close(ends[cases[i].writes]);
		if (!cases[i].is_own)
			close(ends[!cases[i].writes]);
		g_autofree char *wchan = g_strdup_printf("/proc/%d/wchan", child), *at = NULL;
		for (unsigned k = 0; k < 1000 && !(at && strstr(at, "pipe_")); k++) {
			g_clear_pointer(&at, g_free);
			g_usleep(2000);
			g_file_get_contents(wchan, &at, NULL, NULL);
		}
		const struct object o = { .kind = OBJECT_CHILD, .name = "app", .operation = "", .place = "", .pid = (uint32_t)child };
		struct wait w = { .thread = thread, .state = 'S', .count = 1, .blocked_ns = 900 * MS, .flags = WAIT_OPEN_AT_END };

		w.object = profile_object(p, &o) + 1;
		w.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "kernel_wait4@[kernel] do_wait@[kernel]");
		profile_add_wait(p, &w);
		p->info.duration_ns = 1000 * MS;
		children_look(p, NULL, NULL, "/proc");
		const struct profile_limit *l = profile_find_limit(p, LIMIT_CHILD, pid, 0);
		char there[64];
		struct limit_child c;

		g_test_message("%s: %s", cases[i].told, l ? l->text : "none");
		g_assert_true(limit_child_read(l, &c, there, sizeof(there)));
		g_assert_nonnull(strstr(l->text, cases[i].told));
		g_assert_cmpint(!strstr(l->text, "own"), ==, !cases[i].is_own);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		if (!cases[i].is_own) {
			kill(brother, SIGKILL);
			waitpid(brother, NULL, 0);
		} else {
			close(ends[!cases[i].writes]);
		}
		profile_free(p);
	}
}

static void wait_until_at(pid_t child, const char *place)
{
	g_autofree char *wchan = g_strdup_printf("/proc/%d/wchan", child), *at = NULL;

	for (unsigned k = 0; k < 1000 && !(at && strstr(at, place)); k++) {
		g_clear_pointer(&at, g_free);
		g_usleep(2000);
		g_file_get_contents(wchan, &at, NULL, NULL);
	}
}

/* A child that writes into a full pipe, and its reader, which sleeps: who reads is found, and what both do. */
static void test_ends(void)
{
	struct profile *p = profile_new();
	struct ends *e = ends_new("/proc");
	const struct client_search s = { "/proc", net_tables_new("/proc"), NULL, fd_owners_new("/proc") };
	struct limit_end end;
	char there[64];
	int ends[2];

	g_assert_cmpint(pipe(ends), ==, 0);
	const pid_t reader = fork();

	if (reader == 0) {
		close(ends[1]);
		sleep(60);
		_exit(0);
	}
	const pid_t writer = child_at(ends, true);

	close(ends[0]);
	close(ends[1]);
	wait_until_at(writer, "pipe_write");
	wait_until_at(reader, "nanosleep");
	g_assert_true(fd_owners_read(s.owners, true));
	ends_note(e, (uint32_t)writer);
	for (unsigned i = 0; i < 3; i++)
		ends_look(e, &s);
	ends_put(e, p, &s);
	g_assert_true(limit_end_read(profile_end(p, (uint32_t)writer), &end, there, sizeof(there)));
	g_assert_cmpint(end.does, ==, CHILD_PIPE_FULL);
	g_assert_cmpuint(end.next, ==, (uint32_t)reader);
	g_assert_true(limit_end_read(profile_end(p, (uint32_t)reader), &end, there, sizeof(there)));
	g_assert_cmpint(end.does, ==, CHILD_SLEEPS);
	g_assert_cmpuint(end.seen, ==, end.looks);
	kill(writer, SIGKILL);
	kill(reader, SIGKILL);
	waitpid(writer, NULL, 0);
	waitpid(reader, NULL, 0);
	ends_free(e);
	fd_owners_free(s.owners);
	net_tables_free(s.nets);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/limits/child-at-own-pipe", test_child_at_own_pipe);
	g_test_add_func("/limits/ends", test_ends);
	return g_test_run();
}
