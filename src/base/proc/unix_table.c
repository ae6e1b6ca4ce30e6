/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "base/proc/sock_table.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

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

static void take_socket(const struct nlmsghdr *head, GArray *sockets)
{
	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)) ||
	    ((const struct unix_diag_msg *)NLMSG_DATA(head))->udiag_type != SOCK_STREAM)
		return;
	const struct unix_socket s = socket_of(head);

	g_array_append_val(sockets, s);
}

GArray *unix_table_new(void)
{
	const struct unix_diag_req request = {
		.sdiag_family = AF_UNIX,
		.udiag_states = 1 << TCP_ESTABLISHED | 1 << TCP_LISTEN,
		.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN,
	};
	GArray *sockets = g_array_new(FALSE, FALSE, sizeof(struct unix_socket));

	if (!sock_table_add(sockets, &request, sizeof(request), take_socket))
		g_clear_pointer(&sockets, g_array_unref);
	return sockets;
}

const struct unix_socket *unix_table_find(const GArray *sockets, uint64_t inode)
{
	return FIRST_ROW(const struct unix_socket, s, sockets, s->inode == inode && inode != 0, s, NULL);
}
