/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_CAUSE_DOES_H
#define EXPLAIN_CAUSE_DOES_H

#include "analyse/far_end.h"
#include "explain/findings.h"

/* What those do meanwhile who end a finding's waits, or hold its lock: a part of findings_by.c, which says who they are. */

#define CAUSE_NONE UINT32_MAX

/* All borrowed. */
struct cause_finder {
	struct findings *f;
	const uint32_t *locks;		/* of lock_ids_new() */
	uint32_t *threads_of_wakers;	/* CAUSE_NONE: not known */
	struct far_ends *far_ends;
};

/* Frames, by their function's name; -1: not known. */
bool cause_same_function(const struct profile *p, int64_t a, int64_t b);
/* Who holds a lock of the kernel's is in a system call, where one neither sleeps at will nor waits for other programs. */
bool cause_may_be_in_kernel(enum reason reason);
/* Is the function on the stack? */
bool cause_passes(const struct profile *p, uint32_t node, int64_t function);
/* The last program that it was; pid 0: of any process.  CAUSE_NONE: it is not in the recording. */
uint32_t cause_thread(const struct profile *p, uint32_t pid, uint32_t tid);

/* is_holder: of each thread whether it is one of them.  All fill in row->by. */
void cause_mark_helpers(const struct cause_finder *c, struct finding *row, bool *is_holder);
void cause_find_doing(const struct cause_finder *c, struct finding *row, const bool *is_holder, bool is_lock,
		      int64_t *computes_in);
void cause_find_running(const struct cause_finder *c, struct finding *row, const bool *is_holder, int64_t computes_in);
void cause_find_passed_on(const struct cause_finder *c, struct finding *row);

#endif
