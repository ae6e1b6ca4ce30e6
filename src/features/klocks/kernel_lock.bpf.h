/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_KLOCKS_KERNEL_LOCK_BPF_H
#define FEATURES_KLOCKS_KERNEL_LOCK_BPF_H

#include "features/io/alias.bpf.h"
#include "bpf/kernel_word.bpf.h"
#include "bpf/target_types.h"
#include "bpf/threads.bpf.h"

/*
 * Which kernel lock a thread sleeps for (--objects), and its holder. The lock's address is in no register by then, so
 * the contention tracepoints record it (Linux 5.19), which only waiting threads pass. The lock itself names its
 * holder: it is read as the wait begins, and again when a sleep has ended that the thread may have to repeat.
 *
 * An address is attributed to an object if a pointer leads back to it: a lock at the offset of an inode's lock belongs
 * to an inode if that inode's address_space points back to the inode.
 *
 * Spinning is time on CPU. On PREEMPT_RT, where all these locks may sleep, they are not recorded.
 */

#define OWNER_FLAGS 7ULL	/* of a mutex (kernel/locking/mutex.c) */
#define READER_OWNED 1ULL	/* of a rw_semaphore (kernel/locking/rwsem.c): the rest is the latest owner */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	long counter;
} atomic_long_t;

/* On PREEMPT_RT these have no owner field. */
struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct mm_struct___lock {
	struct rw_semaphore mmap_lock;
	struct task_struct *owner;	/* with CONFIG_MEMCG */
};

struct address_space___lock {
	struct inode *host;
	struct rw_semaphore i_mmap_rwsem, invalidate_lock;	/* the second since Linux 5.15 (730633f0b7f9) */
};

struct inode___lock {
	struct rw_semaphore i_rwsem;
	struct address_space___lock i_data;
	struct hlist_head i_dentry;
};

struct file___lock {
	struct mutex f_pos_lock;
};

struct super_block___lock {
	struct dentry *s_root;
	char s_id[32];
	struct rw_semaphore s_umount;
	struct mutex s_vfs_rename_mutex;
};

struct dentry___lock {
	struct super_block *d_sb;
};

#pragma clang attribute pop

/* The thread of a task given by number. NULL: none, or not among its first places. */
static __always_inline struct thread_state *thread_of_address(__u64 address)
{
	/* tag_of() does not accept a number; its constant base follows from the current task */
	__u64 tag_from = bpf_get_current_task() - (tag_of(bpf_get_current_task_btf()) << 6);
	__u64 tag = (address - tag_from) >> 6, slot = slot_of_entry(thread_index[first_place(tag)], tag);

	if (slot > SLOT_MAX)
		slot = slot_nearby(tag);
	return slot ? thread_in(slot) : NULL;
}

static __always_inline __u64 owner_word(__u64 lock, __u8 flags)
{
	if (flags & OFFCPU_LOCK_MUTEX)
		return bpf_core_field_exists(((struct mutex *)0)->owner) ? READ_POINTER(struct mutex, lock, owner) : 0;
	if (flags & OFFCPU_LOCK_PERCPU || !(flags & (OFFCPU_LOCK_READS | OFFCPU_LOCK_WRITES)) ||
	    !bpf_core_field_exists(((struct rw_semaphore *)0)->owner))
		return 0;
	return READ_POINTER(struct rw_semaphore, lock, owner);
}

/* Its current holder. Global functions, this and the next: the verifier checks them once. */
__noinline int note_lock_holder(struct thread_state *st)
{
	struct thread_state *holder;
	__u64 owner;

	if (!st)
		return 0;
	owner = owner_word(st->lock.addr, st->lock.flags);
	st->lock.holder = 0;
	st->lock.flags &= ~OFFCPU_LOCK_HAS_READERS;
	if (!(st->lock.flags & OFFCPU_LOCK_MUTEX) && owner & READER_OWNED)
		st->lock.flags |= OFFCPU_LOCK_HAS_READERS;
	holder = owner & ~OWNER_FLAGS ? thread_of_address(owner & ~OWNER_FLAGS) : NULL;
	if (holder && holder != st)
		st->lock.holder = holder->tid;
	return 0;
}

/* (void *lock, unsigned int flags) */
SEC("tp_btf/contention_begin")
int lock_begin(unsigned long long *ctx)
{
	__u64 flags = ctx[1];
	struct thread_state *st;

	if (flags & (OFFCPU_LOCK_SPINS | OFFCPU_LOCK_RT))
		return 0;
	st = thread_of(bpf_get_current_task_btf());
	if (!st)
		return 0;
	st->lock.addr = ctx[0];
	st->lock.flags = flags;
	note_lock_holder(st);
	return 0;
}

/* (void *lock, int ret): also for spinning locks. */
SEC("tp_btf/contention_end")
int lock_end(unsigned long long *ctx)
{
	struct thread_state *st = thread_of(bpf_get_current_task_btf());

	if (st && st->lock.addr == ctx[0])
		st->lock.addr = 0;
	return 0;
}

static __always_inline void find_space_of_lock(struct offcpu_rec_kernel_lock *rec)
{
	struct mm_struct___lock *type = NULL;
	struct thread_state *owner;
	__u64 mm = rec->addr - bpf_core_field_offset(type->mmap_lock), task;

	if (!bpf_core_field_exists(type->mmap_lock) || !bpf_core_field_exists(type->owner))
		return;
	task = READ_POINTER(struct mm_struct___lock, mm, owner);
	if (!task || READ_POINTER(struct task_struct, task, mm) != mm)
		return;
	rec->what = OFFCPU_LOCK_MMAP;
	owner = thread_of_address(task);
	if (owner)
		rec->owner = owner->pid;
	bpf_probe_read_kernel(rec->path[0], 16, (void *)AT(struct task_struct, task, comm));
	rec->parts = 1;
}

