/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_CHAIN_MAPS_H
#define SESSION_CHAIN_MAPS_H

#include <stdbool.h>

#include "fold/fold.h"

struct offcpu_bpf;

/*
 * The two maps in which the kernel sums what chains of wakers tell of a wait.  They take turns
 * with the maps of waits and are read out after them; a wait whose story comes one reading later
 * than its sum loses nothing, for both are added up over the whole window.
 */

/* Before loading: without chains they take no memory. */
void chain_maps_size(struct offcpu_bpf *skel, bool wanted);

/* Is it time to swap? */
bool chain_maps_fill(const struct offcpu_bpf *skel);

/* Empties the second or the first, which is in use no more, into the fold; false as of map_read_out(). */
bool chain_maps_read(struct offcpu_bpf *skel, bool second, struct fold *fold);

#endif
