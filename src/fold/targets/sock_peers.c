/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/targets/sock_peers.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>

#include "base/clock.h"
#include "base/each.h"
#include "base/opener/opener.h"

#define ANSWER_BYTES 4096
#define FRESH_NS 100000000ULL
#define STREAM_SEGMENTS 8	/* sent per segment received: logs and metrics, which are never answered */

struct sock_peers {
	char *proc_dir;
	struct net_tables *tables;
	int fd;
	uint32_t seq;
	unsigned port_low, port_high;	/* range of ephemeral ports */
	struct stat our_net;
	/* the process last asked about, when, and whether it is in our network namespace: that takes longer than the rest */
	uint32_t asked_pid;
	uint64_t asked_ns;
	bool is_asked_ours;
};

/* As in include/uapi/linux/tcp.h. libc's struct is older and shorter. */
struct tcp_facts {
	struct tcp_info info;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
};

struct request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static void read_ports(struct sock_peers *s)
{
	g_autofree char *path = g_build_filename(s->proc_dir, "sys/net/ipv4/ip_local_port_range", NULL);
	g_autofree char *text = NULL;

	s->port_low = 32768;
	s->port_high = 60999;
	if (g_file_get_contents(path, &text, NULL, NULL)) {
		char *end = NULL;
		uint64_t low = g_ascii_strtoull(text, &end, 10), high = g_ascii_strtoull(end, NULL, 10);

		if (low && low <= high && high <= G_MAXUINT16) {
			s->port_low = (unsigned)low;
			s->port_high = (unsigned)high;
		}
	}
}

struct sock_peers *sock_peers_new(const char *proc_dir, struct net_tables *tables)
{
	struct sock_peers *s;
	g_autofree char *net = g_build_filename(proc_dir, "self/ns/net", NULL);
	const struct timeval patience = { .tv_usec = 100000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0)
		return NULL;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	s = g_new0(struct sock_peers, 1);
	s->fd = fd;
	s->proc_dir = g_strdup(proc_dir);
	s->tables = tables;
	read_ports(s);
	if (stat(net, &s->our_net))
		memset(&s->our_net, 0, sizeof(s->our_net));
	return s;
}

FREES(sock_peers_free, struct sock_peers, s, close(s->fd); g_free(s->proc_dir))

static bool is_our_net(struct sock_peers *s, uint32_t pid)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct stat st;

	if (pid == s->asked_pid && now_ns - s->asked_ns < FRESH_NS)
		return s->is_asked_ours;
	g_autofree char *net = g_strdup_printf("%s/%" PRIu32 "/ns/net", s->proc_dir, pid);

	s->asked_pid = pid;
	s->asked_ns = now_ns;
	/* an ended process is assumed to have had our namespace; the kernel finds only existing sockets anyway */
	s->is_asked_ours = !opener_stat(net, &st) || (st.st_ino == s->our_net.st_ino && st.st_dev == s->our_net.st_dev);
	return s->is_asked_ours;
}

/* Reads the TCP information that was requested with an answer. False: the answer has none. */
static bool read_tcp_info(const char *attributes, size_t bytes, struct tcp_facts *ret)
{
	const struct rtattr *a = (const struct rtattr *)attributes;

	for (size_t left = bytes; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type != INET_DIAG_INFO)
			continue;
		memset(ret, 0, sizeof(*ret));
		memcpy(ret, RTA_DATA(a), MIN(RTA_PAYLOAD(a), sizeof(*ret)));
		return true;
	}
	return false;
}

/* info: NULL, or receives what the kernel knows of a TCP connection. */
static bool read_answer(struct sock_peers *s, struct inet_diag_msg *ret, struct tcp_facts *info)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];

	for (int i = 0; i < 4; i++) {
		ssize_t len = recv(s->fd, answer, sizeof(answer), 0);
		const struct nlmsghdr *head = (const struct nlmsghdr *)answer;

		if (len < (ssize_t)sizeof(*head) || head->nlmsg_len > (size_t)len)
			return false;
		if (head->nlmsg_seq != s->seq)
			continue;	/* a late answer to an earlier question */
		if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY || head->nlmsg_len < NLMSG_LENGTH(sizeof(*ret)))
			return false;
		memcpy(ret, answer + NLMSG_HDRLEN, sizeof(*ret));
		return !info || read_tcp_info(answer + NLMSG_SPACE(sizeof(*ret)),
					      head->nlmsg_len - MIN(head->nlmsg_len, NLMSG_SPACE(sizeof(*ret))), info);
	}
	return false;
}

