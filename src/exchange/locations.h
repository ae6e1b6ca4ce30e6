/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_LOCATIONS_H
#define EXCHANGE_LOCATIONS_H

#include "profile/profile.h"

/*
 * Places in programs as pprof and OTLP know them: a frame together with those that are inlined into it.  Ids are
 * dense, from 1, in the order in which paths brought them.
 */
struct locations;

struct locations *locations_new(const struct profile *p);
void locations_free(struct locations *l);
/* The locations of a path of frames (uint32_t), outermost first: replaces what `ids` (uint32_t) holds. */
void locations_of_path(struct locations *l, const GArray *path, GArray *ids);
uint32_t locations_cnt(const struct locations *l);
/* The frames of one, outermost first. */
const uint32_t *locations_get(const struct locations *l, uint32_t id, guint *ret_cnt);

#endif
