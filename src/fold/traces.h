/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_TRACES_H
#define FOLD_TRACES_H

#include "abi/context_abi.h"
#include "profile/profile.h"

/* For which traces the longest waits were, until the rows of these are there. */
struct fold_traces;

struct fold_traces *fold_traces_new(void);
void fold_traces_free(struct fold_traces *t);	/* NULL is fine */

/* A record of impossible size is dropped; false then. */
bool fold_traces_add(struct fold_traces *t, const struct offcpu_rec_trace *rec, size_t size);
/* The sum of that key became this row of waits. */
void fold_traces_tell(struct fold_traces *t, struct profile *p, const struct offcpu_wait_key *key, uint32_t wait);
/* The window is over. */
void fold_traces_finish(struct fold_traces *t, struct profile *p);

#endif
