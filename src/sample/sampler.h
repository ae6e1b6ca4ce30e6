/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SAMPLE_SAMPLER_H
#define SAMPLE_SAMPLER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * Looks at threads at a rate, through /proc or a BPF iterator over all threads, and makes a recording of that
 * (fold/looks.h). Nothing is attached to the scheduler, so the cost depends on the rate and the number of threads, not
 * on their activity.
 */
struct sampler;

struct sampler_options {
	double hz;
	uint32_t budget_ppm;	/* our budget, of one CPU: the rate is lowered to keep it */
	uint64_t duration_ns;	/* 0: until *stop */
	GArray *pids, *tids;	/* uint32_t; NULL: any */
	GArray *cgroup_ids;	/* uint64_t: in one of these or below; NULL: any */
	const char *comm_glob;	/* NULL: any */
	bool no_user_threads, no_kernel_threads;
	bool no_user_stacks, no_kernel_stacks;
	bool include_self;
	bool by_proc;		/* no BPF */
	const volatile int *stop;	/* set by a signal handler */
};

/* NULL, with a sentence, when the kernel or our rights do not allow it. */
struct sampler *sampler_new(const struct sampler_options *options, GError **error);
/* Runs until the end. False if there was no thread to look at. */
bool sampler_run(struct sampler *s, GError **error);
/* The result, owned by the caller. The sampler may be freed then. */
struct profile *sampler_take_profile(struct sampler *s);
void sampler_free(struct sampler *s);	/* NULL is fine */

#define SAMPLER_ERROR (sampler_error_quark())
GQuark sampler_error_quark(void);
enum sampler_error { SAMPLER_ERROR_FAILED };

#endif
