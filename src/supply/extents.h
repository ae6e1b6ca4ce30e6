/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_EXTENTS_H
#define SUPPLY_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

/* What is free of a row of numbered blocks: the first place that is long enough is given out. */
struct extents;

struct extents *extents_new(void);
void extents_free(struct extents *e);

/* Blocks [first, first + cnt) are free; none of them may be so already. */
void extents_give(struct extents *e, uint32_t first, uint32_t cnt);
/* False when no free extent is as long; cnt is not 0. */
bool extents_take(struct extents *e, uint32_t cnt, uint32_t *ret_first);

/* How many blocks up to `end` are free without a gap. */
uint32_t extents_tail(const struct extents *e, uint32_t end);
uint64_t extents_free_cnt(const struct extents *e);

#endif
