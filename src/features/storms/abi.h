/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_STORMS_ABI_H
#define FEATURES_STORMS_ABI_H

/* Wakeup storms: one event wakes many threads at once. Summed in the kernel by waker. */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define STORM_MIN 8		/* minimal number of wakings by one event */
#define STORM_AGAIN_NS 100000	/* "slept again at once": after at most this time on the CPU */

/* Its key is the waker's id: see struct offcpu_rec_waker. */
struct storm_sum {
	__u64 event_cnt;	/* bursts of STORM_MIN wakings or more */
	__u64 call_cnt;		/* their system calls, or interrupts */
	__u64 woken_cnt;	/* wakings in them */
	__u64 most_cnt;		/* maximum of one event */
	__u64 ended_cnt;	/* woken threads that were seen to sleep or exit afterwards */
	__u64 again_cnt;	/* of those: slept again at once */
	__u64 cpu_ns;		/* time on CPU from the waking to the sleep or exit, of ended_cnt */
	__u64 again_ns;		/* the same of again_cnt */
	__u64 delay_ns;		/* time on the run queue meanwhile, of ended_cnt */
};

#endif
