/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_TASKS_H
#define SYMBOLIZE_PYTHON_TASKS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/process/maps.h"
#include "symbolize/runtime/language.h"

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
		list_type, frame_type, plain_future_type;
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

/* Objects of CPython in a process that lives, for the reading of tasks.  What cannot be read is 0. */

/* From then on frames lie in their coroutines, and the interpreter in _PyRuntime. */
#define PYTHON_MINOR_WHOLE 11
#define PYTHON_TYPE_SIZE_AT 32	/* of a type: the bytes of its objects */

/*
 * All but the modules that it has imported.  lines: its mappings, struct maps_line; NULL: it is gone.  Close it in any
 * case.
 */
enum python_tasks_state python_program_open(struct python_program *p, const char *proc_dir, uint32_t pid,
					    const GArray *lines);

/* The dict of a module that it has imported; 0: it was not found. */
uint64_t python_module(struct python_program *p, const GArray *lines, const char *name);

/*
 * In memory without a file, where objects lie that a program makes?  What lies nowhere is the dearest to be asked for.
 * lines: struct maps_line.
 */
bool python_is_of_heap(const GArray *lines, uint64_t addr);

uint64_t python_word(const struct python_program *p, uint64_t addr);
uint64_t python_type(const struct python_program *p, uint64_t object);

/* The value of a key in a dict, which must be one; 0: there is none, or no entries are left to be looked at. */
uint64_t python_dict_find(struct python_program *p, uint64_t dict, const char *key);

/* The set of an asyncio.TaskGroup's tasks; 0: there is none. */
uint64_t python_group_tasks(struct python_program *p, uint64_t group);

#endif
