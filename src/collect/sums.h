/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef COLLECT_SUMS_H
#define COLLECT_SUMS_H

#include <stddef.h>

#include "abi/offcpu_abi.h"

/*
 * The kernel's sums of waits, added up over the whole recording.  Every sum that is drained
 * comes through here, so adding one costs one probe of a flat table; and since most keys are
 * met only once, a histogram is kept from the second wait on.
 */
struct sums;

struct sums *sums_new(void);
void sums_free(struct sums *s);	/* NULL is fine */

void sums_add(struct sums *s, const struct offcpu_wait_key *key, const struct offcpu_wait_sum *sum);

/* Those there are, in the order in which they were first met. */
size_t sums_cnt(const struct sums *s);
/* The i-th; the key stays valid until the next one is added. */
const struct offcpu_wait_key *sums_get(const struct sums *s, size_t i, struct offcpu_wait_sum *ret_sum);

#endif
