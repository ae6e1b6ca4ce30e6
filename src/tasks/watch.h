/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TASKS_WATCH_H
#define TASKS_WATCH_H

#include <glib.h>
#include <stdint.h>

/*
 * Looks at the goroutines of processes while these are recorded, a thread each: goroutines wait for one another without a thread, so no
 * recorded wait tells why.  Other programs are left alone.
 */
struct task_watch;

#define TASK_WATCH_PROCESSES_MAX 8u

/* pids: uint32_t; of more than the maximum the first are watched.  A Go program that has just begun is tried again. */
struct task_watch *task_watch_start(const GArray *pids);
/* struct tasks *, those of Go programs that were seen; a GPtrArray that frees them.  Frees the watch; NULL gives an empty array. */
GPtrArray *task_watch_stop(struct task_watch *w);

#endif
