/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_TCP_SHARES_H
#define EXPLAIN_TCP_SHARES_H

#include "explain/findings.h"

/* Waits for TCP sockets: the network's time, or the peer's?  docs/reasons.md, "The network or the peer", has the rules. */

enum tcp_share {
	TCP_SHARE_PEER,
	TCP_SHARE_NETWORK,
	TCP_SHARE_UNASKED,	/* nothing was sent since the last data came */
	TCP_SHARE_UNCLEAR,	/* the peer's, or the way's there */
	TCP_SHARE_UNKNOWN,
	TCP_SHARE_COUNT
};
const char *tcp_share_name(enum tcp_share share);	/* "peer" */

struct tcp_shares {
	uint8_t direction;	/* enum tcp_wait_direction */
	uint64_t all_ns, ns[TCP_SHARE_COUNT];
	uint64_t resent;	/* segments */
	uint64_t rtt_us;	/* the least round trip, where it is one of the network alone; 0: not known */
	uint64_t srtt_us;	/* as TCP smooths it, with what the peer takes to acknowledge */
	enum tcp_share most;	/* what half of the time is, or more; TCP_SHARE_UNKNOWN: nothing is */
};

/* Of one row of the profile. */
struct tcp_shares tcp_shares_of(const struct profile *p, const struct tcp_wait *t);
/* Of what the finding's waits are mostly for; false: nothing is known of them. */
bool tcp_shares_find(const struct findings *f, const struct finding *row, struct tcp_shares *ret);
/* "; RTT 0.3 ms, nothing was sent twice: the peer takes the time"; or nothing. */
void tcp_shares_append(GString *s, const struct findings *f, const struct finding *row);

#endif
