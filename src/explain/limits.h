/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LIMITS_H
#define EXPLAIN_LIMITS_H

#include "explain/findings.h"

/* Fills in what holds each row up from outside. */
void limits_find(struct findings *f);

/*
 * Processes that wait for each other by sockets: one waits for an answer, and who owes it has asked back, in a connection
 * that the first one does not accept meanwhile.
 */

/* Fills in the limit; false: there is none. */
bool cycle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ", of which a connection waits to be accepted here, at :8080" */
void cycle_append(GString *s, const struct finding *row);
/* "; billing/4711 waits for that connection in address (billing.py:2)", where it is in the recording */
void cycle_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *cycle_advice(const struct finding *row);

/*
 * A proxy with fewer connections of its own than clients: the waits for it, and its own, are for a free one of these.
 * docs/reasons.md, "Findings", has the rules.
 */

/* Fills in the limit of a finding that waits for such a process, or is its own; false: there is none. */
bool pool_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ": pgbouncer's 2 connections to 127.0.0.1:5432 (postgres) are all busy" */
void pool_append(GString *s, const struct findings *f, const struct finding *row);
/* "; pgbouncer has 20 connections from clients, of which 19.9 wait on average" */
void pool_append_evidence(GString *s, const struct findings *f, const struct finding *row);
const char *pool_advice(const struct finding *row);

/*
 * Who ran while threads waited for CPUs of which they may not use all: another program, in a recording of the whole
 * machine.  Which CPU somebody ran on is only known where that may use no other, too.
 */
struct ran {
	const char *program; /* NULL: nobody ran for a quarter of the window and more */
	uint32_t thread; /* that ran for longest */
	uint32_t threads_cnt;
	uint64_t ns;
	bool is_same; /* it may use only the same CPUs */
	const struct profile_limit *policy; /* it has a real-time policy; NULL: none is known */
};
struct ran ran_of(const struct findings *f, const struct finding *row);

/* "; dsp/29191, SCHED_FIFO 50, may use only that, too, and ran for 5.02 s" */
void ran_append_evidence(GString *s, const struct findings *f, const struct finding *row);

/*
 * Sleeps between tries to connect: who did not take the connections.  docs/reasons.md, "Findings", has the rules.
 */

/* Fills in the limit of a finding of sleeps; false: there is none. */
bool connects_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* ": 127.0.0.1:7521 refuses connections" */
void connects_append(GString *s, const struct finding *row);
/* "; 35 connections to 127.0.0.1:7521 were refused" */
void connects_append_evidence(GString *s, const struct finding *row);
/* " 35 connections to 127.0.0.1:7521 were refused.": of an event loop, which has no sleeps; nothing where few failed. */
void connects_append_most(GString *s, const struct findings *f);
const char *connects_advice(const struct finding *row);

/*
 * Nagle's algorithm holds back what a program writes in a second, small piece until the first is acknowledged, which
 * the other side delays for 40 ms and more, as it has nothing to send yet.
 */

/* Fills in the limit: such a write was seen.  False: there is none. */
bool nagle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);

/*
 * Between two programs of this machine the evidence is that an interrupt ends such waits, on this side or of those who
 * answer: what is sent at once wakes in the context of the sender.
 */
bool nagle_has_delayed_acks(const struct findings *f, const struct finding *row);

#define NAGLE_SAYS ": its own last write is held back until an earlier one is acknowledged"
#define NAGLE_ADVICE \
	"These 40 to 50 ms are an acknowledgement that TCP delays, while a side holds back a small write for it: write a request " \
	"in one piece, or set TCP_NODELAY on both sides."

/*
 * An event loop that waits for an answer, and many times as many clients wait for its own as it has connections to whom
 * it asks: they may queue for these.
 */

/* Fills in the limit; false: there is none. */
bool owed_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/*
 * Of the process that most clients wait for, where nothing is found: "7 clients of haproxy waited for answers as the
 * recording ended, with one connection to 127.0.0.1:8081 (python3), and little is found in its threads".  False: of none.
 */
bool owed_append_most(GString *s, const struct findings *f);
/* Few clients for the connections, and it wakes so often that none of them can have waited for long: a proxy at work. */
bool owed_is_quick(const struct findings *f, const struct finding *row);
/* "127.0.0.1:8081 (python3)"; NULL: it has no LIMIT_OWED. */
const char *owed_upstream(const struct finding *row);
/* "; as the recording ended 20 clients waited for answers, over one connection to 127.0.0.1:8081" */
void owed_append_evidence(GString *s, const struct finding *row);

const char *owed_advice(const struct finding *row);	/* NULL: that of the wait */

/*
 * Waits for a peer whose length is that of TCP's timer: segments were lost on the way, and the peer is not slow.
 * docs/reasons.md, "Findings", has the rules.
 */

/* Fills in the limit, LIMIT_LOSS or LIMIT_FULL; false: there is none. */
bool loss_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* "; TCP sent 57 segments to 10.0.0.5:5432 again", of LIMIT_LOSS */
void loss_append_evidence(GString *s, const struct finding *row);
/* "; as the recording ended 2 connections waited to be accepted by 127.0.0.1:80 (nginx), whose queue is for 1" */
void loss_append_full_evidence(GString *s, const struct finding *row);
/* Of what this machine sends to itself nothing is lost on a wire. */
bool loss_is_of_this_machine(const struct finding *row);

#define LOSS_SAYS ": packets are lost on the way"
#define LOSS_ADVICE \
	"TCP sends what is lost again after 200 ms and more, and that is most of this time: see the network to there " \
	"(ethtool -S, nstat, tc -s qdisc) before the peer."
#define LOSS_LOCAL_SAYS ": TCP sends again what was dropped"
#define LOSS_LOCAL_ADVICE \
	"What stays on this machine is dropped where a queue is full, mostly that of connections that are not accepted yet: " \
	"see ss -lnt, nstat -az TcpExtListenOverflows and TcpExtListenDrops, and the backlog of who listens there."
#define FULL_SAYS ": the queue of connections there is full"
#define FULL_ADVICE \
	"The kernel drops who connects while that queue is full, and TCP tries again after 1, 3, 7 s: accept faster (more workers), " \
	"or raise the backlog (listen(), net.core.somaxconn). `ss -lnt` and `nstat -az TcpExtListenOverflows` show it."

/* Waits for TCP sockets: the network's time, or the peer's?  docs/reasons.md, "The network or the peer", has the rules. */

enum tcp_share {
	TCP_SHARE_PEER,
	TCP_SHARE_NETWORK,
	TCP_SHARE_SILENT,	/* nothing was sent since the last data came */
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
