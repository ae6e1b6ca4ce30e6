/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/proc/sock_table.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768	/* the kernel fills this much at a time */
#define TIMER_PROBE 4	/* net/ipv4/inet_diag.c: it asks whether the window is open again */

static bool request_sockets(int fd, const void *body, size_t bytes)
{
	struct nlmsghdr head = {
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(bytes),
		.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	};
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)body, bytes } };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	const struct msghdr message = { .msg_name = &kernel, .msg_namelen = sizeof(kernel), .msg_iov = parts,
					.msg_iovlen = G_N_ELEMENTS(parts) };
	const struct timeval patience = { .tv_usec = 100000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return sendmsg(fd, &message, 0) == (ssize_t)head.nlmsg_len;
}

/* What follows the part: more, nothing, or an error. */
enum follows { FOLLOWS_MORE, FOLLOWS_NOTHING, FOLLOWS_ERROR };

static enum follows take_part(GArray *sockets, const char *part, size_t bytes,
			      void (*take)(const struct nlmsghdr *head, GArray *sockets))
{
	const struct nlmsghdr *head = (const struct nlmsghdr *)part;

	for (size_t left = bytes; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
		if (head->nlmsg_type == NLMSG_DONE || sockets->len >= SOCK_TABLE_MAX)
			return FOLLOWS_NOTHING;
		if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
			return FOLLOWS_ERROR;
		take(head, sockets);
	}
	return FOLLOWS_MORE;
}

bool sock_table_add(GArray *sockets, const void *body, size_t bytes,
		    void (*take)(const struct nlmsghdr *head, GArray *sockets))
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	enum follows follows = FOLLOWS_ERROR;

	if (fd >= 0 && request_sockets(fd, body, bytes)) {
		_Alignas(struct nlmsghdr) char part[ANSWER_BYTES];

		do {
			ssize_t len = recv(fd, part, sizeof(part), 0);

			follows = len > 0 ? take_part(sockets, part, (size_t)len, take) : FOLLOWS_ERROR;
		} while (follows == FOLLOWS_MORE);
	}
	if (fd >= 0)
		close(fd);
	return follows == FOLLOWS_NOTHING;
}

static void take_tcp(const struct nlmsghdr *head, GArray *sockets)
{
	const struct inet_diag_msg *body = NLMSG_DATA(head);

	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(*body)))
		return;
	const size_t bytes = body->idiag_family == AF_INET ? 4 : 16;
	const struct net_socket s = {
		.local = net_end_of((const uint8_t *)body->id.idiag_src, bytes, ntohs(body->id.idiag_sport)),
		.remote = net_end_of((const uint8_t *)body->id.idiag_dst, bytes, ntohs(body->id.idiag_dport)),
		.inode = body->idiag_inode,
		.state = body->idiag_state,
		.is_tcp = true,
		.is_shut_out = body->idiag_timer == TIMER_PROBE,
		.queued = body->idiag_state == TCP_LISTEN ? body->idiag_rqueue : 0,
	};

	g_array_append_val(sockets, s);
}

bool tcp_table_add(GArray *sockets, uint32_t states)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	const guint before = sockets->len;

	for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
		const struct inet_diag_req_v2 request = {
			.sdiag_family = families[i], .sdiag_protocol = IPPROTO_TCP, .idiag_states = states,
		};

		/* a kernel without IPv6 has none of these */
		if (!sock_table_add(sockets, &request, sizeof(request), take_tcp) && families[i] == AF_INET) {
			g_array_set_size(sockets, before);
			return false;
		}
	}
	return true;
}
