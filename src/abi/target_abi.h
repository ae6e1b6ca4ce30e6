/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TARGET_ABI_H
#define TARGET_ABI_H

#include "abi/offcpu_abi.h"

/* What a system call or a page fault waits for, with --objects: all but futexes, for which see object_abi.h. */

#define OFFCPU_REC_TARGET 14	/* beside enum offcpu_rec_type */

enum offcpu_target {
	OFFCPU_TARGET_NONE = 0,
	OFFCPU_TARGET_FD,	/* the file behind a descriptor, with poll() and select() the first one of `fd_cnt` */
	OFFCPU_TARGET_FAULT,	/* the mapping that a page fault is in; ino 0: memory without a file */
	OFFCPU_TARGET_CHILD,	/* of wait4() and waitid(); child 0: any */
	OFFCPU_TARGET_AIO,	/* of io_getevents() */
};

/* What for, where neither call nor file tells: a socket that poll() is to say of that it can be written to, a ring. */
enum offcpu_purpose {
	OFFCPU_FOR_ANY = 0,
	OFFCPU_FOR_CONNECTION,	/* it is not connected yet, or has just been */
	OFFCPU_FOR_ROOM,	/* to send */
	OFFCPU_FOR_URING = 0x100,	/* fd is the operation's */
};

#define OFFCPU_TARGET_TEXT 64

/* As a stack it is interned and crosses once. */
struct offcpu_rec_target {
	__u32 type;
	__u8 what;		/* enum offcpu_target */
	__u8 is_anon;		/* the file is of the kernel's own: eventfd, epoll, ... */
	__u8 sock_type;		/* SOCK_STREAM, ... */
	__u8 sock_state;	/* TCP_LISTEN, ... */
	__u64 id;
	__u64 proc_start_ns;	/* with pid and exec_no: the address space */
	__u32 pid;		/* in the tracer's pid namespace */
	__u32 exec_no;
	__s32 fd;
	__u32 fd_cnt;
	__u32 mode;		/* of the inode: S_IFSOCK, ... */
	__u32 f_mode;		/* of the file: 1 read, 2 write */
	__u32 dev;		/* as the kernel has it: major << 20 | minor */
	__u32 rdev;		/* of a device file; the same */
	__u64 ino;
	__u64 peer_ino;		/* of the Unix socket at the other end; 0: not known */
	__u64 addr;		/* of a page fault */
	__u32 child;		/* as its pid namespace numbers it */
	__u16 family;
	__u16 local_port, remote_port;	/* in the host's order */
	__u16 text_len;
	__u16 is_peers_text;	/* text is the address of the other end */
	__u16 purpose;		/* enum offcpu_purpose, or OFFCPU_FOR_URING and an operation of io_uring's */
	__u8 local[16], remote[16];	/* in the network's order; IPv4: the first 4 bytes */
	__u8 text[OFFCPU_TARGET_TEXT];	/* last part of a file's path, address of a Unix socket, a child's name */
};

#endif
