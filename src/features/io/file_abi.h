/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FILE_ABI_H
#define FILE_ABI_H

/* What src/features/io/file.bpf.c tells of file operations: system calls on files.  Times are CLOCK_MONOTONIC in ns. */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

#define FILE_CALLS_END 512	/* above all numbers of system calls */
#define FILE_OP_URING 128	/* and above: an operation of io_uring's, by its number */
#define FILE_OP_PAGE 255	/* a page of a mapped file */
#define FILE_COMM_LEN 16
#define FILE_FRAMES_MAX 32	/* of the kernel stack of the longest wait */
#define FILE_PATH_BYTES 1024	/* of names of directories and the file, each with its zero byte */
#define FILE_TEXT_BYTES 256	/* of the path that the program gave, and of one name */
#define FILE_PATH_STEPS 64	/* directories and mounts from a file up */

/* One system call that works on files.  Arguments are numbered from 1; 0: it has none of that sort. */
struct file_call {
	__u8 op;		/* of user space's table, + 1; 0: not one of files */
	__u8 fd, other_fd;	/* descriptors: the first one that is a file counts */
	__u8 path;		/* a path, relative to the descriptor `fd` */
	__u8 flags;		/* enum file_call_flag */
	__u8 pad[3];
};

enum file_call_flag {
	FILE_CALL_OPENS = 1 << 0,	/* gives a descriptor */
	FILE_CALL_CLOSES = 1 << 1,	/* the descriptor names nothing afterwards */
	FILE_CALL_LOCKS = 1 << 2,	/* fcntl(): only where the second argument is a command that may wait */
	FILE_CALL_FREE = 1 << 3,	/* of no file: sync() */
};

enum file_record { FILE_REC_STACK = 1, FILE_REC_OP };

enum file_op_flag {
	FILE_OP_OPEN = 1 << 0,		/* it had not ended as the window did */
	FILE_OP_BEFORE = 1 << 1,	/* it had begun before the window: how long before is not known */
	FILE_OP_ABSOLUTE = 1 << 2,	/* the names go up to the root */
	FILE_OP_DELETED = 1 << 3,	/* no directory has the file any more */
	/* the last of the names is a path that the program gave, relative to the others */
	FILE_OP_GIVEN = 1 << 4,
	FILE_OP_CUT = 1 << 5,		/* there are more directories than names */
	/* nobody tells of its end or what it gave: it ended as the thread had the CPU back last */
	FILE_OP_LOOSE = 1 << 6,
	FILE_OP_ASYNC = 1 << 7,		/* handed to io_uring: no thread stands in it */
	/*
	 * no call: a page fault on a mapped file; without FILE_OP_ABSOLUTE the names begin at the file system's root
	 */
	FILE_OP_FAULT = 1 << 8,
};

/* In front of `path_bytes` bytes of names, the file's first, each with a zero byte. */
struct file_rec_op {
	__u32 type;
	__u32 flags;			/* enum file_op_flag */
	__u64 number;			/* of the record of its stacks; 0: none */
	__u64 start_ns, end_ns;
	__u64 off_ns, runq_ns, disk_ns;	/* off CPU; of that, waiting for a CPU; a request of its own was under way */
	__s64 result;			/* what the call gave: bytes, or a negative error */
	__u64 given;			/* of a call that goes on: where the program's path lies; 0: not needed */
	__u64 ino;
	__u32 dev, mode;
	__u32 pid, tid, op, requests;	/* requests: to disks */
	char comm[FILE_COMM_LEN];	/* the thread's */
	char process[FILE_COMM_LEN];	/* its process's first thread's */
	__u32 path_bytes, pad;
};

enum file_count {
	FILE_SLOW,		/* operations on files that were told of */
	FILE_NOT_FILE,		/* slow calls on something else: a socket, a pipe, a terminal */
	FILE_LOST_OP,		/* slow, and the ring was full */
	FILE_LOST_STACK,	/* slow, and the ring was full for the stacks */
	FILE_LOST_ROOM,		/* there was no memory to follow a thread's call */
	FILE_LOST_DISK,		/* requests that there was no room to follow */
	FILE_URING,		/* requests to io_uring that are none of files */
	FILE_COUNTS
};

#endif
