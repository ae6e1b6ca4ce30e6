/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For bpf/calls.bpf.h: system calls by their numbers in include/uapi/asm-generic/unistd.h. */
static const __u8 calls[CALLS_END] = {
	[4] = CALL_AIO, [292] = CALL_AIO,			/* io_getevents, io_pgetevents */
	[22] = CALL_FD,						/* epoll_pwait */
	[25] = CALL_FD, [29] = CALL_FD, [32] = CALL_FD,		/* fcntl, ioctl, flock */
	[46] = CALL_FD, [47] = CALL_FD,				/* ftruncate, fallocate */
	[61] = CALL_FD, [62] = CALL_FD,				/* getdents64, lseek */
	[63] = CALL_FD, [64] = CALL_SEND, [65] = CALL_FD, [66] = CALL_SEND,	/* read, write, readv, writev */
	[67] = CALL_FD, [68] = CALL_FD, [69] = CALL_FD, [70] = CALL_FD,	/* pread64, pwrite64, preadv, pwritev */
	[71] = CALL_COPY,					/* sendfile */
	[72] = CALL_SELECT, [73] = CALL_POLL,			/* pselect6, ppoll */
	[75] = CALL_FD, [76] = CALL_FD, [77] = CALL_FD,		/* vmsplice, splice, tee */
	[80] = CALL_FD, [82] = CALL_FD, [83] = CALL_FD, [84] = CALL_FD,	/* fstat, fsync, fdatasync, sync_file_range */
	[95] = CALL_WAITID, [260] = CALL_WAIT4,			/* waitid, wait4 */
	[202] = CALL_FD, [203] = CALL_CONNECT, [242] = CALL_FD,	/* accept, connect, accept4 */
	/* sendto, recvfrom, shutdown, sendmsg, recvmsg */
	[206] = CALL_SEND, [207] = CALL_FD, [210] = CALL_FD, [211] = CALL_SEND, [212] = CALL_FD,
	[213] = CALL_FD, [223] = CALL_FD,			/* readahead, fadvise64 */
	[243] = CALL_FD, [269] = CALL_SEND,			/* recvmmsg, sendmmsg */
	/* syncfs, copy_file_range, preadv2, pwritev2 */
	[267] = CALL_FD, [285] = CALL_FD, [286] = CALL_FD, [287] = CALL_FD,
	CALLS_OF_ALL
};
