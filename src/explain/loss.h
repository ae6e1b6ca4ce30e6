/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LOSS_H
#define EXPLAIN_LOSS_H

#include "explain/findings.h"

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

#endif
