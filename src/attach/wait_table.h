/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_WAIT_TABLE_H
#define ATTACH_WAIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"

struct bpf_map;

/* slot: its wake_hist_q8 is valid only if it has a waker. */
typedef void (*wait_table_fn)(const struct offcpu_wait_slot *slot, void *data);

/*
 * Passes on the sums in one half of `wait_slots`, which no program uses any more, and empties it; unless it `is_last`,
 * when none will use it again. `groups` says for the whole table which groups of slots are in use (wait_groups in
 * bpf/maps.bpf.h). False: some could not be read and are still there.
 */
bool wait_table_read(const struct bpf_map *map, uint8_t *groups, bool second, bool is_last, wait_table_fn take,
		     void *data);

/* The same for slots in memory, each slot_bytes long: one of the two lengths of struct offcpu_wait_slot. */
void wait_slots_take(void *slots, size_t bytes, uint32_t slot_bytes, bool is_last, wait_table_fn take, void *data);

#endif
