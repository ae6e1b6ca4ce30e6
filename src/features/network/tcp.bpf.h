/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_NETWORK_TCP_BPF_H
#define FEATURES_NETWORK_TCP_BPF_H

#include "bpf/kernel_word.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/target_types.h"

/*
 * Network or peer? A TCP socket is read when a wait for it begins and ends; nothing is added to the path of packets.
 *
 * The socket has the times of sending and acknowledgement of the last acknowledged segment (tcp_rack), in
 * microseconds. If that segment is the last one sent, all time after its acknowledgement is the peer's. The time
 * before is the network's, but only the minimal round trip is certain: the acknowledgement may have waited for the
 * answer. Where something was retransmitted, the time until then is the network's.
 *
 * What a thread's next wait is for is not known when it begins. It is assumed to be the socket of its last one, and
 * checked at the end: if it was another one the wait's division is not known, unless nothing had ever come from the
 * peer.
 *
 * Global functions, as elsewhere: the verifier checks each once.
 */

enum tcp_asked {
	TCP_ASKED_UNKNOWN,
	TCP_ASKED_NOT,		/* nothing was sent since the last data arrived */
	TCP_ASKED_LIKELY,	/* sent and received in one tick: likely, if sent since this thread woke up */
	TCP_ASKED,
};

#define TCP_OTHERS 8	/* after this many waits for something else the socket is forgotten */
#define CHRONO_CLOSED 2	/* TCP_CHRONO_RWND_LIMITED */
#define PEER_TICKS_MIN 2	/* a closed window counts only from this many ticks, the kernel's unit, on */
#define US_NS 1000ULL

MAP(tcp_sums, HASH, struct tcp_sum_key, struct tcp_sum, 4096);

/* Zeroes in a map: Linux 6.1 accepts no value from memory passed to a global function, and the stack has no room. */
const volatile __u64 no_tcp_sum[sizeof(struct tcp_sum) / 8] = { 0 };

#define TCP_NUMBER(sock, member) NUMBER(struct tcp_sock, sock, member)

/* include/uapi/linux/io_uring.h: sendmsg, connect, send, send_zc, sendmsg_zc. */
static __always_inline __u32 direction_of_operation(__u32 operation)
{
	switch (operation) {
	case 1: case 10: case 22: case 27:	/* readv, recvmsg, read, recv */
		return TCP_RECEIVE;
	case 2: case 9: case 23: case 26: case 47: case 48:	/* writev, sendmsg, write, send, both zero-copy ones */
		return TCP_SEND;
	case 16:
		return TCP_CONNECT;
	default:
		return TCP_DIRECTION_COUNT;
	}
}

static __always_inline bool is_tcp(__u64 sock)
{
	__u16 protocol = 0;

	bpf_probe_read_kernel(&protocol, sizeof(protocol), (void *)AT(struct sock, sock, sk_protocol));
	return protocol == 6;
}

/*
 * The first socket that a set of descriptors reports as ready, which ended the wait: if it is an outgoing TCP
 * connection with data. Of its two ports the one that the kernel chose is nearly always the higher one.
 */
__noinline __u64 ready_socket(__u64 file)
{
	__u64 set = READ_POINTER(struct file, file, private_data), item, socket, sock;
	__u16 ports[2] = { 0 };

	item = READ_POINTER(struct eventpoll, set, rdllist.next);
	if (!item || item == AT(struct eventpoll, set, rdllist))
		return 0;
	item -= bpf_core_field_offset(struct epitem, rdllink);
	file = read_word(AT(struct epitem, item, ffd.file));
	if ((read_half(AT(struct inode, READ_POINTER(struct file, file, f_inode), i_mode)) & MODE_TYPE) != MODE_SOCKET)
		return 0;
	socket = READ_POINTER(struct file, file, private_data);
	sock = READ_POINTER(struct socket, socket, sk);
	if (!sock || !is_tcp(sock))
		return 0;
	bpf_probe_read_kernel(&ports[0], 2, (void *)AT(struct sock, sock, __sk_common.skc_num));
	bpf_probe_read_kernel(&ports[1], 2, (void *)AT(struct sock, sock, __sk_common.skc_dport));
	if (ports[0] <= __builtin_bswap16(ports[1]) || TCP_NUMBER(sock, rcv_nxt) == TCP_NUMBER(sock, copied_seq))
		return 0;
	return sock;
}

