/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "base/proc/net_table.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768	/* the kernel fills this much at a time */

static void take_name(struct unix_socket *s, const struct rtattr *a)
{
	const char *name = RTA_DATA(a);
	size_t bytes = MIN(RTA_PAYLOAD(a), sizeof(s->name) - 2), at = bytes && !*name ? 1 : 0;

	if (at)
		*s->name = '@';
	for (size_t i = at; i < bytes && name[i]; i++)
		s->name[i] = name[i];
}

static struct unix_socket socket_of(const struct nlmsghdr *head)
{
	const struct unix_diag_msg *body = NLMSG_DATA(head);
	struct unix_socket s = { .inode = body->udiag_ino, .listens = body->udiag_state == TCP_LISTEN };
	size_t left = head->nlmsg_len - MIN(head->nlmsg_len, NLMSG_SPACE(sizeof(*body)));
	const struct rtattr *a = (const struct rtattr *)((const char *)head + NLMSG_SPACE(sizeof(*body)));
	struct unix_diag_rqlen queue;
	uint32_t peer;

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == UNIX_DIAG_NAME) {
			take_name(&s, a);
		} else if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof(peer)) {
			memcpy(&peer, RTA_DATA(a), sizeof(peer));
			s.peer = peer;
		} else if (a->rta_type == UNIX_DIAG_RQLEN && RTA_PAYLOAD(a) >= sizeof(queue)) {
			memcpy(&queue, RTA_DATA(a), sizeof(queue));
			s.queued = s.listens ? queue.udiag_rqueue : 0;
		}
	}
	return s;
}

/* False: that was the last part of the answer. */
static bool take_part(GArray *sockets, const char *part, size_t bytes)
{
	const struct nlmsghdr *head = (const struct nlmsghdr *)part;

	for (size_t left = bytes; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
		if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY || sockets->len >= UNIX_TABLE_MAX)
			return false;
		if (head->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)) ||
		    ((const struct unix_diag_msg *)NLMSG_DATA(head))->udiag_type != SOCK_STREAM)
			continue;
		const struct unix_socket s = socket_of(head);

		g_array_append_val(sockets, s);
	}
	return true;
}

static bool request_sockets(int fd)
{
	const struct {
		struct nlmsghdr head;
		struct unix_diag_req body;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.body = { .sdiag_family = AF_UNIX,
			  .udiag_states = 1 << TCP_ESTABLISHED | 1 << TCP_LISTEN,
			  .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN },
	};
	const struct timeval patience = { .tv_usec = 100000 };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return sendto(fd, &request, sizeof(request), 0, (const struct sockaddr *)&kernel, sizeof(kernel)) ==
	       (ssize_t)sizeof(request);
}

GArray *unix_table_new(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	GArray *sockets = NULL;

	if (fd >= 0 && request_sockets(fd)) {
		_Alignas(struct nlmsghdr) char part[ANSWER_BYTES];
		ssize_t bytes;

		sockets = g_array_new(FALSE, FALSE, sizeof(struct unix_socket));
		do
			bytes = recv(fd, part, sizeof(part), 0);
		while (bytes > 0 && take_part(sockets, part, (size_t)bytes));
	}
	if (fd >= 0)
		close(fd);
	return sockets;
}

const struct unix_socket *unix_table_find(const GArray *sockets, uint64_t inode)
{
	return FIRST_ROW(const struct unix_socket, s, sockets, s->inode == inode && inode != 0, s, NULL);
}
