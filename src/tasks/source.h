/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TASKS_SOURCE_H
#define TASKS_SOURCE_H

#include "tasks/census.h"

/* A runtime that has tasks. */
struct task_source {
	enum tasks_kind kind;
	/* NULL: the process has no such runtime, or with *error: it has, but its tasks cannot be seen. */
	void *(*open)(uint32_t pid, struct tasks *t, GError **error);
	void (*close)(void *source);
	/* About how many tasks there are, to choose how many to look at. */
	uint64_t (*count)(void *source);
	/* One look at every stride-th task from `first` on, told to tasks_seen().  False: the process is gone. */
	bool (*look)(void *source, struct tasks *t, uint64_t first, uint64_t stride);
};

extern const struct task_source go_task_source, asyncio_task_source, tokio_task_source, java_task_source;

#endif
