/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_HANDOVER_H
#define SUPPLY_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/space_abi.h"

/* What of a program's mappings lies in the kernel, where the BPF unwinder reads it. */
struct handover {
	uint64_t space;		/* the program's key */
	uint32_t generation, part_cnt;
	uint64_t read_ns;	/* as in struct space */
	uint32_t speaks;	/* enum space_speaks */
	uint32_t v8;
	bool is_there;
};

/*
 * Hands a program's mappings over, at most SPACE_PARTED_MAX, sorted by address.  They take the place of those of an
 * earlier generation.  False when the kernel has no room for them: the earlier ones stay.
 */
bool handover_put(struct handover *h, int spaces_fd, const struct space_mapping *mappings, uint32_t cnt,
		  uint32_t generation);
void handover_withdraw(struct handover *h, int spaces_fd);

#endif
