/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_NETWORK_TCP_ABI_H
#define FEATURES_NETWORK_TCP_ABI_H

/* Where the time of waits for TCP sockets went, by the sockets' state. Summed in features/network/tcp.bpf.h. */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

enum tcp_direction {
	TCP_RECEIVE,
	TCP_SEND,
	TCP_CONNECT,
	TCP_DIRECTION_COUNT
};

struct tcp_sum_key {
	__u64 object;		/* as in the waits */
	__u32 tno;		/* which also keeps two CPUs from adding to one sum */
	__u32 direction;	/* enum tcp_direction */
};

#define TCP_LOST_ANSWER_NS 200000000ULL	/* TCP_RTO_MIN: the peer retransmits nothing before */

/* Times are parts of blocked_ns; the rest is not known. */
struct tcp_sum {
	__u64 count_q8, blocked_ns;
	__u64 silent_ns;	/* nothing was sent since the last data arrived, if any did */
	__u64 peer_ns;		/* everything sent was acknowledged; when sending: its window was closed */
	__u64 peer_long_ns;	/* part of it in waits long enough for an answer to be lost and retransmitted */
	__u64 path_ns;		/* the minimal round trip of each; when sending: acknowledged without delay */
	__u64 resent_ns;	/* until a retransmission of what was lost */
	__u64 hidden_ns;	/* until the acknowledgement, beyond the minimal round trip; sending: it was late */
	__u32 resent;		/* segments */
	__u32 srtt_us, min_rtt_us;	/* at the end of the last wait; 0: not known */
	__u32 is_young;		/* min_rtt_us is at most that of the connection's handshake */
	/* both ends of the first socket, network byte order; of an epoll set: the peer that its loop has asked */
	__u8 local[16], remote[16];
	__u16 family, local_port, remote_port, unused;
};

#endif
