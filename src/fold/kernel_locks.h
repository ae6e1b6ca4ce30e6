/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_KERNEL_LOCKS_H
#define FOLD_KERNEL_LOCKS_H

#include "abi/kernel_lock_abi.h"
#include "profile/profile.h"
#include "symbolize/symbolize.h"

/* Locks of the kernel's that waits were for, and what they are called. */
struct fold_kernel_locks;

/* Borrows the first two.  proc_dir: "/proc". */
struct fold_kernel_locks *fold_kernel_locks_new(struct profile *profile, struct symbolizer *symbolizer,
						const char *proc_dir);
void fold_kernel_locks_free(struct fold_kernel_locks *all);	/* NULL is fine */

void fold_kernel_locks_add(struct fold_kernel_locks *all, const struct offcpu_rec_kernel_lock *rec, size_t size);
guint fold_kernel_locks_cnt(const struct fold_kernel_locks *all);
/* As fold_objects_forget(). */
void fold_kernel_locks_forget(struct fold_kernel_locks *all);

/* NULL: the id is of none. */
const struct offcpu_rec_kernel_lock *fold_kernel_locks_find(const struct fold_kernel_locks *all, uint64_t id);
/*
 * The object, as index + 1, of a wait with that kernel stack for a lock that was found; 0: nothing is known.  target:
 * the object, as index + 1 or 0, that its system call or page fault is for, which a lock without a name leaves its
 * place to.
 */
uint32_t fold_kernel_locks_object(struct fold_kernel_locks *all, const struct offcpu_rec_kernel_lock *lock,
				  uint32_t target, uint32_t kernel);

#endif