static __always_inline __u8 asked_so_far(__u64 sock)
{
	__s32 later = TCP_NUMBER(sock, lsndtime) - NUMBER(struct inet_connection_sock, sock, icsk_ack.lrcvtime);
	__u32 received = TCP_NUMBER(sock, rcv_nxt);

	if (!TCP_NUMBER(sock, data_segs_out))
		return TCP_ASKED_NOT;
	if (!TCP_NUMBER(sock, data_segs_in))
		return TCP_ASKED;
	if (later)
		return later > 0 ? TCP_ASKED : TCP_ASKED_NOT;
	/* every sent segment, even a pure acknowledgement, acknowledges what has arrived by then */
	if (received != TCP_NUMBER(sock, rcv_wup))
		return TCP_ASKED_NOT;
	/* a pure acknowledgement that came behind the data begins where the data ends; the data begins before */
	if (TCP_NUMBER(sock, snd_una) == TCP_NUMBER(sock, write_seq) && TCP_NUMBER(sock, snd_wl1) != received)
		return TCP_ASKED_NOT;
	return TCP_ASKED_LIKELY;
}

/* How long the peer's window was closed so far, in clock ticks. */
static __always_inline __u32 ticks_closed(__u64 sock, __u64 now)
{
	const struct tcp_sock *tp = (const void *)sock;
	__u32 ticks = TCP_NUMBER(sock, chrono_stat[CHRONO_CLOSED - 1]);

	if (BPF_CORE_READ_BITFIELD_PROBED(tp, chrono_type) == CHRONO_CLOSED)
		ticks += (__u32)now - TCP_NUMBER(sock, chrono_start);
	return ticks;
}

/* A wait begins, of a thread whose last one was for a TCP socket. */
__noinline int begin_tcp_wait(struct thread_state *st)
{
	struct tcp_begun *b;
	__u64 sock;

	if (!st)
		return 0;
	b = &st->tcp;
	sock = b->sock;
	if (!b->left--) {
		b->sock = 0;
		return 0;
	}
	b->since_ns = st->since_ns;
	b->awake_ns = st->wake_ns;
	b->segs_out = TCP_NUMBER(sock, data_segs_out);
	b->resent = TCP_NUMBER(sock, total_retrans);
	if (b->direction == TCP_SEND) {
		b->jiffies = bpf_jiffies64();
		b->closed = ticks_closed(sock, b->jiffies);
	} else {
		b->asked = asked_so_far(sock);
	}
	return 0;
}

struct tcp_ended {
	__u64 sock, from_ns, to_ns;
	__u32 segs, resent;	/* segments sent during it: new ones, retransmitted ones */
	__u8 asked;
};

/* If nothing was noted as it began: is all data of the connection what it waited for? */
static __always_inline bool is_first_data(__u64 sock)
{
	return POINTER(struct tcp_sock, sock, bytes_received) ==
	       (__u32)(TCP_NUMBER(sock, rcv_nxt) - TCP_NUMBER(sock, copied_seq));
}

static __always_inline void compare_begun(const struct thread_state *st, struct tcp_ended *e)
{
	const struct tcp_begun *b = &st->tcp;
	__u32 segs = TCP_NUMBER(e->sock, data_segs_out), resent = TCP_NUMBER(e->sock, total_retrans);

	if (b->sock == e->sock && b->since_ns == st->since_ns) {
		e->asked = b->asked;
		e->resent = resent - b->resent;
		e->segs = segs - b->segs_out - e->resent;
	} else if (is_first_data(e->sock)) {
		e->asked = segs ? TCP_ASKED : TCP_ASKED_NOT;
		e->resent = resent;
		e->segs = 0;
	} else {
		e->asked = TCP_ASKED_UNKNOWN;
		e->segs = e->resent = 0;
	}
}

/* From the last segment sent to the acknowledgement, and on to the end. */
static __always_inline void split_answer(struct tcp_sum *sum, const struct tcp_ended *e, __u64 from_ns, __u64 acked_ns)
{
	__u64 least_ns = TCP_NUMBER(e->sock, rtt_min.s[0].v) * US_NS, way_ns;

	if (acked_ns > e->to_ns)
		acked_ns = e->to_ns;
	if (acked_ns < from_ns)
		acked_ns = from_ns;
	sum->peer_ns = e->to_ns - acked_ns;
	if (sum->peer_ns >= TCP_LOST_ANSWER_NS)
		sum->peer_long_ns = sum->peer_ns;
	way_ns = acked_ns - from_ns;
	if (least_ns > way_ns)
		least_ns = least_ns == ~0U * US_NS ? 0 : way_ns;
	sum->path_ns = least_ns;
	sum->hidden_ns = way_ns - least_ns;
}

