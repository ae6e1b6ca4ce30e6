/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_FOREIGN_THREADS_H
#define FOLD_FOREIGN_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/*
 * Threads by what their own processes call them: what a lock holds is a thread's number in the pid namespace of those
 * that use it. The words are theirs to write, and the answers take readings of /proc; so those are few, however many
 * words there are.
 */

#define FOREIGN_TASKS_MAX 4096		/* of a process, that are looked at */
#define FOREIGN_PROCESSES_MAX 4096	/* that are remembered; beyond that all are looked at again */
#define FOREIGN_PAUSE_US 100000 /* between two readings of a process at first; twice that after each one, up to */
#define FOREIGN_PAUSE_MAX_US 5000000

/* Is the process in our pid namespace, so that its threads have there the numbers that they have here? */
bool foreign_threads_are_ours(const char *proc_dir, uint32_t pid);

struct foreign_threads *foreign_threads_new(const char *proc_dir);
void foreign_threads_free(struct foreign_threads *f);

/*
 * The thread of process `pid`, which began at proc_start_ns, that calls itself `tid`, as we number it.  0: there is
 * none, or it began so lately that the process has not been looked at since.
 */
uint32_t foreign_threads_find(struct foreign_threads *f, uint32_t pid, uint64_t proc_start_ns, uint32_t tid);

#endif
