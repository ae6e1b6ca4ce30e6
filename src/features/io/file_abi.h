/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_FILE_ABI_H
#define FEATURES_IO_FILE_ABI_H

/* What src/features/io/file.bpf.c sends of file operations: system calls on files. Times are CLOCK_MONOTONIC in ns. */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define FILE_CALLS_END 512	/* above all system call numbers */
#define FILE_OP_URING 128	/* first number of io_uring's operations */
#define FILE_OP_PAGE 255	/* a page of a mapped file */
#define FILE_COMM_LEN 16
#define FILE_FRAMES_MAX 32	/* of the kernel stack of the longest wait */
#define FILE_PATH_BYTES 1024	/* names of the file and its directories, each with its zero byte */
#define FILE_TEXT_BYTES 256	/* size of a path given by the program, and of one name */
#define FILE_PATH_STEPS 64	/* limit of directories and mounts above a file */

/* A system call on files. Arguments are numbered from 1; 0: it has none of that kind. */
struct file_call {
	__u8 op;		/* index in user space's table, + 1; 0: not a file's */
	__u8 fd, other_fd;	/* descriptors: the first one that is a file is used */
	__u8 path;		/* a path, relative to the descriptor `fd` */
	__u8 flags;		/* enum file_call_flag */
	__u8 pad[3];
};

enum file_call_flag {
	FILE_CALL_OPENS = 1 << 0,	/* returns a descriptor */
	FILE_CALL_CLOSES = 1 << 1,	/* the descriptor is closed afterwards */
	FILE_CALL_LOCKS = 1 << 2,	/* fcntl(): only if the second argument is a command that may wait */
	FILE_CALL_FREE = 1 << 3,	/* without a file: sync() */
};

enum file_record { FILE_REC_STACK = 1, FILE_REC_OP };

enum file_op_flag {
	FILE_OP_OPEN = 1 << 0,		/* it was open as the window ended */
	FILE_OP_BEFORE = 1 << 1,	/* it began before the window: at an unknown time */
	FILE_OP_ABSOLUTE = 1 << 2,	/* the names lead up to the root */
	FILE_OP_DELETED = 1 << 3,	/* the file was deleted */
	/* the last name is a path given by the program, relative to the others */
	FILE_OP_GIVEN = 1 << 4,
	FILE_OP_CUT = 1 << 5,		/* some directories were left out */
	/* end and result were not reported: it ended when the thread last got the CPU */
	FILE_OP_LOOSE = 1 << 6,
	FILE_OP_ASYNC = 1 << 7,		/* an io_uring operation: no thread is in it */
	/* a page fault on a mapped file; without FILE_OP_ABSOLUTE names begin at the file system's root */
	FILE_OP_FAULT = 1 << 8,
};

/* Followed by `path_bytes` bytes of names, the file's first, each with a zero byte. */
struct file_rec_op {
	__u32 type;
	__u32 flags;			/* enum file_op_flag */
	__u64 number;			/* of the record of its stacks; 0: none */
	__u64 start_ns, end_ns;
	__u64 off_ns, runq_ns, disk_ns;	/* off CPU; of that waiting for a CPU; time with a disk request of its own */
	__s64 result;			/* result of the call: bytes, or a negative error */
	__u64 given;			/* of an open call: address of the program's path; 0: not needed */
	__u64 ino;
	__u32 dev, mode;
	__u32 pid, tid, op, requests;	/* requests: number of disk requests */
	char comm[FILE_COMM_LEN];	/* the thread's */
	char process[FILE_COMM_LEN];	/* of its process's first thread */
	__u32 path_bytes, pad;
};

enum file_count {
	FILE_SLOW,		/* file operations that were sent */
	FILE_NOT_FILE,		/* slow calls that were not on files: a socket, a pipe, a terminal */
	FILE_LOST_OP,		/* slow; no room in the ring */
	FILE_LOST_STACK,	/* slow; no room in the ring for the stacks */
	FILE_LOST_ROOM,		/* no memory to follow a thread's call */
	FILE_LOST_DISK,		/* disk requests without room to follow them */
	FILE_URING,		/* io_uring requests that are not on files */
	FILE_COUNTS
};

#endif