static __always_inline void split_receive(const struct thread_state *st, struct tcp_sum *sum, struct tcp_ended *e)
{
	__u64 sent_ns = POINTER(struct tcp_sock, e->sock, rack.mstamp) * US_NS, from_ns = e->from_ns;
	__u32 acked = TCP_NUMBER(e->sock, snd_una);
	bool is_acked = acked == TCP_NUMBER(e->sock, write_seq) && acked == TCP_NUMBER(e->sock, rack.end_seq);

	compare_begun(st, e);
	sum->resent = e->resent;
	if (e->asked == TCP_ASKED_LIKELY)
		e->asked = is_acked && sent_ns + US_NS >= st->tcp.awake_ns ? TCP_ASKED : TCP_ASKED_UNKNOWN;
	if (e->asked == TCP_ASKED_NOT && !e->segs && !e->resent) {
		/* connecting counts as asking, as for a greeting */
		*(is_first_data(e->sock) ? &sum->peer_ns : &sum->silent_ns) = e->to_ns - from_ns;
		return;
	}
	if (e->asked == TCP_ASKED_UNKNOWN || (e->asked == TCP_ASKED_NOT && (!is_acked || e->segs != 1 || e->resent)))
		return;
	if (!is_acked) {
		if (e->resent)
			sum->resent_ns = e->to_ns - from_ns;
		else
			sum->hidden_ns = e->to_ns - from_ns;
		return;
	}
	if (sent_ns > e->to_ns)
		sent_ns = e->to_ns;
	if (sent_ns > from_ns) {
		if (e->asked == TCP_ASKED_NOT)
			sum->silent_ns = sent_ns - from_ns;
		else if (e->resent)
			sum->resent_ns = sent_ns - from_ns;
		from_ns = sent_ns;
	}
	split_answer(sum, e, from_ns, sent_ns + TCP_NUMBER(e->sock, rack.rtt_us) * US_NS);
}

static __always_inline void split_send(const struct thread_state *st, struct tcp_sum *sum, const struct tcp_ended *e)
{
	const struct tcp_begun *b = &st->tcp;
	__u64 now, all_ns = e->to_ns - e->from_ns;
	__u32 ticks, closed;

	if (b->sock != e->sock || b->since_ns != st->since_ns || b->direction != TCP_SEND)
		return;
	now = bpf_jiffies64();
	ticks = now - b->jiffies;
	if (ticks < PEER_TICKS_MIN)
		return;
	closed = ticks_closed(e->sock, now) - b->closed;
	if (closed > ticks)
		closed = ticks;
	sum->resent = TCP_NUMBER(e->sock, total_retrans) - b->resent;
	sum->peer_ns = all_ns * closed / ticks;
	/* a peer with a nearly full buffer acknowledges late, as it reads; so do queues in the network */
	*(sum->srtt_us < sum->min_rtt_us + sum->min_rtt_us / 2 ? &sum->path_ns : &sum->hidden_ns) = all_ns - sum->peer_ns;
}

static __always_inline void split_connect(struct tcp_sum *sum, const struct tcp_ended *e)
{
	sum->resent = TCP_NUMBER(e->sock, total_retrans);
	if (sum->resent)
		sum->resent_ns = e->to_ns - e->from_ns;
	else
		sum->path_ns = e->to_ns - e->from_ns;
}

/* The ending wait is for a TCP socket: fills in `tcp`. to_ns: when its thread was woken. */
__noinline int split_tcp_wait(struct thread_state *st, struct tcp_sum *sum, const struct wait_target *t, __u64 to_ns)
{
	struct tcp_ended e = { 0 };

	if (!st || !sum || !t)
		return 0;
	e.sock = t->sock;
	e.from_ns = st->since_ns;
	e.to_ns = to_ns;
	sum->silent_ns = sum->peer_ns = sum->peer_long_ns = sum->path_ns = sum->resent_ns = sum->hidden_ns = 0;
	sum->resent = 0;
	sum->srtt_us = TCP_NUMBER(t->sock, srtt_us) >> 3;
	sum->min_rtt_us = TCP_NUMBER(t->sock, rtt_min.s[0].v);
	if (t->direction == TCP_SEND)
		split_send(st, sum, &e);
	else if (t->direction == TCP_CONNECT)
		split_connect(sum, &e);
	else
		split_receive(st, sum, &e);
	return 0;
}

