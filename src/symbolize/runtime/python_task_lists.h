/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_TASK_LISTS_H
#define SYMBOLIZE_PYTHON_TASK_LISTS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/process/maps.h"

/*
 * From 3.14 on asyncio's tasks are in a list of each thread, and those of threads that have ended in one of the
 * interpreter.  Python itself tells where, in _PyRuntime and in a section of the module _asyncio.  Offsets, lists and
 * sets are bounded.
 */
struct python_task_lists {
	uint32_t pid;
	uint64_t interpreter;	/* address of the pointer to the first interpreter; 0: there are no such lists */
	uint64_t threads_at, next_thread_at, interpreter_tasks_at, thread_tasks_at;
	uint64_t node_at, awaited_by_at, is_set_at;	/* of a task */
};

#define PYTHON_SET_MASK_AT 32
#define PYTHON_SET_TABLE_AT 40

/* lines: the process's mappings.  False: the module is not loaded, or does not tell. */
bool python_task_lists_open(struct python_task_lists *l, const char *proc_dir, uint32_t pid, uint64_t runtime,
			    const GArray *lines);
/* Appends addresses of tasks, those that are done too, up to `max` in all; false: there are more. */
bool python_task_lists_read(const struct python_task_lists *l, GArray *into, guint max);
/* The task that awaits this one, also by gather(); 0: none. */
uint64_t python_task_lists_awaited_by(const struct python_task_lists *l, uint64_t task, bool *ret_are_several);

#endif
