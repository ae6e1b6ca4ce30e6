/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef OBJECT_ABI_H
#define OBJECT_ABI_H

#include "abi/offcpu_abi.h"

/* What a thread waited for, with --locks. */

#define OFFCPU_FUTEXES_MAX 8	/* of the up to 128 addresses of a futex_waitv */
#define OFFCPU_FUTEX_WAITV 64	/* in place of a futex command, for the system call futex_waitv */
#define OFFCPU_FUTEX_PRIVATE 128	/* FUTEX_PRIVATE_FLAG */

/* How the holder was found, as the wait began. All but PI are guesses from the memory around the futex. */
enum offcpu_holder {
	OFFCPU_HOLDER_NONE = 0,
	OFFCPU_HOLDER_PI,	/* by the kernel's protocol the futex holds the owner */
	OFFCPU_HOLDER_MUTEX,	/* looks like a glibc mutex: its owner */
	OFFCPU_HOLDER_RWLOCK,	/* like a glibc rwlock: who writes */
	OFFCPU_HOLDER_JOIN,	/* like a glibc thread: the one that is joined */
	OFFCPU_HOLDER_SEMAPHORE,	/* like a glibc semaphore, which has no holder */
};

/* The futex that a thread sleeps on. Like a stack it has an id and crosses once. */
struct offcpu_rec_object {
	__u32 type;
	__u32 op;		/* the system call's, with its flags; or OFFCPU_FUTEX_WAITV and PRIVATE */
	__u64 id;
	__u64 proc_start_ns;	/* with pid and exec_no it identifies the address space */
	__u32 pid;		/* in the tracer's pid namespace */
	__u32 exec_no;
	__u32 holder;		/* a thread, as its own pid namespace numbers it; 0: none */
	__u8 holder_kind;	/* enum offcpu_holder */
	__u8 pad;
	__u16 cnt;		/* of addresses; above OFFCPU_FUTEXES_MAX some are left out */
	__u32 tid;		/* the sleeper's */
	__u32 pad2;
	__u64 sp;
	__u64 addr[OFFCPU_FUTEXES_MAX];
};

#endif
