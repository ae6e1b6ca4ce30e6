/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_OBJECTS_H
#define SYMBOLIZE_PYTHON_OBJECTS_H

#include "symbolize/runtime/python_tasks.h"

/* Objects of CPython in a process that lives, for the reading of tasks.  What cannot be read is 0. */

/* From then on frames lie in their coroutines, and the interpreter in _PyRuntime. */
#define PYTHON_MINOR_WHOLE 11

uint64_t python_word(const struct python_program *p, uint64_t addr);
uint64_t python_type(const struct python_program *p, uint64_t object);

/* The value of a key in a dict, which must be one; 0: there is none, or no entries are left to be looked at. */
uint64_t python_dict_find(struct python_program *p, uint64_t dict, const char *key);

/* The set of an asyncio.TaskGroup's tasks; 0: there is none. */
uint64_t python_group_tasks(struct python_program *p, uint64_t group);

#endif
