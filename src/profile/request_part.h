/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_REQUEST_PART_H
#define PROFILE_REQUEST_PART_H

#include "profile/profile.h"

/* What requests of alike latency did: abi/request_abi.h.  Its stacks, object and thread are those of the profile. */
struct request_part {
	uint32_t func;
	uint32_t range;		/* of latencies */
	uint64_t requests;
	uint64_t wall_ns, on_cpu_ns;	/* of the requests themselves, whose wait has the state 0 */
	struct wait wait;	/* the state '?': with more stacks than could be told apart */
};

#endif
