/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_CROWD_H
#define SESSION_CROWD_H

#include "fold/fold.h"

/*
 * Reads out who held the CPU while threads queued (bpf/blame.bpf.h), and wakeup storms
 * (bpf/storm.bpf.h): what crowds of threads do to one another.
 */
struct offcpu_bpf;
struct crowd;

/* Before the programs are loaded: it tells which of them, and which maps, are wanted. */
struct crowd *crowd_new(struct offcpu_bpf *skel, bool want_blame, bool want_storms);
void crowd_free(struct crowd *c);	/* NULL is fine */

/* Now and then: empties the sums before they fill up. */
void crowd_drain(struct crowd *c);
/* At a cut, before the programs are told when the next window begins: the storms of this one. */
void crowd_cut(struct crowd *c);
/* When the window is over and all threads and wakers are in the fold: the rest, into its profile. */
void crowd_finish(struct crowd *c, struct fold *f, struct profile *p);

#endif
