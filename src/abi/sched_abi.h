/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ABI_SCHED_ABI_H
#define ABI_SCHED_ABI_H

#include "abi/offcpu_abi.h"

/* Context switches one by one, for traces that show CPUs (`offcpu events -f perfetto`): bpf/sched.bpf.h. */

struct offcpu_sched_thread {
	__u32 pid, tid;		/* tid 0: idle, or a thread that is not traced */
	__s32 prio;		/* as in the kernel: 120 is nice 0 */
	char comm[OFFCPU_COMM_LEN];
};

/* A switch from or to a traced thread, even if filters exclude its wait. */
struct offcpu_rec_switch {
	__u32 type;
	__u32 cpu;
	__u64 ns;
	struct offcpu_sched_thread prev, next;
	__u32 wake_cpu;		/* CPU of the waking below; of a waking that came before the switch, its CPU */
	__u8 prev_state;	/* its letter; 'X': the thread ends */
	__u8 is_preempted;	/* prev was still runnable */
	__u8 is_new;		/* next runs for the first time: its waking is the fork */
	__u8 pad;
	__u64 wake_ns;		/* when next was woken, never before its wait began; 0: not woken, or not seen */
	__u64 waker;		/* id of a struct offcpu_rec_waker; 0: not known */
};

#endif
