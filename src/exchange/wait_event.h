/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_WAIT_EVENT_H
#define EXCHANGE_WAIT_EVENT_H

#include <string.h>

#include "abi/sched_abi.h"
#include "analyse/reason/reason.h"
#include "base/parse.h"
#include "profile/profile.h"

/* A wait for `offcpu events`: the kernel's record with what it refers to. */
struct wait_event {
	const struct offcpu_rec_event *rec;
	const char *where;	/* as in reports; not escaped, neither is the next one */
	const char *object;	/* the object waited for; NULL: not recorded, or unknown */
	const char *route;	/* of the request that it was for; NULL: none, or unknown */
	/* of its blocked time; without blocked time REASON_CPU_QUEUE or REASON_CPU_THROTTLED */
	enum reason reason;
	const struct waker *waker;	/* who ended it; NULL: nobody, not recorded, or unknown */
	/* if stacks were recorded: nodes of that profile, 0: none */
	const struct profile *profile;
	uint32_t user, kernel;
};

static inline uint64_t wait_event_ns(const struct wait_event *e)
{
	return e->rec->blocked_ns + e->rec->runnable_ns + e->rec->preempted_ns;
}

static inline uint64_t wait_event_start_ns(const struct wait_event *e)
{
	return e->rec->end_ns - wait_event_ns(e);
}

struct trace_text {
	char trace[33], span[17];
};

/* The trace and span that it was for; false: unknown. */
static inline bool wait_event_trace(const struct offcpu_rec_event *rec, struct trace_text *ret)
{
	static const uint8_t none[sizeof(rec->trace)];

	hex_text(ret->trace, rec->trace, sizeof(rec->trace));
	hex_text(ret->span, rec->span, sizeof(rec->span));
	return memcmp(rec->trace, none, sizeof(none)) != 0;
}

/* A name as the kernel stores it, which may lack a terminator, copied to `text`. */
static inline const char *wait_event_comm(const char *comm, char text[OFFCPU_COMM_LEN + 1])
{
	for (unsigned i = 0; i < OFFCPU_COMM_LEN; i++)
		text[i] = comm[i];
	text[OFFCPU_COMM_LEN] = 0;
	return text;
}

#endif