static __always_inline void add_tcp(struct tcp_sum *to, const struct tcp_sum *one, __u64 ns, __u64 weight_q8)
{
	to->count_q8 += weight_q8;
	to->blocked_ns += ns * weight_q8 >> 8;
	to->silent_ns += one->silent_ns * weight_q8 >> 8;
	to->peer_ns += one->peer_ns * weight_q8 >> 8;
	to->peer_long_ns += one->peer_long_ns * weight_q8 >> 8;
	to->path_ns += one->path_ns * weight_q8 >> 8;
	to->resent_ns += one->resent_ns * weight_q8 >> 8;
	to->hidden_ns += one->hidden_ns * weight_q8 >> 8;
	to->resent += one->resent;
	to->srtt_us = one->srtt_us;
	to->min_rtt_us = one->min_rtt_us == ~0U ? 0 : one->min_rtt_us;
}

/*
 * The minimal round trip covers the last five minutes (tcp_min_rtt_wlen). In the handshake the peer's kernel answered
 * at once; each later round trip may include the program's time.
 */
#define HANDSHAKE_COUNTS_NS 240000000000ULL

MAP(connected, LRU_HASH, __u64, __u64, 4096);	/* socket -> when it was connected */

static __always_inline bool is_young(const struct thread_state *st, __u64 sock)
{
	__u64 *at = bpf_map_lookup_elem(&connected, &sock);

	return bpf_ktime_get_boot_ns() - st->proc_start_ns < HANDSHAKE_COUNTS_NS ||
	       (at && bpf_ktime_get_ns() - *at < HANDSHAKE_COUNTS_NS);
}

/* For an IP socket: ports in host byte order, addresses in network byte order. */
static __always_inline void read_ends(__u64 sk, __u16 family, __u16 *local_port, __u16 *remote_port, __u8 *local,
				      __u8 *remote)
{
	__u16 port = 0;

	bpf_probe_read_kernel(local_port, sizeof(*local_port), (void *)AT(struct sock, sk, __sk_common.skc_num));
	bpf_probe_read_kernel(&port, sizeof(port), (void *)AT(struct sock, sk, __sk_common.skc_dport));
	*remote_port = __builtin_bswap16(port);
	if (family == FAMILY_INET) {
		bpf_probe_read_kernel(local, 4, (void *)AT(struct sock, sk, __sk_common.skc_rcv_saddr));
		bpf_probe_read_kernel(remote, 4, (void *)AT(struct sock, sk, __sk_common.skc_daddr));
	} else if (bpf_core_field_exists(((struct sock *)0)->__sk_common.skc_v6_daddr)) {
		bpf_probe_read_kernel(local, 16, (void *)AT(struct sock, sk, __sk_common.skc_v6_rcv_saddr));
		bpf_probe_read_kernel(remote, 16, (void *)AT(struct sock, sk, __sk_common.skc_v6_daddr));
	}
}

/* A loop that connects for each request has closed the connection by the time its set could be read. */
static __always_inline void note_ends(struct tcp_sum *sum, __u64 sock)
{
	bpf_probe_read_kernel(&sum->family, sizeof(sum->family), (void *)AT(struct sock, sock, __sk_common.skc_family));
	read_ends(sock, sum->family, &sum->local_port, &sum->remote_port, sum->local, sum->remote);
}

/* The wait was listed under scratch->listed_object, which is for the TCP socket of scratch->target. */
__noinline int sum_tcp_wait(struct thread_state *st, struct scratch *scratch, __u64 now)
{
	struct tcp_sum_key key = { 0 };
	struct tcp_sum *sum;
	__u64 to_ns;

	if (!st || !scratch)
		return 0;
	key.object = scratch->listed_object;
	key.tno = st->tno;
	key.direction = scratch->target.direction;
	/* as in split_wait() */
	to_ns = st->wake_ns >= st->since_ns && st->wake_ns <= now ? st->wake_ns : now;
	if (st->mode != MODE_ASLEEP || key.direction >= TCP_DIRECTION_COUNT ||
	    (to_ns == now && st->wake_ns && st->wake_ns >= st->on_ns))
		return 0;
	split_tcp_wait(st, &scratch->tcp, &scratch->target, to_ns);
	st->tcp.sock = scratch->target.sock;
	st->tcp.direction = key.direction;
	st->tcp.left = TCP_OTHERS;
	sum = bpf_map_lookup_elem(&tcp_sums, &key);
	if (!sum) {
		bpf_map_update_elem(&tcp_sums, &key, (const void *)&no_tcp_sum, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&tcp_sums, &key);
		if (!sum)
			return 0;
		sum->is_young = is_young(st, scratch->target.sock);
		note_ends(sum, scratch->target.sock);
	}
	add_tcp(sum, &scratch->tcp, to_ns - st->since_ns, scratch->kept.weight_q8);
	return 0;
}

#endif
