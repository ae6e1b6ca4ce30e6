/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/refuse.h"

#define BACKLOG 1024

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool make_address(const char *text, guint16 port, union address *a, socklen_t *len)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		*len = sizeof(a->v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) != 1)
		return false;
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons(port);
	*len = sizeof(a->v6);
	return true;
}

static char *name_of(const union address *a)
{
	char text[INET6_ADDRSTRLEN];

	if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->v4.sin_addr, text, sizeof(text));
		return g_strdup_printf("%s:%u", text, ntohs(a->v4.sin_port));
	}
	inet_ntop(AF_INET6, &a->v6.sin6_addr, text, sizeof(text));
	return g_strdup_printf("[%s]:%u", text, ntohs(a->v6.sin6_port));
}

int listen_on(const char *address, guint16 port, char **ret_name, GError **error)
{
	union address a;
	socklen_t len;
	int one = 1, err;

	if (!make_address(address, port, &a, &len)) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "\"%s\" is no IP address", address);
		return -1;
	}
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 && bind(fd, &a.any, len) == 0 &&
	    listen(fd, BACKLOG) == 0 && getsockname(fd, &a.any, &len) == 0) {
		*ret_name = name_of(&a);
		return fd;
	}
	err = errno;
	if (fd >= 0)
		close(fd);
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(err), "cannot listen on %s port %u: %s", address,
		    port, g_strerror(err));
	return -1;
}

void listen_peer_text(const struct sockaddr *address, char *ret, gsize size)
{
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

	*ret = '\0';
	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, ret,
			  (socklen_t)size);
	else if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(v6))
		inet_ntop(AF_INET, &v6->s6_addr[12], ret, (socklen_t)size);
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, v6, ret, (socklen_t)size);
}

bool listen_is_loopback(const char *address)
{
	union address a;
	socklen_t len;

	if (!make_address(address, 0, &a, &len))
		return false;
	return a.any.sa_family == AF_INET ? ntohl(a.v4.sin_addr.s_addr) >> 24 == 127
					  : IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr) != 0;
}

bool listen_parse(const char *text, char **ret_address, guint16 *ret_port, GError **error)
{
	const char *end = *text == '[' ? strchr(text, ']') : NULL;
	const char *colon = end ? (end[1] == ':' ? end + 1 : NULL) : strrchr(text, ':');
	bool is_plain_v6 = !end && colon && strchr(text, ':') != colon;
	guint64 port = 0;
	union address a;
	socklen_t len;

	if (is_plain_v6)	/* "::1": the whole text is the address */
		colon = NULL;
	gsize address_len = end ? (gsize)(end - text - 1) : colon ? (gsize)(colon - text) : strlen(text);
	g_autofree char *address = g_strndup(end ? text + 1 : text, address_len);

	if ((end && end[1] && !colon) ||
	    (colon && !g_ascii_string_to_unsigned(colon + 1, 10, 0, G_MAXUINT16, &port, NULL)) ||
	    (*address ? !make_address(address, 0, &a, &len) : !colon))
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			"\"%s\" is no address and port, like 127.0.0.1:8080", text);
	*ret_address = *address ? g_steal_pointer(&address) : NULL;
	*ret_port = (guint16)port;
	return true;
}
