/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef KERNEL_LOCK_ABI_H
#define KERNEL_LOCK_ABI_H

#include "abi/offcpu_abi.h"

/* Which lock of the kernel's a thread sleeps for, and who held it, with --objects. */

#define OFFCPU_REC_KERNEL_LOCK 22	/* beside enum offcpu_rec_type */

/* What the lock is a part of. */
enum offcpu_kernel_lock {
	OFFCPU_LOCK_ANY = 0,	/* not known: a variable of the kernel's, or of something else */
	OFFCPU_LOCK_MMAP,	/* an address space: mmap_lock */
	OFFCPU_LOCK_INODE,	/* a file or directory: i_rwsem */
	OFFCPU_LOCK_MAPPINGS,	/* the mappings of a file: i_mmap_rwsem */
	OFFCPU_LOCK_PAGES,	/* the pages of a file in memory: invalidate_lock */
	OFFCPU_LOCK_POSITION,	/* an open file: f_pos_lock */
	OFFCPU_LOCK_UMOUNT,	/* a file system: s_umount */
	OFFCPU_LOCK_RENAME,	/* the same: s_vfs_rename_mutex */
};

/* How it is waited for: contention_begin's flags (include/trace/events/lock.h); of a semaphore 0. */
#define OFFCPU_LOCK_SPINS 1
#define OFFCPU_LOCK_READS 2
#define OFFCPU_LOCK_WRITES 4
#define OFFCPU_LOCK_RT 8
#define OFFCPU_LOCK_PERCPU 16
#define OFFCPU_LOCK_MUTEX 32
#define OFFCPU_LOCK_HAS_READERS 128	/* ours: readers have it, and the holder was the last to begin, and may be gone */

#define OFFCPU_LOCK_PARTS 8	/* of a path */
#define OFFCPU_LOCK_PART 40	/* bytes of each; longer ones are cut */

/* As a stack it is interned and crosses once. */
struct offcpu_rec_kernel_lock {
	__u32 type;
	__u8 what;		/* enum offcpu_kernel_lock */
	__u8 flags;
	__u8 parts;		/* of the path */
	__u8 is_whole;		/* the path ends at the root of its file system */
	__u64 id;
	__u64 addr;
	__u64 target;		/* id of what else the wait is for; 0: nothing */
	__u64 ino;
	__u32 dev;		/* as the kernel has it: major << 20 | minor */
	__u32 pid;		/* of the waiter, in the tracer's pid namespace; so the next two */
	__u32 owner;		/* of an address space: the process; 0: not known */
	__u32 holder;		/* thread; 0: not known */
	/* innermost first; of an address space the first is its program's name, of a file system its device's */
	__u8 path[OFFCPU_LOCK_PARTS][OFFCPU_LOCK_PART];
};

#endif
