/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_OBJECTS_H
#define FOLD_OBJECTS_H

#include "abi/language_abi.h"
#include "abi/object_abi.h"
#include "features/klocks/abi.h"
#include "profile/profile.h"
#include "symbolize/symbolize.h"

/*
 * The locks that threads waited for. They are looked up as they arrive, while the process lives. Their kind follows
 * from the waits' stacks at the end.
 */
struct fold_objects;

struct fold_objects *fold_objects_new(struct profile *profile, const char *proc_dir, const char *debug_dir);
void fold_objects_free(struct fold_objects *o);	/* NULL is fine */

/* A record of impossible size is dropped and counted. */
void fold_objects_add(struct fold_objects *o, const struct offcpu_rec_object *rec, size_t size);

/* An interpreter's lock with the stack of its holder (OFFCPU_REC_GIL). */
void fold_objects_add_gil(struct fold_objects *o, const struct offcpu_rec_language *rec, const char *place);

/* The object of a wait with these stacks (nodes of the profile) and this id. */
uint32_t fold_objects_wait(struct fold_objects *o, uint64_t id, uint32_t user, uint32_t kernel);

/* See fold_forget(). */
void fold_objects_forget(struct fold_objects *o);
unsigned fold_objects_cnt(const struct fold_objects *o);

/* The kind of lock, from the waiter's user stack and the futex operation (op of struct offcpu_rec_object). */
enum lock_kind lock_kind_of(const struct profile *p, uint32_t user, uint32_t op);

/*
 * Refines the kind by what the memory looks like, for waits inside of libc whose frames say no more: stacks walked by
 * frame pointers, and sem_wait() and pthread_join(), which end in a tail call to a function that is named only in
 * debug symbols.
 */
enum lock_kind lock_kind_by_holder(enum lock_kind kind, enum offcpu_holder holder);

/* "FUTEX_WAIT_BITSET", "futex_waitv". */
const char *lock_operation(uint32_t op);

/*
 * Can the apparent holder be trusted? In the kernel's own protocol (PI futexes) always. A holder in memory only if
 * the frames show that kind of lock; glibc's layout of these types is part of its ABI.
 */
bool lock_holder_is_sure(enum lock_kind kind, enum offcpu_holder holder);

/* Kernel locks that waits were for, and their names. */
struct fold_kernel_locks;

/* Borrows the first two.  proc_dir: "/proc". */
struct fold_kernel_locks *fold_kernel_locks_new(struct profile *profile, struct symbolizer *symbolizer,
						const char *proc_dir);
void fold_kernel_locks_free(struct fold_kernel_locks *all);	/* NULL is fine */

void fold_kernel_locks_add(struct fold_kernel_locks *all, const struct offcpu_rec_kernel_lock *rec, size_t size);
guint fold_kernel_locks_cnt(const struct fold_kernel_locks *all);
/* As fold_objects_forget(). */
void fold_kernel_locks_forget(struct fold_kernel_locks *all);

/* NULL: not a kernel lock. */
const struct offcpu_rec_kernel_lock *fold_kernel_locks_find(const struct fold_kernel_locks *all, uint64_t id);
/*
 * The object, index + 1, of a wait with this kernel stack for a lock. 0: unknown. target: the object (index + 1, or
 * 0) of the system call or page fault; a lock without a name yields to it.
 */
uint32_t fold_kernel_locks_object(struct fold_kernel_locks *all, const struct offcpu_rec_kernel_lock *lock,
				  uint32_t target, uint32_t kernel);

/* Does a wait with this kernel stack wait for a commit? has_file: for a wait to get a file onto disk. */
bool fold_journal_is_awaited(const struct profile *profile, uint32_t kernel, bool has_file);

/* The journal, index + 1, that the waker commits. 0: the waker is not JBD2. */
uint32_t fold_journal_object(struct profile *profile, const struct waker *waker);

#endif
