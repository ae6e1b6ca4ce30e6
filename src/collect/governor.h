/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef COLLECT_GOVERNOR_H
#define COLLECT_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/sample.h"

/*
 * Keeps the tracer's cost within a budget by raising the scale below which waits are sampled
 * (abi/sample.h), and lowers it again when there is room.  Accounts are never touched.  Pure:
 * it is told readings and answers with a scale.
 */

#define GOVERNOR_FIRST_NS 100000ULL	/* the scale that the first raise of an exact recording sets */
#define GOVERNOR_TOP_NS SAMPLE_SCALE_MAX_NS	/* and the last one: hardly anything is listed beyond */

#define GOVERNOR_STEPS_MAX 20	/* from 1 ns to the top */

/* What a scale came to. */
struct governor_step {
	uint64_t scale_ns;
	double listed_each;	/* waits listed a switch */
};

struct governor {
	/* set by who makes it */
	uint32_t budget_ppm;	/* of all CPUs' time; 0: only readings are kept */
	bool may_act;		/* false: the recording is to stay exact, or at its scale */
	uint64_t scale_ns;	/* now */
	/* what it did and saw */
	uint64_t floor_ns;	/* the scale it began with */
	uint32_t raised_cnt, lowered_cnt;
	uint32_t over_cnt;	/* readings above the budget by the cost of the BPF programs */
	uint64_t seen_ns;	/* time that readings cover */
	double used_ns;		/* of one CPU */
	uint32_t peak_ppm;
	bool wants_next;	/* the last reading was too much, and more can be done: the next one is wanted at once */
	/* private */
	bool is_warned;		/* too much in a reading before this one, and in no whole one less since */
	uint32_t quiet_cnt;	/* readings in a row that had room for the scale below */
	uint32_t hold_cnt;	/* readings to wait before the next climb */
	uint32_t climb_cnt;	/* steps of the climb that goes on; 0: none does */
	struct governor_step climb[GOVERNOR_STEPS_MAX];
};

struct governor_reading {
	uint64_t elapsed_ns;	/* since the last one */
	uint32_t cpus;
	double bpf_ns, own_ns;	/* time in our BPF programs, CPU time of our process, in elapsed_ns */
	double switch_ns;	/* BPF time a context switch; 0: there was none */
	double listed_each;	/* waits listed a switch: what sampling lowers */
};

void governor_init(struct governor *g, uint32_t budget_ppm, bool may_act, uint64_t scale_ns);

/* Takes a reading; the scale to use from now on.  After a change the next reading is wanted at once. */
uint64_t governor_take(struct governor *g, const struct governor_reading *r);

/* Share of all CPUs' time in parts per million, over all readings; 0 before the first. */
uint32_t governor_used_ppm(const struct governor *g, uint32_t cpus);

#endif
