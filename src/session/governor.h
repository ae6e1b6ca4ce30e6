/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_GOVERNOR_H
#define SESSION_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "abi/sample.h"

/*
 * Keeps the tracer's cost within a budget by raising the scale below which waits are sampled
 * (abi/sample.h), and lowers it again when there is room.  Accounts are never touched.  Pure:
 * it is told readings and answers with a scale.
 *
 * How many waits each scale would list it reckons from how long they are; so it seeks nothing, and tries out no scale
 * that is not wanted.
 */

#define GOVERNOR_FIRST_NS 100000ULL	/* the lowest scale above that of an exact recording */
#define GOVERNOR_WAKERS_NS                                                                                             \
	1000000ULL /* a thread has a thousand longer sleeps a second at most, and nearly all of what it waits */
#define GOVERNOR_TOP_NS                                                                                                \
	SAMPLE_SCALE_MAX_NS /* and the last one: of 50,000 threads that wait, a thousand waits a second */

/* BPF time of some readings, in ns of one CPU, and what the whole machine had in that time. */
struct governor_spent {
	double bpf_ns, own_ns, machine_ns;
};

struct governor {
	/* set by who makes it */
	uint32_t budget_ppm;	/* of all CPUs' time; 0: only readings are kept */
	bool may_act;		/* false: the recording is to stay exact, or at its scale */
	bool may_thin;		/* before it samples: who ended short sleeps may be left out */
	uint64_t grace_ns;	/* it waits so long before it samples, but for a flood */
	uint64_t scale_ns;	/* now */
	uint64_t wakers_from_ns;	/* of shorter sleeps it is; 0: of none */
	/* what it did and saw */
	uint64_t floor_ns;	/* the scale it began with */
	uint32_t raised_cnt, lowered_cnt;
	uint32_t thinned_cnt;
	uint32_t over_cnt;	/* readings above the budget by the cost of the BPF programs */
	uint64_t seen_ns;	/* time that readings cover */
	double used_ns;		/* of one CPU */
	uint32_t peak_ppm;
	struct governor_spent exact, since;	/* as it began; since the last change, but for the first reading of all */
	struct governor_spent before;	/* the same up to that change */
	/* the last reading was too much, and more can be done: the next one is wanted at once */
	bool wants_next;
	/* private */
	double listed_cnt, listing_ns;	/* of all readings, each time half of what was */
	/* the scale that a reading before this one asked for, and no whole one since did not; or 0 */
	uint64_t warned_ns;
	bool was_flood;		/* the last reading was, and it was acted on */
	uint32_t calm_cnt;	/* whole readings in a row that had room for all wakers */
	uint32_t quiet_cnt;	/* whole readings in a row that had room for a scale below, */
	uint64_t room_ns;	/* and the highest that one of them asked for */
};

struct governor_reading {
	uint64_t elapsed_ns;	/* since the last one */
	uint32_t cpus;
	double bpf_ns, own_ns;	/* time in our BPF programs, CPU time of our process, in elapsed_ns */
	double listed_cnt, listing_ns;	/* waits listed meanwhile, and what that took */
	/* that the listed ones stand for, by duration: slot i is of 2^i to 2^(i + 1) ns */
	double waits[OFFCPU_HIST_SLOTS];
};

void governor_init(struct governor *g, uint32_t budget_ppm, bool may_act, uint64_t scale_ns);

/* Takes a reading; the scale to use from now on.  After a change the next reading is wanted at once. */
uint64_t governor_take(struct governor *g, const struct governor_reading *r);

/* Share of all CPUs' time in parts per million, over all readings; 0 before the first. */
uint32_t governor_used_ppm(const struct governor *g, uint32_t cpus);

#endif
