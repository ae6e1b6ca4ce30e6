/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LOCK_KIND_H
#define FOLD_LOCK_KIND_H

#include "abi/object_abi.h"
#include "profile/profile.h"

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

#endif
