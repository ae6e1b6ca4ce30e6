/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_FD_OWNERS_H
#define FOLD_FD_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/*
 * Which processes have which socket or pipe open: what is at the other end of one is told by its inode only.  All of
 * /proc is read for that, so seldom that it takes a hundredth of a CPU at most, and never for longer than
 * FD_OWNERS_READ_MAX_US or for more than FD_OWNERS_MAX descriptors.
 */

#define FD_OWNERS_MAX 400000
#define FD_OWNERS_READ_MAX_US 300000
#define FD_OWNERS_PAUSE 100	/* between two readings, in lengths of the last one */

enum fd_access { FD_READS = 1, FD_WRITES = 2 };	/* FMODE_READ, FMODE_WRITE */

struct fd_owners *fd_owners_new(const char *proc_dir);
void fd_owners_free(struct fd_owners *o);	/* NULL is fine */

/* Reads /proc, unless the last reading is too short a while ago; `now`: even then.  True: it was read. */
bool fd_owners_read(struct fd_owners *o, bool now);

/*
 * A process with that inode open for one of `access` (enum fd_access), and how many others; 0: none that is known.  If
 * `waiter` itself is one, and has threads that may be who it waits for, it is that: it talks to itself, and the others
 * were forked with its descriptors.  A process of one thread waits for another: it has only not closed that end.
 */
uint32_t fd_owners_find(const struct fd_owners *o, uint64_t ino, unsigned access, uint32_t waiter,
			unsigned *ret_others);

/* The name of a process, as last read from /proc; NULL: it is gone. */
char *fd_owners_name(const struct fd_owners *o, uint32_t pid);

#endif
