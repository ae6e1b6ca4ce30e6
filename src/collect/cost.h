/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef COLLECT_COST_H
#define COLLECT_COST_H

#include "collect/governor.h"

struct bpf_object;

/*
 * Measures what we cost: CPU time of this process, and time in the programs of an object.  The
 * kernel counts that only while asked to, and counting costs some 20 to 60 ns a run; so it is
 * asked for COST_BURST_NS in each COST_PERIOD_NS, and the cost of a switch found there is
 * taken for all the switches of the period.
 */
#define COST_PERIOD_NS 1000000000ULL
#define COST_BURST_NS 50000000ULL

/* Since the window began: context switches, and waits listed under stacks. */
struct cost_counts {
	uint64_t switches, listed;
};

struct cost;

/* cpus: those online. */
struct cost *cost_new(struct bpf_object *programs, uint32_t cpus);
void cost_free(struct cost *c);	/* NULL is fine */

/* Begins: now_ns is CLOCK_MONOTONIC, counts those so far. */
void cost_start(struct cost *c, uint64_t now_ns, struct cost_counts counts);

/*
 * To be called at any time and often; true, with a reading, at the end of a burst.  Never where
 * the kernel does not let us count.
 */
bool cost_poll(struct cost *c, uint64_t now_ns, struct cost_counts counts, struct governor_reading *ret_reading);

/* Does cost_poll() want the counts this time, or is there nothing to do? */
bool cost_is_due(const struct cost *c, uint64_t now_ns);

/* Something has changed: the next burst begins now. */
void cost_hurry(struct cost *c, uint64_t now_ns, struct cost_counts counts);

/*
 * Time in the programs over that many switches, by the readings so far; false where there is none,
 * as where c is NULL.
 */
bool cost_estimate(const struct cost *c, uint64_t switches, uint64_t *ret_bpf_ns);

/* Run time and skipped runs of all the object's programs, as far as the kernel has counted them. */
void cost_programs(struct bpf_object *programs, uint64_t *ret_ns, uint64_t *ret_runs, uint64_t *ret_missed);

#endif
