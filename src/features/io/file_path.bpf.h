/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a system call to its file, and from that to its path. bpf_d_path() is not allowed at these tracepoints. */
#ifndef FEATURES_IO_FILE_PATH_BPF_H
#define FEATURES_IO_FILE_PATH_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "features/io/file_abi.h"
#include "bpf/fd.bpf.h"
#include "bpf/walk/regs.bpf.h"
#include "bpf/target_types.h"

#define MODE_REGULAR 0100000
#define MODE_DIRECTORY 0040000
#define MODE_BLOCK 0060000
#define AT_FDCWD (-100)
/* include/uapi/asm-generic/fcntl.h */
#define F_SETLKW 7
#define F_OFD_SETLKW 38

struct path_walk {
	__u64 dentry, mnt;	/* 0: none; mnt 0 alone: names up to the file system's root */
	__u32 length;		/* bytes of names */
	__u8 is_absolute, is_cut, is_done, pad;
	struct file_rec_op rec;
	__u8 names[FILE_PATH_BYTES + FILE_TEXT_BYTES];	/* directly after it */
};

static __always_inline bool is_lock_command(__u64 command)
{
	return command == F_SETLKW || command == F_OFD_SETLKW;
}

/*
 * Something with a name and contents. Not sockets, pipes, terminals, or anonymous files (eventfd, timerfd), whose
 * shared inode pretends to be a regular file since Linux 6.16.
 */
static __always_inline bool is_file(struct inode *inode)
{
	__u32 type = inode ? BPF_CORE_READ(inode, i_mode) & MODE_TYPE : 0;

	if (type != MODE_REGULAR && type != MODE_DIRECTORY && type != MODE_BLOCK)
		return false;
	return BPF_CORE_READ(inode, i_sb, s_magic) != ANON_INODE_MAGIC;
}

/* It contains the struct vfsmount that files point to. */
static __always_inline struct mount *mount_of(struct vfsmount *mnt)
{
	return (struct mount *)((__u64)mnt - bpf_core_field_offset(struct mount, mnt));
}

/* Adds a name, or crosses a mount. A global function: the verifier checks it once, not for each step. */
__noinline int walk_step(struct path_walk *w)
{
	struct dentry *dentry, *parent;
	struct vfsmount *mnt;
	__u32 at;
	long n;

	if (!w)
		return 0;
	dentry = (struct dentry *)w->dentry;
	mnt = (struct vfsmount *)w->mnt;
	if (!dentry) {
		w->is_done = 1;
		return 0;
	}
	if (mnt && dentry == BPF_CORE_READ(mnt, mnt_root)) {
		struct mount *mount = mount_of(mnt), *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount || !above) {
			w->is_absolute = w->is_done = 1;
			return 0;
		}
		w->dentry = (__u64)BPF_CORE_READ(mount, mnt_mountpoint);
		w->mnt = (__u64)above + bpf_core_field_offset(struct mount, mnt);
		return 0;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	at = w->length;
	if (!mnt && parent == dentry && at) {
		w->is_done = 1;
		return 0;
	}
	if (at >= FILE_PATH_BYTES) {
		w->is_cut = w->is_done = 1;
		return 0;
	}
	n = bpf_probe_read_kernel_str(&w->names[at], FILE_TEXT_BYTES, BPF_CORE_READ(dentry, d_name.name));
	if (n > 0)
		w->length = at + n;
	if (parent == dentry)	/* the root of a file system that is not mounted: a memfd */
		w->is_done = 1;
	w->dentry = (__u64)parent;
	return 0;
}

static __always_inline void walk_up(struct path_walk *w)
{
	for (int i = 0; i < FILE_PATH_STEPS && !w->is_done; i++)
		walk_step(w);
	if (!w->is_done)
		w->is_cut = 1;
}

#endif