static bool ask_kernel(struct sock_peers *s, uint8_t family, uint8_t protocol, const struct inet_diag_sockid *id,
		       struct inet_diag_msg *ret, struct tcp_facts *info)
{
	struct request r = {
		.head = { .nlmsg_len = sizeof(r),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = ++s->seq },
		.body = { .sdiag_family = family, .sdiag_protocol = protocol,
			  .idiag_ext = info ? 1 << (INET_DIAG_INFO - 1) : 0, .idiag_states = ~0U, .id = *id },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (sendto(s->fd, &r, sizeof(r), 0, (const struct sockaddr *)&kernel, sizeof(kernel)) != (ssize_t)sizeof(r))
		return false;
	return read_answer(s, ret, info);
}

static uint8_t protocol_of(const struct offcpu_rec_target *rec)
{
	return rec->sock_type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
}

/* An IPv4 address in an IPv6 socket: the other end may be an IPv4 socket. */
static bool is_mapped(const uint8_t *address)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(address, prefix, sizeof(prefix)) == 0;
}

static uint64_t ask_inode(struct sock_peers *s, uint8_t family, const struct offcpu_rec_target *rec, size_t skip)
{
	struct inet_diag_sockid id = {
		.idiag_sport = htons(rec->remote_port), .idiag_dport = htons(rec->local_port),
		.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
	};
	size_t bytes = family == AF_INET ? 4 : 16;
	struct inet_diag_msg answer;

	if (family == AF_INET6 && rec->family == AF_INET) {
		id.idiag_src[2] = id.idiag_dst[2] = htonl(0xffff);
		memcpy(&id.idiag_src[3], rec->remote, 4);
		memcpy(&id.idiag_dst[3], rec->local, 4);
	} else {
		memcpy(id.idiag_src, rec->remote + skip, bytes);
		memcpy(id.idiag_dst, rec->local + skip, bytes);
	}
	if (!ask_kernel(s, family, protocol_of(rec), &id, &answer, NULL) || answer.id.idiag_dport != id.idiag_dport)
		return 0;	/* or the answer is a listener */
	return answer.idiag_inode;
}

static uint64_t inode_in_table(struct sock_peers *s, const struct offcpu_rec_target *rec)
{
	const GArray *sockets = net_tables_of(s->tables, rec->pid);
	const struct net_end local = LOCAL_END(rec), remote = REMOTE_END(rec);
	const struct net_socket *peer =
		sockets ? net_table_peer(sockets, protocol_of(rec) == IPPROTO_TCP, &local, &remote) : NULL;

	return peer ? peer->inode : 0;
}

uint64_t sock_peers_inode(struct sock_peers *s, const struct offcpu_rec_target *rec)
{
	uint64_t ino;

	if (!s || !rec->remote_port)
		return 0;
	if (!is_our_net(s, rec->pid))
		return inode_in_table(s, rec);
	if (rec->family == AF_INET) {
		ino = ask_inode(s, AF_INET, rec, 0);
		return ino ? ino : ask_inode(s, AF_INET6, rec, 0);
	}
	ino = ask_inode(s, AF_INET6, rec, 0);
	return ino || !is_mapped(rec->remote) ? ino : ask_inode(s, AF_INET, rec, 12);
}

static bool is_given(const struct sock_peers *s, unsigned port)
{
	return port >= s->port_low && port <= s->port_high;
}

static bool serves(struct sock_peers *s, uint8_t family, const struct offcpu_rec_target *rec)
{
	struct inet_diag_sockid id = {
		.idiag_sport = htons(rec->local_port), .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
	};
	struct inet_diag_msg answer;

	if (family == AF_INET || rec->family == AF_INET6)
		memcpy(id.idiag_src, rec->local, family == AF_INET ? 4 : 16);
	return ask_kernel(s, family, IPPROTO_TCP, &id, &answer, NULL) && answer.idiag_state == TCP_LISTEN;
}

bool sock_peers_is_server(struct sock_peers *s, const struct offcpu_rec_target *rec)
{
	if (!s)
		return rec->local_port < rec->remote_port;
	if (is_given(s, rec->local_port) != is_given(s, rec->remote_port))
		return is_given(s, rec->remote_port);
	if (rec->sock_type == SOCK_STREAM && is_our_net(s, rec->pid))
		return serves(s, (uint8_t)rec->family, rec) || (rec->family == AF_INET && serves(s, AF_INET6, rec));
	return rec->local_port < rec->remote_port;
}

/* info: NULL, or receives what is known of a connection. False: this socket was not found. */
static bool ask_about(struct sock_peers *s, uint32_t pid, const struct net_socket *socket, struct inet_diag_msg *ret,
		      struct tcp_facts *info)
{
	const uint8_t families[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < G_N_ELEMENTS(families) && is_our_net(s, pid); i++) {
		struct inet_diag_sockid id = {
			.idiag_sport = htons(socket->local.port), .idiag_dport = htons(socket->remote.port),
			.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
		};
		size_t skip = families[i] == AF_INET ? 12 : 0;

		if (skip && !is_mapped(socket->local.address))
			continue;
		memcpy(id.idiag_src, socket->local.address + skip, 16 - skip);
		memcpy(id.idiag_dst, socket->remote.address + skip, 16 - skip);
		if (ask_kernel(s, families[i], IPPROTO_TCP, &id, ret, info) && ret->idiag_inode == socket->inode)
			return true;
	}
	return false;
}

