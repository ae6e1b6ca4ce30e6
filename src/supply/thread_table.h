/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_THREAD_TABLE_H
#define SUPPLY_THREAD_TABLE_H

#include <glib.h>

/* The kernel's memory of each thread (bpf/threads.bpf.h): one table to begin with, more as threads grow in number. */
struct offcpu_bpf;
struct thread_table;

/*
 * Makes the first table, for so many threads that there are and for those that will be born, and says in the
 * configuration how long it is; before the programs are loaded.  NULL with error: there is no room for it.
 */
struct thread_table *thread_table_new(struct offcpu_bpf *skel, unsigned threads, GError **error);
void thread_table_free(struct thread_table *t);	/* NULL is fine */

/* Waits until the first table is in its place; before the programs are attached.  0 or a negative error. */
int thread_table_ready(struct thread_table *t);

/* Sees to it that there will be one table more than the threads need; now and then.  It never waits. */
void thread_table_grow(struct thread_table *t);

#endif
