/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_CALLS_BPF_H
#define BPF_CALLS_BPF_H

#include "bpf/ktypes.h"

/* Which argument of a system call that may wait says for what. */
enum call_waits {
	CALL_OTHER = 0,
	CALL_FD,	/* the first is a descriptor */
	CALL_SEND,	/* the same, to write to; to connect */
	CALL_CONNECT,
	CALL_COPY,	/* the first is one to write to, the second one of a file to read from */
	CALL_POLL,	/* an array of descriptors, and how many */
	CALL_SELECT,	/* the second is a set of descriptors */
	CALL_WAIT4,	/* a process */
	CALL_WAITID,	/* of what kind, and which */
	CALL_AIO,	/* a context of asynchronous I/O */
	CALL_URING,	/* a ring's descriptor */
};

#define WAITID_PID 1	/* P_PID, include/uapi/linux/wait.h */
#define WAITID_PIDFD 3
#define CALLS_END 512	/* above all numbers of system calls; a page fault has -1 */

/* Those that all architectures have by the same numbers: io_uring_enter, epoll_pwait2. */
#define CALLS_OF_ALL [426] = CALL_URING, [441] = CALL_FD

/* By number.  pread, preadv and so on wait as read does, and so do openat's relatives that take a file first. */
#ifdef __TARGET_ARCH_x86
#include "bpf/x86/calls.h"
#else
#include "bpf/arm64/calls.h"
#endif

static __always_inline __u8 call_waits_for(__u64 nr)
{
	return nr < CALLS_END ? calls[nr] : CALL_OTHER;
}

#endif
