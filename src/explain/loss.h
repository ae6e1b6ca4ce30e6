/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LOSS_H
#define EXPLAIN_LOSS_H

#include "explain/findings.h"

/*
 * Waits for a peer whose length is that of TCP's timer: segments were lost on the way, and the peer is not slow.
 * docs/reasons.md, "Findings", has the rules.
 */

/* Fills in the limit; false: there is none. */
bool loss_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);
/* "; TCP sent 57 segments to 10.0.0.5:5432 again" */
void loss_append_evidence(GString *s, const struct finding *row);

#define LOSS_SAYS ": packets are lost on the way"
#define LOSS_ADVICE \
	"TCP sends what is lost again after 200 ms and more, and that is most of this time: see the network to there " \
	"(ethtool -S, nstat, tc -s qdisc) before the peer."

#endif
