/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/notify.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket as systemd's, at that address. */
static int listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path, path, strlen(path));
	if (path[0] == '@')
		at.sun_path[0] = '\0';
	g_assert_cmpint(bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))), ==, 0);
	return fd;
}

static void assert_told(int fd, const char *want)
{
	char text[256];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (!want) {
		g_assert_cmpint(n, <, 0);
		return;
	}
	g_assert_cmpint(n, >, 0);
	text[n] = '\0';
	g_assert_cmpstr(text, ==, want);
}

static void check_messages(const char *path)
{
	int fd = listen_at(path);
	struct notify *n = notify_new(path, "4000000", NULL, 7);

	notify_ready(n, "recording");
	assert_told(fd, "READY=1\nSTATUS=recording");
	notify_reloading(n, 1234567);
	assert_told(fd, "RELOADING=1\nMONOTONIC_USEC=1234");
	notify_status(n, "well");
	assert_told(fd, "STATUS=well");
	notify_status(n, "of x\nREADY=1\xc2\x9b");
	assert_told(fd, "STATUS=of x\\x0aREADY=1\\u009b");
	notify_stopping(n, "ends");
	assert_told(fd, "STOPPING=1\nSTATUS=ends");
	/* twice as often as half of the 4 s */
	g_assert_cmpuint(notify_watchdog_ns(n), ==, 2000000000);
	notify_alive(n, 10000000000);
	assert_told(fd, "WATCHDOG=1");
	notify_alive(n, 10900000000);
	assert_told(fd, NULL);
	notify_alive(n, 11000000000);
	assert_told(fd, "WATCHDOG=1");
	notify_free(n);
	close(fd);
}

static void test_path(void)
{
	g_autofree char *dir = g_dir_make_tmp("notify-XXXXXX", NULL), *path = g_build_filename(dir, "s", NULL);

	check_messages(path);
	g_unlink(path);
	g_rmdir(dir);
}

static void test_abstract(void)
{
	g_autofree char *path = g_strdup_printf("@offcpu-test-notify-%d", getpid());

	check_messages(path);
}

static void test_nobody(void)
{
	static const char *const paths[] = { NULL, "", "/", "relative", "/no/such/socket" };

	for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
		struct notify *n = notify_new(paths[i], NULL, NULL, 7);

		notify_ready(n, "recording");
		notify_alive(n, 1);
		g_assert_cmpuint(notify_watchdog_ns(n), ==, 0);
		notify_free(n);
	}
	g_autofree char *longer = g_strnfill(200, '/');
	struct notify *n = notify_new(longer, "1000000", NULL, 7);

	notify_ready(n, "recording");
	notify_free(n);
}

static void test_watchdog(void)
{
	static const struct {
		const char *usec, *pid;
		uint64_t ns;
	} cases[] = {
		{ "1000000", NULL, 500000000 }, { "1000000", "7", 500000000 }, { "1000000", "8", 0 },
		{ "0", NULL, 0 }, { "", NULL, 0 }, { "soon", NULL, 0 }, { "-5", NULL, 0 }, { "99999999999999999999", NULL, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct notify *n = notify_new("/no/such/socket", cases[i].usec, cases[i].pid, 7);

		g_assert_cmpuint(notify_watchdog_ns(n), ==, cases[i].ns);
		notify_free(n);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/notify/path", test_path);
	g_test_add_func("/notify/abstract", test_abstract);
	g_test_add_func("/notify/nobody", test_nobody);
	g_test_add_func("/notify/watchdog", test_watchdog);
	return g_test_run();
}
