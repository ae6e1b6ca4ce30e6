/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_REGS_BPF_H
#define BPF_WALK_REGS_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>

/* The registers of a thread's user mode, by architecture: its system call, and its stack pointer. */

struct syscall {
	__u64 nr, first, second, third, fourth;
};

#ifdef __TARGET_ARCH_x86
#include "bpf/x86/regs.bpf.h"
#else
#include "bpf/arm64/regs.bpf.h"
#endif

#endif
