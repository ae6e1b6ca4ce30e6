/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARM64_WALK_TYPES_H
#define BPF_ARM64_WALK_TYPES_H

#include "bpf/ktypes.h"

/* Of a walk of a user stack, besides pc, sp and x29. */
struct walk_registers {
	__u64 link;		/* x30; 0 where it is not known */
	__u64 mask;		/* the bits of an address: pointer authentication keeps its code in the others */
	__u8 sp_lost;		/* sp only says what the frame lies above */
};

/* Of those a walk is recognised by, besides. */
struct begun_registers {
	__u64 link;
};

#endif
