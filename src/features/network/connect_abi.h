/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_NETWORK_CONNECT_ABI_H
#define FEATURES_NETWORK_CONNECT_ABI_H

/* Failed TCP connection attempts, and TCP retransmissions. Summed in the kernel, read by user space. */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

struct failed_connect_key {
	__u8 remote[16];	/* network byte order; IPv4: the first 4 bytes */
	__u32 pid, tid;		/* of the caller, in the tracer's pid namespace */
	__u16 family;
	__u16 port;		/* host byte order */
	__u32 error;		/* ECONNREFUSED, ...; 0: the program closed the socket before an answer */
};

struct sent_again_key {
	__u8 remote[16];	/* as above */
	__u16 family;
	__u16 port, local_port;	/* host byte order */
	__u16 unused;
};

#endif
