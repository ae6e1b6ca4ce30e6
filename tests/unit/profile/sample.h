/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_UNIT_PROFILE_SAMPLE_H
#define TESTS_UNIT_PROFILE_SAMPLE_H

#include "profile/profile.h"

struct sample_size {
	unsigned threads, stacks, depth, functions, waits;
};

/* tiny: tests/fuzz/corpus/profile/sample is that, with seed 9.  large: a busy server's minute. */
extern const struct sample_size sample_tiny, sample_small, sample_medium, sample_large;

/* A profile with something of everything, the same for the same seed. */
struct profile *sample_profile(const struct sample_size *size, unsigned seed);
/* Ends the test unless both are equal field by field. */
void assert_profiles_equal(const struct profile *a, const struct profile *b);

/* sample_requests.c: what the two above do for requests; stacks: uint32_t. */
void sample_add_requests(struct profile *p, const GArray *stacks);
void assert_requests_equal(const struct profile *a, const struct profile *b);
/* sample_tasks.c */
void sample_add_tasks(struct profile *p);
void assert_tasks_equal(const struct profile *a, const struct profile *b);

#endif
