/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_CALLS_BPF_H
#define BPF_CALLS_BPF_H

#include "bpf/ktypes.h"

/* Which argument of a system call that may wait says for what. */
enum call_waits {
	CALL_OTHER = 0,
	CALL_FD,	/* the first is a descriptor */
	CALL_POLL,	/* an array of descriptors, and how many */
	CALL_SELECT,	/* the second is a set of descriptors */
	CALL_WAIT4,	/* a process */
	CALL_WAITID,	/* of what kind, and which */
	CALL_AIO,	/* a context of asynchronous I/O */
};

#define WAITID_PID 1	/* P_PID, include/uapi/linux/wait.h */
#define WAITID_PIDFD 3
#define CALLS_END 512	/* above all numbers of system calls; a page fault has -1 */

/* By number.  pread, preadv and so on wait as read does, and so do openat's relatives that take a file first. */
static const __u8 calls[CALLS_END] = {
#ifdef __TARGET_ARCH_x86
	[0] = CALL_FD, [1] = CALL_FD,				/* read, write */
	[5] = CALL_FD, [8] = CALL_FD,				/* fstat, lseek */
	[7] = CALL_POLL, [271] = CALL_POLL,			/* poll, ppoll */
	[16] = CALL_FD,						/* ioctl */
	[17] = CALL_FD, [18] = CALL_FD, [19] = CALL_FD, [20] = CALL_FD,	/* pread64, pwrite64, readv, writev */
	[23] = CALL_SELECT, [270] = CALL_SELECT,		/* select, pselect6 */
	[40] = CALL_FD,						/* sendfile: where to */
	[42] = CALL_FD, [43] = CALL_FD, [288] = CALL_FD,	/* connect, accept, accept4 */
	[44] = CALL_FD, [45] = CALL_FD, [46] = CALL_FD, [47] = CALL_FD,	/* sendto, recvfrom, sendmsg, recvmsg */
	[48] = CALL_FD,						/* shutdown */
	[61] = CALL_WAIT4, [247] = CALL_WAITID,			/* wait4, waitid */
	[72] = CALL_FD, [73] = CALL_FD,				/* fcntl, flock */
	[74] = CALL_FD, [75] = CALL_FD, [77] = CALL_FD,		/* fsync, fdatasync, ftruncate */
	[78] = CALL_FD, [217] = CALL_FD,			/* getdents, getdents64 */
	[187] = CALL_FD, [221] = CALL_FD,			/* readahead, fadvise64 */
	[208] = CALL_AIO, [333] = CALL_AIO,			/* io_getevents, io_pgetevents */
	[232] = CALL_FD, [281] = CALL_FD,			/* epoll_wait, epoll_pwait */
	[275] = CALL_FD, [276] = CALL_FD, [278] = CALL_FD,	/* splice, tee, vmsplice */
	[277] = CALL_FD, [285] = CALL_FD,			/* sync_file_range, fallocate */
	[295] = CALL_FD, [296] = CALL_FD, [327] = CALL_FD, [328] = CALL_FD,	/* preadv, pwritev, preadv2, pwritev2 */
	[299] = CALL_FD, [307] = CALL_FD,			/* recvmmsg, sendmmsg */
	[306] = CALL_FD, [326] = CALL_FD,			/* syncfs, copy_file_range */
#else	/* include/uapi/asm-generic/unistd.h */
	[4] = CALL_AIO, [292] = CALL_AIO,			/* io_getevents, io_pgetevents */
	[22] = CALL_FD,						/* epoll_pwait */
	[25] = CALL_FD, [29] = CALL_FD, [32] = CALL_FD,		/* fcntl, ioctl, flock */
	[46] = CALL_FD, [47] = CALL_FD,				/* ftruncate, fallocate */
	[61] = CALL_FD, [62] = CALL_FD,				/* getdents64, lseek */
	[63] = CALL_FD, [64] = CALL_FD, [65] = CALL_FD, [66] = CALL_FD,	/* read, write, readv, writev */
	[67] = CALL_FD, [68] = CALL_FD, [69] = CALL_FD, [70] = CALL_FD,	/* pread64, pwrite64, preadv, pwritev */
	[71] = CALL_FD,						/* sendfile: where to */
	[72] = CALL_SELECT, [73] = CALL_POLL,			/* pselect6, ppoll */
	[75] = CALL_FD, [76] = CALL_FD, [77] = CALL_FD,		/* vmsplice, splice, tee */
	[80] = CALL_FD, [82] = CALL_FD, [83] = CALL_FD, [84] = CALL_FD,	/* fstat, fsync, fdatasync, sync_file_range */
	[95] = CALL_WAITID, [260] = CALL_WAIT4,			/* waitid, wait4 */
	[202] = CALL_FD, [203] = CALL_FD, [242] = CALL_FD,	/* accept, connect, accept4 */
	[206] = CALL_FD, [207] = CALL_FD, [210] = CALL_FD, [211] = CALL_FD, [212] = CALL_FD,	/* sendto, recvfrom, shutdown, sendmsg, recvmsg */
	[213] = CALL_FD, [223] = CALL_FD,			/* readahead, fadvise64 */
	[243] = CALL_FD, [269] = CALL_FD,			/* recvmmsg, sendmmsg */
	[267] = CALL_FD, [285] = CALL_FD, [286] = CALL_FD, [287] = CALL_FD,	/* syncfs, copy_file_range, preadv2, pwritev2 */
#endif
	/* since these all architectures have the same numbers */
	[426] = CALL_FD,					/* io_uring_enter */
	[441] = CALL_FD,					/* epoll_pwait2 */
};

static __always_inline __u8 call_waits_for(__u64 nr)
{
	return nr < CALLS_END ? calls[nr] : CALL_OTHER;
}

#endif
