/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For bpf/calls.bpf.h: system calls by x86-64's numbers. */
static const __u8 calls[CALLS_END] = {
	[0] = CALL_FD, [1] = CALL_SEND,				/* read, write */
	[5] = CALL_FD, [8] = CALL_FD,				/* fstat, lseek */
	[7] = CALL_POLL, [271] = CALL_POLL,			/* poll, ppoll */
	[16] = CALL_FD,						/* ioctl */
	[17] = CALL_FD, [18] = CALL_FD, [19] = CALL_FD, [20] = CALL_SEND,	/* pread64, pwrite64, readv, writev */
	[23] = CALL_SELECT, [270] = CALL_SELECT,		/* select, pselect6 */
	[40] = CALL_COPY,					/* sendfile */
	[42] = CALL_CONNECT, [43] = CALL_FD, [288] = CALL_FD,	/* connect, accept, accept4 */
	[44] = CALL_SEND, [45] = CALL_FD, [46] = CALL_SEND, [47] = CALL_FD,	/* sendto, recvfrom, sendmsg, recvmsg */
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
	/* preadv, pwritev, preadv2, pwritev2 */
	[295] = CALL_FD, [296] = CALL_FD, [327] = CALL_FD, [328] = CALL_FD,
	[299] = CALL_FD, [307] = CALL_SEND,			/* recvmmsg, sendmmsg */
	[306] = CALL_FD, [326] = CALL_FD,			/* syncfs, copy_file_range */
	CALLS_OF_ALL
};
