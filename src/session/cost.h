/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_COST_H
#define SESSION_COST_H

#include "abi/offcpu_abi.h"
#include "session/governor.h"

struct bpf_object;

/*
 * Measures what we cost: CPU time of this process, and time in the programs of some objects.  The kernel counts that
 * only while asked to, and counting costs some 20 to 60 ns a run; so it is asked for COST_BURST_NS in each
 * COST_PERIOD_NS, and the cost of a switch found there is taken for all the switches of the period.  Where a machine
 * is quiet or works in bursts of its own, a burst lasts up to COST_BURST_MAX_NS, and what those before it found counts
 * with it.
 */
#define COST_PERIOD_NS 1000000000ULL
#define COST_BURST_NS 50000000ULL
#define COST_BURST_MAX_NS 250000000ULL

struct cost;

/*
 * programs: objects, behind the last one NULL; they outlive this.  cpus: those online.  count: gives the sums of all
 * CPUs' counts as they are, from `data`.
 */
struct cost *cost_new(struct bpf_object *const *programs, uint32_t cpus, struct offcpu_counts (*count)(void *data),
		      void *data);
void cost_free(struct cost *c);	/* NULL is fine */

/* Begins. */
void cost_start(struct cost *c);

/*
 * To be called at any time and often; true, with a reading, at the end of a burst.  Never where
 * the kernel does not let us count.
 */
bool cost_poll(struct cost *c, struct governor_reading *ret_reading);

/* Something has changed: the next burst begins now. */
void cost_hurry(struct cost *c);

/*
 * Time in the programs over that many switches, by the readings so far; false where there is none,
 * as where c is NULL.
 */
bool cost_estimate(const struct cost *c, uint64_t switches, uint64_t *ret_bpf_ns);

/* Of all the objects' programs, as far as the kernel has counted it. */
struct program_cost {
	uint64_t ns, runs, missed;	/* missed: runs that were skipped */
};

/* programs: as for cost_new(). */
struct program_cost cost_programs(struct bpf_object *const *programs);

#endif