/* Adds one name of a path, from its dentry; returns the parent dentry, 0: that was the last one. */
__noinline __u64 note_lock_path(struct offcpu_rec_kernel_lock *rec, __u64 dentry)
{
	__u64 parent;
	__u32 at;

	if (!rec || !dentry)
		return 0;
	parent = READ_POINTER(struct dentry, dentry, d_parent);
	at = rec->parts;
	if (parent == dentry || at >= OFFCPU_LOCK_PARTS) {
		rec->is_whole = parent == dentry;
		return 0;
	}
	bpf_probe_read_kernel_str(rec->path[at], OFFCPU_LOCK_PART,
				  (void *)READ_POINTER(struct dentry, dentry, d_name.name));
	rec->parts = at + 1;
	return parent;
}

/* Is it an inode? Its address_space must point back. */
static __always_inline bool is_inode(__u64 inode)
{
	return READ_POINTER(struct inode___lock, inode, i_data.host) == inode;
}

__noinline int note_lock_inode(struct offcpu_rec_kernel_lock *rec, __u64 inode)
{
	__u64 super, dentry;

	if (!rec)
		return 0;
	super = READ_POINTER(struct inode, inode, i_sb);
	rec->ino = READ_POINTER(struct inode, inode, i_ino);
	rec->dev = READ_NUMBER(struct super_block, super, s_dev);
	dentry = READ_POINTER(struct inode___lock, inode, i_dentry.first);
	if (!dentry)
		return 0;
	dentry = (__u64)dentry_of((void *)dentry);
	for (int i = 0; i <= OFFCPU_LOCK_PARTS && dentry; i++)
		dentry = note_lock_path(rec, dentry);
	return 0;
}

/* Is the lock at this offset in an inode? */
__noinline int is_lock_of_inode(struct offcpu_rec_kernel_lock *rec, __u64 offset, __u8 what)
{
	if (!rec || rec->what || !is_inode(rec->addr - offset))
		return 0;
	rec->what = what;
	note_lock_inode(rec, rec->addr - offset);
	return 0;
}

/* The same for a file system. */
__noinline int is_lock_of_super(struct offcpu_rec_kernel_lock *rec, __u64 offset, __u8 what)
{
	__u64 super, root;

	if (!rec || rec->what)
		return 0;
	super = rec->addr - offset;
	root = READ_POINTER(struct super_block___lock, super, s_root);
	if (!root || READ_POINTER(struct dentry___lock, root, d_sb) != super)
		return 0;
	rec->what = what;
	rec->dev = READ_NUMBER(struct super_block, super, s_dev);
	bpf_probe_read_kernel_str(rec->path[0], 32, (void *)AT(struct super_block___lock, super, s_id));
	rec->parts = 1;
	return 0;
}

static __always_inline void find_position_lock(struct offcpu_rec_kernel_lock *rec)
{
	__u64 file = rec->addr - bpf_core_field_offset(struct file___lock, f_pos_lock), inode;

	inode = READ_POINTER(struct file, file, f_inode);
	if (!inode || !is_inode(inode))
		return;
	rec->what = OFFCPU_LOCK_POSITION;
	note_lock_inode(rec, inode);
}

static __always_inline void find_lock(struct offcpu_rec_kernel_lock *rec)
{
	struct address_space___lock *pages = NULL;

	if (rec->flags & OFFCPU_LOCK_MUTEX) {
		is_lock_of_super(rec, bpf_core_field_offset(struct super_block___lock, s_vfs_rename_mutex),
				 OFFCPU_LOCK_RENAME);
		if (!rec->what)
			find_position_lock(rec);
		return;
	}
	if (rec->flags & OFFCPU_LOCK_PERCPU)
		return;
	find_space_of_lock(rec);
	is_lock_of_inode(rec, bpf_core_field_offset(struct inode___lock, i_rwsem), OFFCPU_LOCK_INODE);
	is_lock_of_inode(rec, bpf_core_field_offset(struct inode___lock, i_data.i_mmap_rwsem), OFFCPU_LOCK_MAPPINGS);
	if (bpf_core_field_exists(pages->invalidate_lock))
		is_lock_of_inode(rec, bpf_core_field_offset(struct inode___lock, i_data.invalidate_lock),
				 OFFCPU_LOCK_PAGES);
	is_lock_of_super(rec, bpf_core_field_offset(struct super_block___lock, s_umount), OFFCPU_LOCK_UMOUNT);
}

/* What the thread sleeps for: the lock's id. target: the wait's other target. */
__noinline __u64 object_of_lock(struct thread_state *st, struct offcpu_rec_kernel_lock *rec, __u64 target)
{
	__u64 id;

	if (!st || !rec)
		return 0;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->type = OFFCPU_REC_KERNEL_LOCK;
	rec->addr = st->lock.addr;
	rec->flags = st->lock.flags;
	rec->holder = st->lock.holder;
	rec->pid = st->pid;
	rec->target = target;
	find_lock(rec);
	if (rec->what)	/* others are not used */
		rec->target = 0;
	id = mix(mix(rec->addr, (__u64)rec->holder << 16 | rec->flags), rec->ino << 8 | rec->what);
	id = mix(id, rec->target);
	rec->id = id = id > 1 ? id : 2;
	if (!has_crossed(id) && !send_crossing(rec, sizeof(*rec), id, OFFCPU_LOSS_OBJECT))
		return target;
	note_lock_holder(st);
	return id;
}

#endif
