/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_WAIT_TABLE_H
#define ATTACH_WAIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"

struct bpf_map;

/* What is read of it: its wake_hist_q8 only where it has a waker. */
typedef void (*wait_table_fn)(const struct offcpu_wait_slot *slot, void *data);

/*
 * Hands over the sums in one half of `wait_slots`, which no program uses any more, and empties it; not if it
 * `is_last`, so that none will use it again.  `groups` says for all of the table which groups of slots hold something
 * (wait_groups in bpf/maps.bpf.h).  False: some could not be read and are there still.
 */
bool wait_table_read(const struct bpf_map *map, uint8_t *groups, bool second, bool is_last, wait_table_fn take,
		     void *data);

/* The same of so many bytes of slots, each slot_bytes long: one of the two lengths of struct offcpu_wait_slot. */
void wait_slots_take(void *slots, size_t bytes, uint32_t slot_bytes, bool is_last, wait_table_fn take, void *data);

#endif
