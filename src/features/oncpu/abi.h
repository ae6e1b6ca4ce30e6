/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ONCPU_ABI_H
#define ONCPU_ABI_H

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

/*
 * Samples of threads on CPU, summed in the kernel.  Only the current slice is added to, so user space takes out those
 * that are over while the programs run.
 */
struct oncpu_key {
	__u64 ustack, kstack;	/* ids as those of waits; kstack 0: it ran in user mode */
	__u32 tno;		/* thread number, see offcpu_rec_thread */
	/*
	 * number since the window began, of oncpu_slice_ns each; where windows are cut which half of the sums it is of
	 */
	__u32 slice;
};

struct oncpu_sum {
	__u64 samples;
	__u64 weight_ns;	/* the time between two samples of a CPU, of each: the rate may change meanwhile */
};

/* Of each CPU: what taking samples cost. */
struct oncpu_cost {
	__u64 runs, ns;
};

#define ONCPU_SUMS_MAX 16384

#endif
