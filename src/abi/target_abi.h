/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TARGET_ABI_H
#define TARGET_ABI_H

#include "abi/offcpu_abi.h"

/* What a system call or page fault waits for, with --objects: everything but futexes, see object_abi.h. */

#define OFFCPU_REC_TARGET 14	/* continues enum offcpu_rec_type */

enum offcpu_target {
	OFFCPU_TARGET_NONE = 0,
	OFFCPU_TARGET_FD,	/* the file behind a descriptor, of poll() and select() the first of `fd_cnt` */
	OFFCPU_TARGET_FAULT,	/* the mapping of a page fault; ino 0: memory without a file */
	OFFCPU_TARGET_CHILD,	/* of wait4() and waitid(); child 0: any */
	OFFCPU_TARGET_AIO,	/* of io_getevents() */
	OFFCPU_TARGET_NOTHING,	/* of poll() and select() without descriptors, which is a sleep */
};

/* The purpose, where neither call nor file tells it: a socket that poll() waits to write to, an io_uring. */
enum offcpu_purpose {
	OFFCPU_FOR_ANY = 0,
	OFFCPU_FOR_CONNECTION,	/* it is not connected yet, or has just been */
	OFFCPU_FOR_ROOM,	/* room in the send buffer */
	OFFCPU_FOR_URING = 0x100,	/* fd is that of the operation */
};

#define OFFCPU_TARGET_TEXT 64

/* Like a stack it has an id and crosses once. */
struct offcpu_rec_target {
	__u32 type;
	__u8 what;		/* enum offcpu_target */
	__u8 is_anon;		/* the file is internal to the kernel: eventfd, epoll, ... */
	__u8 sock_type;		/* SOCK_STREAM, ... */
	__u8 sock_state;	/* TCP_LISTEN, ... */
	__u64 id;
	__u64 proc_start_ns;	/* with pid and exec_no it identifies the address space */
	__u32 pid;		/* in the tracer's pid namespace */
	__u32 exec_no;
	__s32 fd;		/* of a child: as wait4() tells how it ended; -1: it has not */
	__u32 fd_cnt;
	__u32 mode;		/* of the inode: S_IFSOCK, ... */
	__u32 f_mode;		/* of the file: 1 read, 2 write */
	__u32 dev;		/* as the kernel has it: major << 20 | minor */
	__u32 child;		/* as its pid namespace numbers it */
	__u64 ino;
	__u64 peer_ino;		/* Unix socket at the other end; 0: not known */
	__u64 addr;		/* of a page fault */
	__u16 family;
	__u16 local_port, remote_port;	/* host byte order */
	__u16 text_len;
	__u16 is_peers_text;	/* text is the address of the other end */
	__u16 purpose;		/* enum offcpu_purpose, or OFFCPU_FOR_URING and an io_uring opcode */
	__u8 local[16], remote[16];	/* network byte order; IPv4: the first 4 bytes */
	__u8 text[OFFCPU_TARGET_TEXT];	/* last part of a file's path, address of a Unix socket, name of a child */
};

#endif
