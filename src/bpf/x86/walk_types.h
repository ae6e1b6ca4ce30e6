/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_WALK_TYPES_H
#define BPF_X86_WALK_TYPES_H

#include "bpf/ktypes.h"

/* Registers of the innermost frame. */
struct walk_registers {
	__u64 rdi, r10;
};

/* Registers that identify a cached walk, besides those. */
struct begun_registers {
};

#endif
