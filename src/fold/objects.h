/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_OBJECTS_H
#define FOLD_OBJECTS_H

#include "abi/language_abi.h"
#include "abi/object_abi.h"
#include "features/klocks/abi.h"
#include "profile/profile.h"
#include "symbolize/symbolize.h"

/*
 * The locks that threads waited for: looked up in the process as they arrive, while it lives; what
 * kind they are of the waits' stacks tell at the end.
 */
struct fold_objects;

struct fold_objects *fold_objects_new(struct profile *profile, const char *proc_dir, const char *debug_dir);
void fold_objects_free(struct fold_objects *o);	/* NULL is fine */

/* A record of impossible size is dropped and counted. */
void fold_objects_add(struct fold_objects *o, const struct offcpu_rec_object *rec, size_t size);

/* An interpreter's lock, and where its holder stood (of OFFCPU_REC_GIL). */
void fold_objects_add_gil(struct fold_objects *o, const struct offcpu_rec_language *rec, const char *place);

/* What a wait with these stacks (nodes of the profile) and this object has for its object. */
uint32_t fold_objects_wait(struct fold_objects *o, uint64_t id, uint32_t user, uint32_t kernel);

/* See fold_forget(). */
void fold_objects_forget(struct fold_objects *o);
unsigned fold_objects_cnt(const struct fold_objects *o);

/* What a sleeper waits for, by its user stack and by what it asks of the kernel (op of struct offcpu_rec_object). */
enum lock_kind lock_kind_of(const struct profile *p, uint32_t user, uint32_t op);

/*
 * The same where it waits inside of libc and no frame tells more, by what the memory looks like: in a stack walked by
 * frame pointers; and sem_wait() and pthread_join() have no frame of their own, what they call is their last
 * act and has a name in libc's debug symbols only.
 */
enum lock_kind lock_kind_by_holder(enum lock_kind kind, enum offcpu_holder holder);

/* "FUTEX_WAIT_BITSET", "futex_waitv". */
const char *lock_operation(uint32_t op);

/*
 * May what looks like a holder be believed?  The kernel's own protocol always; what lies in memory only
 * if the frames say that it is of that kind.  glibc's layout of these types is part of its binary interface.
 */
bool lock_holder_is_sure(enum lock_kind kind, enum offcpu_holder holder);

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

/* Does a wait with that kernel stack go on until a commit is over?  Who wants a file (has_file) on disk waits for that. */
bool fold_journal_is_awaited(const struct profile *profile, uint32_t kernel, bool has_file);

/* The journal, as index + 1, that the thread which ended such a wait commits; 0: it is none of JBD2's. */
uint32_t fold_journal_object(struct profile *profile, const struct waker *waker);

#endif
