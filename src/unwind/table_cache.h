/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_TABLE_CACHE_H
#define UNWIND_TABLE_CACHE_H

#include "unwind/table.h"

/*
 * What compiling files came to that take long, kept on disk from one recording to the next: the tables of node take 0.7 s of CPU.
 * They are in /var/cache/offcpu, or for who is not root in $XDG_CACHE_HOME/offcpu; OFFCPU_CACHE=off in the environment
 * keeps none.  An entry is of one inode as it was when that last changed (st_ctime), which nobody can forge: of two
 * files with one build-id one may be a stranger's.  All functions may be called by several threads.
 */
#define TABLE_CACHE_NS_MIN 20000000	/* what takes less is compiled again */
#define TABLE_CACHE_BYTES_MAX (128ULL << 20)	/* of all; what was used longest ago goes first */

struct table_cache;

/* NULL where there is to be none, or the folder is not ours alone. */
struct table_cache *table_cache_open(void);
/* The same in that folder, which is made where it is missing, for tables that take so long to compile. */
struct table_cache *table_cache_open_in(const char *folder, uint64_t ns_min);
void table_cache_close(struct table_cache *c);	/* NULL is fine */

/* As unwind_table_build(), which it calls where c, which may be NULL, does not have the table; and then keeps that. */
struct unwind_table *table_cache_build(struct table_cache *c, int fd, GError **error);

#endif
