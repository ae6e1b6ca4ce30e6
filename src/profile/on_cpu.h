/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_ON_CPU_H
#define PROFILE_ON_CPU_H

#include "profile/profile.h"

/*
 * What threads did on CPU, made of samples (SEMANTICS, "On-CPU samples").  A thread's samples say in what proportion
 * its time went where; how long that was its account says, which is exact.
 */

/* All samples of one thread with the same stacks, and what they stand for. */
struct on_cpu_row {
	uint32_t thread, user, kernel;
	uint64_t samples;	/* 0: the thread ran, and no sample met it: its time is known, not where it went */
	uint64_t on_cpu_ns;	/* over the rows of a thread: its on_cpu_ns */
	uint64_t on_cpu_se_ns;	/* standard error of that */
};

#define ON_CPU_STATE 'C'	/* in the place of a wait's state */

static inline bool profile_has_on_cpu(const struct profile *p)
{
	return p->info.on_cpu_hz != 0;
}

/* struct on_cpu_sample, by thread: those with the same stacks become one, whatever their slice. */
GArray *profile_on_cpu_of_stacks(const struct profile *p);

/* struct on_cpu_row, by thread.  It adds stacks of one frame to the profile. */
GArray *profile_on_cpu_rows(struct profile *p);

/*
 * The same as rows of waits, behind all others: of state ON_CPU_STATE, with on_cpu_ns, and samples in the place of a
 * count.  Whatever sums off-CPU time finds none in them.  Nothing where nothing was sampled, or where it is done.
 */
void profile_on_cpu_as_waits(struct profile *p);

/* Appends; the thread and the stacks are the profile's. */
void profile_add_on_cpu(struct profile *p, const struct on_cpu_sample *s);
/* The standard error of `part` of all_ns of a thread of which so many of all samples are. */
double on_cpu_error(uint64_t all_ns, uint64_t part, uint64_t all);

#endif
