/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_TASKS_H
#define SYMBOLIZE_PYTHON_TASKS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/runtime/python_code.h"
#include "symbolize/runtime/python_task_lists.h"

/*
 * The tasks of asyncio in a CPython process (3.8 to 3.15, 64 bits) while it runs: asyncio's own sets or lists of them,
 * and of each its chain of coroutines.  Offsets are few and of the version; what they lead to must be of the type that
 * it has to be.  Memory is not trusted: sizes, hops and texts are bounded.  A task is read twice; one that changed
 * between is told as such.
 */

#define PYTHON_TASKS_MAX (1u << 20)
#define PYTHON_ENTRIES_MAX (4u << 20)
#define PYTHON_TASK_FRAMES_MAX 32
#define PYTHON_TASK_NAME_MAX 64

/* asyncio has several: of those scheduled, and of those begun eagerly. */
#define PYTHON_TASK_SETS_MAX 3

struct python_task_set {
	uint64_t object;	/* as asyncio.tasks has it; 0: not in this version */
	uint64_t set;		/* with the tasks themselves or weak references; 0: not found yet */
	bool is_weak;
};

struct python_program {
	uint32_t pid, minor;
	uint64_t runtime, code_type, dict_type, module_type, coroutine_type, set_type, text_type, long_type,
		list_type, plain_future_type;
	uint64_t module;	/* dict of asyncio.tasks; 0: it is not imported, or was not found */
	struct python_task_lists lists;	/* from 3.14 on */
	bool has_sets;		/* they were looked for */
	struct python_task_set sets[PYTHON_TASK_SETS_MAX];
	unsigned coroutine_at;	/* word of a task that has its coroutine; 0: not known yet */
	uint64_t listed;	/* tasks of the last look, those that are done included */
	uint64_t entries_left;	/* of dicts, sets and lists, that this look may still go through: a program has any number of them */
	struct python_code *code;
};

enum python_tasks_state {
	PYTHON_TASKS_READABLE,
	PYTHON_TASKS_NONE,		/* no CPython */
	PYTHON_TASKS_OTHER_VERSION,
	PYTHON_TASKS_NO_ASYNCIO,
};

/* How a task waits for others than by awaiting one of them: the coroutine of asyncio's own in which it does. */
enum python_task_in {
	PYTHON_TASK_IN_NONE,
	PYTHON_TASK_IN_WAIT,		/* asyncio.wait() */
	PYTHON_TASK_IN_WAIT_FOR,	/* before 3.12 it makes another task */
	PYTHON_TASK_IN_GROUP,		/* the end of a TaskGroup */
};

enum python_task_state { PYTHON_TASK_WAITS, PYTHON_TASK_READY, PYTHON_TASK_RUNS };

struct python_task {
	enum python_task_state state;
	char name[PYTHON_TASK_NAME_MAX];
	uint64_t address;
	uint64_t awaits;	/* address of the future or task that it waits for; 0: none */
	enum python_task_in in;
	uint64_t held;		/* the first variable of that coroutine: who it waits for, a set of them, or the group */
	uint64_t awaited_by;	/* address of a task that waits for it, as far as it knows that itself (3.14) */
	bool is_awaited_by_several;
	bool is_stale;
	bool is_cut;		/* the chain is longer */
	struct language_frame frames[PYTHON_TASK_FRAMES_MAX];	/* outermost first */
	unsigned frame_cnt;
};

/*
 * Appends the futures (uint64_t, addresses) that a gather() waits for, whose future is given; nothing: it is another one.
 */
void python_tasks_gathered(struct python_program *p, uint64_t future, GArray *into);

/* The same, of a task that waits in a coroutine of asyncio's own. */
void python_tasks_held(struct python_program *p, const struct python_task *t, GArray *into);

/* Close it in any case. */
enum python_tasks_state python_tasks_open(struct python_program *p, const char *proc_dir, uint32_t pid);
void python_tasks_close(struct python_program *p);

struct python_tasks_census {
	uint64_t unreadable;
	bool is_cut;
};

/*
 * Tells `fn` of every stride-th task from `first` on that is not done.  False: the process is gone.  Frames are valid
 * until it is closed.
 */
typedef void (*python_task_fn)(void *ctx, const struct python_task *t);
bool python_tasks_read(struct python_program *p, uint64_t first, uint64_t stride, python_task_fn fn, void *ctx,
		       struct python_tasks_census *ret);

#endif
