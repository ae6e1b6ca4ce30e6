/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_LIVING_H
#define SYMBOLIZE_LIVING_H

#include <stddef.h>
#include <stdint.h>

/*
 * A process lives on when its first thread exits before the others.  /proc/PID/maps is empty from then on;
 * what the process has mapped is told by the directories of the threads that live.
 */

/* A living thread of a process whose first thread has exited; 0: the first thread lives, or none does. */
uint32_t living_thread(const char *proc_dir, uint32_t pid);

/* The text of /proc/PID/maps, of a living thread's if need be; NULL or empty when the process is gone. */
char *living_maps(const char *proc_dir, uint32_t pid, size_t max_bytes);

#endif
