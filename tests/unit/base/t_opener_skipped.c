/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What did not answer is skipped, and after four processes of one user all of his: whom, and for how long. */
#include "base/opener/wire.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MINUTE_US (INT64_C(60) * G_USEC_PER_SEC)
#define USER 12345
#define OTHER_USER 23456
#define PROCESSES 5

/* Of that user, where we may; it sleeps until it is killed. */
static pid_t sleeper(uid_t user)
{
	int ready[2];
	pid_t pid;
	char byte = 0;

	g_assert_cmpint(pipe(ready), ==, 0);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(user, user, user))
			_exit(1);
		if (write(ready[1], &byte, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is_skipped(const struct opener_skipped *s, pid_t pid, int64_t now_us)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/maps", (int)pid), *subject = opener_subject_of_path(path);

	return opener_skipped_has(s, subject, now_us);
}

static void add(struct opener_skipped *s, pid_t pid, int64_t now_us)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/maps", (int)pid), *subject = opener_subject_of_path(path);

	opener_skipped_add(s, subject, G_USEC_PER_SEC, now_us);
}

static bool has_news_of_user(struct opener_skipped *s)
{
	bool is_there = false;

	for (char *news; (news = opener_skipped_news(s)); g_free(news))
		is_there |= strstr(news, "did not answer 4 times, and all of them are skipped") != NULL;
	return is_there;
}

static void test_process(void)
{
	struct opener_skipped *s = opener_skipped_new();
	pid_t pid = sleeper(USER), other = sleeper(USER);
	int64_t now_us = MINUTE_US;

	add(s, pid, now_us);
	g_assert_true(is_skipped(s, pid, now_us + MINUTE_US - 1));
	g_assert_false(is_skipped(s, other, now_us));
	g_assert_false(is_skipped(s, pid, now_us + MINUTE_US));
	add(s, pid, now_us + MINUTE_US);	/* in vain again: twice as long */
	g_assert_true(is_skipped(s, pid, now_us + 3 * MINUTE_US - 1));
	g_assert_false(is_skipped(s, pid, now_us + 3 * MINUTE_US));
	add(s, pid, now_us + 3 * MINUTE_US);
	end(pid);
	g_assert_false(is_skipped(s, pid, now_us + 3 * MINUTE_US));	/* its number may be another one's */
	end(other);
	opener_skipped_free(s);
}

static void test_user(void)
{
	struct opener_skipped *s = opener_skipped_new();
	pid_t pids[PROCESSES], other = sleeper(OTHER_USER);
	int64_t now_us = MINUTE_US;

	for (int i = 0; i < PROCESSES; i++)
		pids[i] = sleeper(USER);
	for (int i = 0; i < PROCESSES - 1; i++) {
		g_assert_false(is_skipped(s, pids[PROCESSES - 1], now_us));
		g_assert_false(has_news_of_user(s));
		add(s, pids[i], now_us);
	}
	g_assert_true(is_skipped(s, pids[PROCESSES - 1], now_us));
	g_assert_true(has_news_of_user(s));
	g_assert_false(is_skipped(s, pids[PROCESSES - 1], now_us + MINUTE_US));
	if (geteuid() == 0) {
		g_assert_false(is_skipped(s, other, now_us));
		g_assert_false(is_skipped(s, getpid(), now_us));
	}
	for (int i = 0; i < PROCESSES; i++)
		end(pids[i]);
	end(other);
	opener_skipped_free(s);
}

/* Root's processes are each skipped by itself: services of the system are never skipped as a whole. */
static void test_root(void)
{
	struct opener_skipped *s = opener_skipped_new();
	pid_t pids[PROCESSES];

	if (geteuid() != 0) {
		g_test_skip("root's processes are root's to make");
		opener_skipped_free(s);
		return;
	}
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = sleeper(0);
	for (int i = 0; i < PROCESSES - 1; i++)
		add(s, pids[i], MINUTE_US);
	g_assert_true(is_skipped(s, pids[0], MINUTE_US));
	g_assert_false(is_skipped(s, pids[PROCESSES - 1], MINUTE_US));
	for (int i = 0; i < PROCESSES; i++)
		end(pids[i]);
	opener_skipped_free(s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/opener-skipped/process", test_process);
	g_test_add_func("/opener-skipped/user", test_user);
	g_test_add_func("/opener-skipped/root", test_root);
	return g_test_run();
}
