/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_WALK_TYPES_H
#define BPF_ARM64_WALK_TYPES_H

#include "bpf/ktypes.h"

/* State of a user stack's walk, besides pc, sp and x29. */
struct walk_registers {
	__u64 link;		/* x30; 0 where it is not known */
	__u64 mask;		/* the bits of an address: the others may hold a pointer authentication signature */
	__u8 sp_lost;		/* sp is only a lower bound of the frame's address */
};

/* Registers that identify a cached walk, besides those. */
struct begun_registers {
	__u64 link;
};

#endif
