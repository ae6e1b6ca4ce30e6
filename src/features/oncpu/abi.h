/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_ONCPU_ABI_H
#define FEATURES_ONCPU_ABI_H

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

/*
 * Samples of threads on CPU, summed in the kernel. Only the current slice grows, so user space removes completed ones
 * while the programs run.
 */
struct oncpu_key {
	__u64 ustack, kstack;	/* ids, as in waits; kstack 0: it ran in user mode */
	__u32 tno;		/* thread number, see offcpu_rec_thread */
	/* number since the window began, of oncpu_slice_ns each; where windows are cut: the half of the sums */
	__u32 slice;
};

struct oncpu_sum {
	__u64 samples;
	__u64 weight_ns;	/* sum of the samples' intervals: the rate may change meanwhile */
};

/* For each CPU: the cost of sampling. */
struct oncpu_cost {
	__u64 runs, ns;
};

#define ONCPU_SUMS_MAX 16384

#endif
