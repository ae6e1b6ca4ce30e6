/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_CALLS_BPF_H
#define BPF_CALLS_BPF_H

#include "bpf/ktypes.h"

/* Which argument of a system call says what it waits for. */
enum call_waits {
	CALL_OTHER = 0,
	CALL_FD,	/* the first is a descriptor */
	CALL_SEND,	/* the first is a descriptor to write to; to connect */
	CALL_CONNECT,
	CALL_COPY,	/* the first is a descriptor to write to, the second one of a file to read from */
	CALL_POLL,	/* an array of descriptors, and how many */
	CALL_SELECT,	/* the second is a set of descriptors */
	CALL_WAIT4,	/* the first is a process */
	CALL_WAITID,	/* the first is the kind of id, the second the id */
	CALL_AIO,	/* an AIO context */
	CALL_URING,	/* the descriptor of an io_uring */
};

#define WAITID_PID 1	/* P_PID, include/uapi/linux/wait.h */
#define WAITID_PIDFD 3
#define CALLS_END 512	/* above all system call numbers; -1 is a page fault */

/* Numbers that all architectures share: io_uring_enter, epoll_pwait2. */
#define CALLS_OF_ALL [426] = CALL_URING, [441] = CALL_FD

/* Indexed by number. pread, preadv and so on wait like read; so do variants of openat that take a descriptor first. */
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
