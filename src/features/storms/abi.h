/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORM_ABI_H
#define STORM_ABI_H

/* Wakeup storms: one event that wakes many threads at once.  Summed in the kernel under the waker. */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

#define STORM_MIN 8		/* wakings of one event, at least */
#define STORM_AGAIN_NS 100000	/* sleeps again at once: after no more time on the CPU */

/* The key is the waker's id: see struct offcpu_rec_waker. */
struct storm_sum {
	__u64 event_cnt;	/* bursts of STORM_MIN wakings or more */
	__u64 call_cnt;		/* system calls, or interrupts, that they took */
	__u64 woken_cnt;	/* wakings in them */
	__u64 most_cnt;		/* of one */
	__u64 ended_cnt;	/* of the woken, seen to sleep or exit after it */
	__u64 again_cnt;	/* of those, at once */
	__u64 cpu_ns;		/* on CPU from the waking to the end, of all that ended */
	__u64 again_ns;		/* of those that slept again at once */
	__u64 delay_ns;		/* they stood in the run queue meanwhile, all of them */
};

#endif
