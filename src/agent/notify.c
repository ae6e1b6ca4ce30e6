/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/notify.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

struct notify {
	int fd;		/* -1: no socket */
	struct sockaddr_un to;
	socklen_t to_len;
	uint64_t watchdog_ns, alive_ns;
};

static bool set_address(struct notify *n, const char *path)
{
	gsize len = path ? strlen(path) : 0;

	if (len < 2 || len >= sizeof(n->to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return false;
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, path, len);
	if (path[0] == '@')
		n->to.sun_path[0] = '\0';
	n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	return true;
}

/* Half of systemd's timeout, as recommended. */
static uint64_t watchdog_ns(const char *usec, const char *of_pid, int pid)
{
	uint64_t us;

	if (!usec || !g_ascii_string_to_unsigned(usec, 10, 1, UINT64_MAX / 1000, &us, NULL))
		return 0;
	if (of_pid && g_ascii_strtoll(of_pid, NULL, 10) != pid)
		return 0;
	return us * 1000 / 2;
}

struct notify *notify_new(const char *socket_path, const char *watchdog_usec, const char *watchdog_pid, int pid)
{
	struct notify *n = g_new0(struct notify, 1);

	n->fd = -1;
	if (!set_address(n, socket_path))
		return n;
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	n->watchdog_ns = watchdog_ns(watchdog_usec, watchdog_pid, pid);
	return n;
}

void notify_free(struct notify *n)
{
	if (!n)
		return;
	if (n->fd >= 0)
		close(n->fd);
	g_free(n);
}

static void send_datagram(struct notify *n, const char *text)
{
	if (n->fd >= 0 && sendto(n->fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&n->to, n->to_len) < 0)
		return;		/* a failure could only be reported through this socket */
}

static void tell_with_status(struct notify *n, const char *what, const char *status)
{
	g_autofree char *safe = text_made_safe(status);
	g_autofree char *text = g_strdup_printf("%s%sSTATUS=%s", what, *what ? "\n" : "", safe);

	send_datagram(n, text);
}

void notify_ready(struct notify *n, const char *status)
{
	tell_with_status(n, "READY=1", status);
}

void notify_reloading(struct notify *n, uint64_t monotonic_ns)
{
	g_autofree char *text = g_strdup_printf("RELOADING=1\nMONOTONIC_USEC=%" G_GUINT64_FORMAT, monotonic_ns / 1000);

	send_datagram(n, text);
}

void notify_stopping(struct notify *n, const char *status)
{
	tell_with_status(n, "STOPPING=1", status);
}

void notify_status(struct notify *n, const char *status)
{
	tell_with_status(n, "", status);
}

void notify_alive(struct notify *n, uint64_t monotonic_ns)
{
	if (!n->watchdog_ns || monotonic_ns - n->alive_ns < n->watchdog_ns / 2)
		return;
	n->alive_ns = monotonic_ns;
	send_datagram(n, "WATCHDOG=1");
}

uint64_t notify_watchdog_ns(const struct notify *n)
{
	return n->watchdog_ns;
}
