/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_PYTHON_TASKS_H
#define RUNTIMES_PYTHON_TASKS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/process/maps.h"
#include "symbolize/runtime/language.h"

/*
 * From 3.14 on each thread has a list of asyncio's tasks, and the interpreter one for ended threads. Python publishes
 * their offsets in _PyRuntime and in a section of the module _asyncio. Offsets, lists and sets are bounded.
 */
struct python_task_lists {
	uint32_t pid;
	uint64_t interpreter;	/* address of the pointer to the first interpreter; 0: no such lists */
	uint64_t threads_at, next_thread_at, interpreter_tasks_at, thread_tasks_at;
	uint64_t node_at, awaited_by_at, is_set_at;	/* offsets in a task */
};

/* The entries of a dict, of `words` words each; the last two are key and value. */
struct python_entries {
	uint64_t at, cnt;
	unsigned words;
};

#define PYTHON_SET_MASK_AT 32
#define PYTHON_SET_TABLE_AT 40

/* lines: the process's mappings. False: the module is not loaded, or has no offsets. */
bool python_task_lists_open(struct python_task_lists *l, const char *proc_dir, uint32_t pid, uint64_t runtime,
			    const GArray *lines);
/* Appends addresses of tasks, including finished ones, up to `max` in total. False: there are more. */
bool python_task_lists_read(const struct python_task_lists *l, GArray *into, guint max);
/* The task that awaits this one, also through gather(). 0: none. */
uint64_t python_task_lists_awaited_by(const struct python_task_lists *l, uint64_t task, bool *ret_are_several);

/*
 * The asyncio tasks of a running CPython process (3.8 to 3.15, 64 bits): from asyncio's own sets or lists, each with
 * its chain of coroutines. Few offsets depend on the version, and what they lead to must have the expected type.
 * Memory is not trusted: sizes, hops and texts are bounded. A task is read twice; one that changed in between is
 * marked.
 */

#define PYTHON_TASKS_MAX (1u << 20)
#define PYTHON_ENTRIES_MAX (4u << 20)
#define PYTHON_TASK_FRAMES_MAX 32
#define PYTHON_TASK_NAME_MAX 64

/* asyncio has several: for scheduled tasks, and for eagerly started ones. */
#define PYTHON_TASK_SETS_MAX 3

struct python_task_set {
	uint64_t object;	/* in asyncio.tasks; 0: not in this version */
	uint64_t set;		/* of tasks or weak references; 0: not found yet */
	bool is_weak;
};

struct python_program {
	uint32_t pid, minor;
	uint64_t runtime, code_type, dict_type, module_type, coroutine_type, set_type, text_type, long_type,
		list_type, frame_type, plain_future_type;
	uint64_t modules;	/* sys.modules; 0: not found yet */
	struct python_entries searched;	/* its entries when asyncio was looked for and was not among them */
	uint64_t module;	/* dict of asyncio.tasks; 0: not imported, or not found */
	struct python_task_lists lists;	/* from 3.14 on */
	bool has_sets;		/* the search for sets is done */
	struct python_task_set sets[PYTHON_TASK_SETS_MAX];
	unsigned coroutine_at;	/* word of a task with its coroutine; 0: not known yet */
	uint64_t listed;	/* tasks in the last look, including finished ones */
	uint64_t entries_left;	/* limit of dict, set and list entries for this look: there may be any number */
	struct python_code *code;
};

enum python_tasks_state {
	PYTHON_TASKS_READABLE,
	PYTHON_TASKS_NONE,		/* not CPython */
	PYTHON_TASKS_OTHER_VERSION,
	PYTHON_TASKS_NO_ASYNCIO,
};

/* If a task waits for others through a coroutine of asyncio: which one. */
enum python_task_in {
	PYTHON_TASK_IN_NONE,
	PYTHON_TASK_IN_WAIT,		/* asyncio.wait() */
	PYTHON_TASK_IN_WAIT_FOR,	/* before 3.12 it creates another task */
	PYTHON_TASK_IN_GROUP,		/* leaving a TaskGroup */
};

enum python_task_state { PYTHON_TASK_WAITS, PYTHON_TASK_READY, PYTHON_TASK_RUNS };

struct python_task {
	enum python_task_state state;
	char name[PYTHON_TASK_NAME_MAX];
	uint64_t address;
	uint64_t awaits;	/* address of the awaited future or task; 0: none */
	enum python_task_in in;
	uint64_t held;		/* that coroutine's first variable: the awaited object, a set, or the group */
	uint64_t awaited_by;	/* address of a task that waits for it, as the task itself knows (3.14) */
	bool is_awaited_by_several;
	bool is_stale;
	bool is_cut;		/* the chain is longer */
	struct language_frame frames[PYTHON_TASK_FRAMES_MAX];	/* outermost first */
	unsigned frame_cnt;
};

/* Appends the futures (uint64_t addresses) of a gather() with this future; nothing for other futures. */
void python_tasks_gathered(struct python_program *p, uint64_t future, GArray *into);

/* Likewise for a task that waits in a coroutine of asyncio. */
void python_tasks_held(struct python_program *p, const struct python_task *t, GArray *into);

/*
 * lines: the process's mappings (struct maps_line). NO_ASYNCIO: python_tasks_are_ready() tells whether it was imported
 * since. Close it in either case.
 */
enum python_tasks_state python_tasks_open(struct python_program *p, const char *proc_dir, uint32_t pid,
					  const GArray *lines);
bool python_tasks_are_ready(struct python_program *p, const char *proc_dir, const GArray *lines);
void python_tasks_close(struct python_program *p);

struct python_tasks_census {
	uint64_t unreadable;
	bool is_cut;
};

/*
 * Calls `fn` for every stride-th unfinished task from `first` on. False: the process is gone. Frames are valid until
 * it is closed.
 */
typedef void (*python_task_fn)(void *ctx, const struct python_task *t);
bool python_tasks_read(struct python_program *p, uint64_t first, uint64_t stride, python_task_fn fn, void *ctx,
		       struct python_tasks_census *ret);

/* Objects of a live CPython process, for reading tasks. Unreadable values are 0. */

/* From then on frames are inside coroutines, and the interpreter inside _PyRuntime. */
#define PYTHON_MINOR_WHOLE 11
#define PYTHON_TYPE_SIZE_AT 32	/* in a type: the size of its objects */

/*
 * Reads everything but imported modules. lines: its mappings, struct maps_line. NULL: it is gone. Close it in either
 * case.
 */
enum python_tasks_state python_program_open(struct python_program *p, const char *proc_dir, uint32_t pid,
					    const GArray *lines);

/* The dict of an imported module. 0: not found. */
uint64_t python_module(struct python_program *p, const GArray *lines, const char *name);

/*
 * Is it in anonymous memory, where a program's objects are? Reading unmapped memory is expensive. lines: struct
 * maps_line.
 */
bool python_is_of_heap(const GArray *lines, uint64_t addr);

uint64_t python_word(const struct python_program *p, uint64_t addr);
uint64_t python_type(const struct python_program *p, uint64_t object);

bool python_dict_entries(const struct python_program *p, uint64_t dict, struct python_entries *ret);

/* The value of a key in an object that must be a dict. 0: none, or the limit of entries is reached. */
uint64_t python_dict_find(struct python_program *p, uint64_t dict, const char *key);

/* The set of tasks in an asyncio.TaskGroup. 0: none. */
uint64_t python_group_tasks(struct python_program *p, uint64_t group);

#endif
