/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_GOVERNOR_H
#define SESSION_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "abi/sample.h"

/*
 * Keeps the tracer's cost within a budget by raising the scale below which waits are sampled (abi/sample.h), and
 * lowers it when there is room. Accounts are never affected. A pure function of its readings.
 *
 * It computes from the durations of waits how many each scale would list, so it needs no search and tries no unneeded
 * scale.
 */

#define GOVERNOR_FIRST_NS 100000ULL	/* the lowest scale above that of an exact recording */
#define GOVERNOR_WAKERS_NS                                                                                             \
	1000000ULL /* longest: a thread has at most a thousand longer sleeps a second: nearly all its waiting */
#define GOVERNOR_TOP_NS                                                                                                \
	SAMPLE_SCALE_MAX_NS /* highest scale: 50,000 waiting threads list a thousand waits a second */

/* BPF time of some readings, in ns of one CPU, and the machine's total CPU time meanwhile. */
struct governor_spent {
	double bpf_ns, own_ns, machine_ns;
};

struct governor {
	/* set by the caller */
	uint32_t budget_ppm;	/* of all CPUs' time; 0: only readings are kept */
	bool may_act;		/* false: the recording stays exact, or at its scale */
	bool may_thin;		/* before sampling: wakers of short sleeps may be skipped */
	uint64_t grace_ns;	/* time before it samples, except for a flood */
	uint64_t scale_ns;	/* current scale */
	uint64_t wakers_from_ns;	/* wakers of shorter sleeps are skipped; 0: none is */
	/* its state */
	uint64_t floor_ns;	/* the scale it began with */
	uint32_t raised_cnt, lowered_cnt;
	uint32_t thinned_cnt;
	uint32_t over_cnt;	/* readings above the budget due to the BPF programs */
	uint64_t seen_ns;	/* time covered by readings */
	double used_ns;		/* CPU time, of one CPU */
	uint32_t peak_ppm;
	struct governor_spent exact, since;	/* while exact; since the last change; without the very first
						 * reading */
	struct governor_spent before;	/* from the start up to that change */
	/* the last reading was too high, and there are further means: the next one is wanted at once */
	bool wants_next;
	/* private */
	double listed_cnt, listing_ns;	/* of all readings, with weights halved at each one */
	/* the scale that an earlier reading asked for, unless a whole one since did not; or 0 */
	uint64_t warned_ns;
	bool was_flood;		/* the last reading was a flood, and was acted on */
	uint32_t calm_cnt;	/* consecutive whole readings with room for all wakers */
	uint32_t quiet_cnt;	/* consecutive whole readings with room for a lower scale, */
	uint64_t room_ns;	/* and the highest scale that one of them asked for */
};

struct governor_reading {
	uint64_t elapsed_ns;	/* since the previous reading */
	uint32_t cpus;
	double bpf_ns, own_ns;	/* in elapsed_ns: time in our BPF programs, CPU time of our process */
	double switches;	/* of all threads, whether they are recorded or not */
	double listed_cnt, listing_ns;	/* waits listed meanwhile, and the time for that */
	/* waits that the listed ones stand for, by duration: slot i has 2^i to 2^(i + 1) ns */
	double waits[OFFCPU_HIST_SLOTS];
};

void governor_init(struct governor *g, uint32_t budget_ppm, bool may_act, uint64_t scale_ns);

/* Takes a reading; returns the new scale. After a change the next reading is wanted at once. */
uint64_t governor_take(struct governor *g, const struct governor_reading *r);

/* Share of all CPUs' time in parts per million, over all readings; 0 before the first. */
uint32_t governor_used_ppm(const struct governor *g, uint32_t cpus);

#endif
