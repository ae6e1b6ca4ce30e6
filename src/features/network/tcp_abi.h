/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TCP_ABI_H
#define TCP_ABI_H

/* What waits for TCP sockets went on, by what the sockets themselves say.  Summed in the kernel (features/network/tcp.bpf.h). */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

enum tcp_direction {
	TCP_RECEIVE,
	TCP_SEND,
	TCP_CONNECT,
	TCP_DIRECTION_COUNT
};

struct tcp_sum_key {
	__u64 object;		/* as the waits have it */
	__u32 tno;		/* so no two CPUs add to one sum */
	__u32 direction;	/* enum tcp_direction */
};

#define TCP_LOST_ANSWER_NS 200000000ULL	/* TCP_RTO_MIN: the peer sends nothing again before */

/* Times are parts of blocked_ns; what is in none of them is not known. */
struct tcp_sum {
	__u64 count_q8, blocked_ns;
	__u64 silent_ns;	/* nothing had been sent since the last data came, of which there was some */
	__u64 peer_ns;		/* all that was sent was acknowledged; of sending: its window was closed */
	__u64 peer_long_ns;	/* of that in waits where an answer that was lost could have been sent again */
	__u64 path_ns;		/* the least round trip of each; of sending: it acknowledged as fast as ever */
	__u64 resent_ns;	/* until what was lost was sent again */
	__u64 hidden_ns;	/* until the acknowledgement, beyond the least round trip; of sending: it came late */
	__u32 resent;		/* segments */
	__u32 srtt_us, min_rtt_us;	/* as the last of them ended; 0: not known */
	__u32 is_young;		/* the least round trip is, at most, that of the connection's handshake */
	/* of the first socket: its two ends, in the network's order; of an epoll set whom its loop has asked */
	__u8 local[16], remote[16];
	__u16 family, local_port, remote_port, unused;
};

#endif