bool sock_peers_last_data(struct sock_peers *s, uint32_t pid, const struct net_socket *socket,
			  uint64_t *ret_received_ns, uint64_t *ret_sent_ns)
{
	struct inet_diag_msg answer;
	struct tcp_facts facts;

	if (!ask_about(s, pid, socket, &answer, &facts))
		return false;
	*ret_received_ns = facts.info.tcpi_last_data_recv * UINT64_C(1000000);
	*ret_sent_ns = facts.info.tcpi_last_data_sent * UINT64_C(1000000);
	return true;
}

/* Within one clock tick the order is unknown, unless nothing was ever sent. */
static bool may_owe(const struct tcp_info *info)
{
	return info->tcpi_last_data_recv == info->tcpi_last_data_sent &&
	       info->tcpi_last_ack_recv >= info->tcpi_last_data_recv;
}

static enum owes owes_of(const struct tcp_facts *f)
{
	const struct tcp_info *info = &f->info;

	if (f->data_segs_in > STREAM_SEGMENTS * (f->data_segs_out + UINT64_C(1)))
		return OWES_NOT;
	if (info->tcpi_last_data_recv < info->tcpi_last_data_sent || (f->data_segs_in && !f->data_segs_out))
		return OWES;
	return f->data_segs_in && may_owe(info) ? OWES_MAYBE : OWES_NOT;
}

/* Neither the congestion window nor a full segment explains it: the unsent data waits for the acknowledgement. */
static bool holds_back(const struct tcp_facts *f)
{
	return f->notsent_bytes && f->info.tcpi_unacked && f->info.tcpi_unacked < f->info.tcpi_snd_cwnd &&
	       f->notsent_bytes < f->info.tcpi_snd_mss && !f->info.tcpi_retransmits && !f->info.tcpi_probes;
}

struct client sock_peers_client(struct sock_peers *s, uint32_t pid, const struct net_socket *socket)
{
	struct inet_diag_msg answer;
	struct tcp_facts facts;

	if (!ask_about(s, pid, socket, &answer, &facts))
		return (struct client){ .owes = OWES_NOT };
	return (struct client){
		.owes = owes_of(&facts),
		.received_ns = facts.info.tcpi_last_data_recv * UINT64_C(1000000),
		.received_cnt = facts.data_segs_in,
		.sent_cnt = facts.data_segs_out,
		.unread_bytes = answer.idiag_rqueue,
		.is_held_back = holds_back(&facts),
	};
}

struct client sock_peers_asked(struct sock_peers *s, uint32_t pid, const struct net_socket *socket)
{
	struct inet_diag_msg answer;
	struct tcp_facts facts;

	if (!ask_about(s, pid, socket, &answer, &facts) ||
	    facts.data_segs_out > STREAM_SEGMENTS * (facts.data_segs_in + UINT64_C(1)))
		return (struct client){ .owes = OWES_NOT };
	const uint32_t received = facts.info.tcpi_last_data_recv, sent = facts.info.tcpi_last_data_sent;

	return (struct client){
		.owes = !facts.data_segs_out || sent > received	  ? OWES_NOT
			: sent < received || !facts.data_segs_in ? OWES
								 : OWES_MAYBE,
		.received_ns = sent * UINT64_C(1000000),
		.received_cnt = facts.data_segs_out,
		.sent_cnt = facts.data_segs_in,
	};
}

bool sock_peers_may_owe(struct sock_peers *s, uint32_t pid, const struct net_socket *socket)
{
	struct inet_diag_msg answer;
	struct tcp_facts facts;

	return ask_about(s, pid, socket, &answer, &facts) &&
	       (facts.info.tcpi_last_data_recv < facts.info.tcpi_last_data_sent || may_owe(&facts.info));
}

bool sock_peers_is_silent(struct sock_peers *s, uint32_t pid, const struct net_socket *socket, uint64_t *ret_sent_ns)
{
	struct inet_diag_msg answer;
	struct tcp_facts facts;

	if (!ask_about(s, pid, socket, &answer, &facts) || !facts.data_segs_out)
		return false;
	*ret_sent_ns = facts.info.tcpi_last_data_sent * UINT64_C(1000000);
	if (facts.data_segs_out > STREAM_SEGMENTS * (facts.data_segs_in + UINT64_C(1)))
		return false;
	return facts.info.tcpi_last_data_sent < facts.info.tcpi_last_data_recv || !facts.data_segs_in;
}

bool sock_peers_room(struct sock_peers *s, uint32_t pid, const struct net_socket *listener, uint32_t *ret_room)
{
	struct inet_diag_msg answer;

	if (!ask_about(s, pid, listener, &answer, NULL) || answer.idiag_state != TCP_LISTEN)
		return false;
	*ret_room = answer.idiag_wqueue;
	return true;
}
