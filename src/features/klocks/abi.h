/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_KLOCKS_ABI_H
#define FEATURES_KLOCKS_ABI_H

#include "abi/offcpu_abi.h"

/* Which kernel lock a thread sleeps for, and its holder, with --objects. */

#define OFFCPU_REC_KERNEL_LOCK 22	/* continues enum offcpu_rec_type */

/* The kernel object that the lock protects. */
enum offcpu_kernel_lock {
	OFFCPU_LOCK_ANY = 0,	/* not known: a variable of the kernel, or part of something else */
	OFFCPU_LOCK_MMAP,	/* an address space: mmap_lock */
	OFFCPU_LOCK_INODE,	/* a file or directory: i_rwsem */
	OFFCPU_LOCK_MAPPINGS,	/* the mappings of a file: i_mmap_rwsem */
	OFFCPU_LOCK_PAGES,	/* a file's pages in memory: invalidate_lock */
	OFFCPU_LOCK_POSITION,	/* an open file: f_pos_lock */
	OFFCPU_LOCK_UMOUNT,	/* a file system: s_umount */
	OFFCPU_LOCK_RENAME,	/* a file system's renames: s_vfs_rename_mutex */
};

/* How it is waited for: contention_begin's flags (include/trace/events/lock.h); 0 for a semaphore. */
#define OFFCPU_LOCK_SPINS 1
#define OFFCPU_LOCK_READS 2
#define OFFCPU_LOCK_WRITES 4
#define OFFCPU_LOCK_RT 8
#define OFFCPU_LOCK_PERCPU 16
#define OFFCPU_LOCK_MUTEX 32
#define OFFCPU_LOCK_HAS_READERS 128	/* our flag: held by readers; holder is the latest of them, maybe gone */

#define OFFCPU_LOCK_PARTS 8	/* of a path */
#define OFFCPU_LOCK_PART 40	/* bytes of each; longer ones are truncated */

/* Like a stack it has an id and crosses once. */
struct offcpu_rec_kernel_lock {
	__u32 type;
	__u8 what;		/* enum offcpu_kernel_lock */
	__u8 flags;
	__u8 parts;		/* of the path */
	__u8 is_whole;		/* the path ends at its file system's root */
	__u64 id;
	__u64 addr;
	__u64 target;		/* id of the wait's other target; 0: none */
	__u64 ino;
	__u32 dev;		/* as the kernel has it: major << 20 | minor */
	__u32 pid;		/* the waiter's, in the tracer's pid namespace; so are the next two */
	__u32 owner;		/* process of the address space; 0: not known */
	__u32 holder;		/* thread; 0: not known */
	/* innermost first; for an address space the first is its program's name, for a file system its device's */
	__u8 path[OFFCPU_LOCK_PARTS][OFFCPU_LOCK_PART];
};

#endif
