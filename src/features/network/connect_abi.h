/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CONNECT_ABI_H
#define CONNECT_ABI_H

/*
 * TCP connections that were tried and did not come about, and what TCP had to send again.  Summed in the kernel, read
 * out by user space.
 */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

struct failed_connect_key {
	__u8 remote[16];	/* in the network's order; IPv4: the first 4 bytes */
	__u32 pid, tid;		/* of who tried, in the tracer's pid namespace */
	__u16 family;
	__u16 port;		/* in the host's order */
	__u32 error;		/* ECONNREFUSED, ...; 0: the program closed the socket before there was an answer */
};

struct sent_again_key {
	__u8 remote[16];	/* as above */
	__u16 family;
	__u16 port, local_port;	/* in the host's order */
	__u16 unused;
};

#endif
