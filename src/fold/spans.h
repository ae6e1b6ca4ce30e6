/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_SPANS_H
#define FOLD_SPANS_H

#include <stddef.h>

#include "fold/fold.h"

/*
 * Which requests a recording keeps as spans: the slowest of all, and of the others a sample in which each has the same
 * chance.  A request that is faster than the slowest kept ones can never be one of them, so the kernel need not tell
 * it but for the sample.
 */

#define SPANS_SLOWEST 5000
#define SPANS_SAMPLED 5000

struct spans;

struct spans *spans_new(guint slowest, guint sampled);
void spans_free(struct spans *s);	/* NULL is fine */
/* struct offcpu_rec_request_span, of which only the header and as many notes as fit are read. */
void spans_add(struct spans *s, const void *record, size_t size);
/* What the kernel is to tell from now on: all from that latency on, and one in 2^*ret_shift of the others. */
uint64_t spans_from_ns(const struct spans *s);
unsigned spans_shift(const struct spans *s);
/* After fold_finish(): puts them into the profile, in the order in which they began. */
void spans_finish(struct spans *s, struct fold *fold, struct profile *p);

#endif
