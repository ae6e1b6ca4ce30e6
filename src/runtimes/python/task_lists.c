/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "runtimes/python/tasks.h"

#include <string.h>

#include "base/module.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/variables.h"

#define OFFSET_MAX (1u << 20)
#define THREADS_MAX (1u << 16)
#define SET_TRIED 64

/* Word indexes in _Py_DebugOffsets, at the begin of _PyRuntime. */
#define WORD_INTERPRETER 5
#define WORD_THREADS 9
#define WORD_NEXT_THREAD 24
#define RUNTIME_WORDS 25
/* Word indexes in _asyncio's own table: of task, interpreter, thread. */
#define WORD_AWAITED_BY 2
#define WORD_IS_SET 4
#define WORD_NODE 6
#define WORD_INTERPRETER_TASKS 8
#define WORD_THREAD_TASKS 12
#define ASYNCIO_WORDS 13

static uint64_t word_at(uint32_t pid, uint64_t addr)
{
	uint64_t word;

	return addr % 8 == 0 && memory_read(pid, addr, &word, sizeof(word)) ? word : 0;
}

bool python_task_lists_open(struct python_task_lists *l, const char *proc_dir, uint32_t pid, uint64_t runtime,
			    const GArray *lines)
{
	uint64_t section = 0, words[RUNTIME_WORDS], own[ASYNCIO_WORDS];

	*l = (struct python_task_lists){ .pid = pid };
	EACH_ROW_WHILE(i, const struct maps_line, m, lines, !section) {
		if (m->is_exec && (g_str_has_prefix(module_base_name(m->path), "_asyncio.") ||
				   strstr(module_base_name(m->path), "python3.")))
			section = variables_find_section(proc_dir, pid, m, ".AsyncioDebug");
	}
	if (!section || !memory_read(pid, section, own, sizeof(own)) ||
	    !memory_read(pid, runtime, words, sizeof(words)))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
		if (own[i] > OFFSET_MAX)
			return false;
	/* nodes are aligned; else a forged ring might never end */
	if (own[WORD_NODE] % 8)
		return false;
	if (words[WORD_INTERPRETER] > OFFSET_MAX || words[WORD_THREADS] > OFFSET_MAX ||
	    words[WORD_NEXT_THREAD] > OFFSET_MAX)
		return false;
	l->interpreter = runtime + words[WORD_INTERPRETER];
	l->threads_at = words[WORD_THREADS];
	l->next_thread_at = words[WORD_NEXT_THREAD];
	l->interpreter_tasks_at = own[WORD_INTERPRETER_TASKS];
	l->thread_tasks_at = own[WORD_THREAD_TASKS];
	l->node_at = own[WORD_NODE];
	l->awaited_by_at = own[WORD_AWAITED_BY];
	l->is_set_at = own[WORD_IS_SET];
	return true;
}

/* Lists a ring of nodes, each inside of a task except the head. */
static bool list_ring(const struct python_task_lists *l, uint64_t head, GArray *into, guint max)
{
	uint64_t node = word_at(l->pid, head);

	while (node && node != head && into->len < max) {
		uint64_t task = node - l->node_at;

		if (task % 8 == 0)
			g_array_append_val(into, task);
		node = word_at(l->pid, node);
	}
	return into->len < max;
}

bool python_task_lists_read(const struct python_task_lists *l, GArray *into, guint max)
{
	uint64_t interpreter = word_at(l->pid, l->interpreter),
		 thread = interpreter ? word_at(l->pid, interpreter + l->threads_at) : 0;
	bool is_whole = !interpreter || list_ring(l, interpreter + l->interpreter_tasks_at, into, max);

	for (unsigned i = 0; thread && i < THREADS_MAX && is_whole; i++) {
		is_whole = list_ring(l, thread + l->thread_tasks_at, into, max);
		thread = word_at(l->pid, thread + l->next_thread_at);
	}
	return is_whole;
}

/* The first two elements of a set, whose entries are an object and a hash. */
static unsigned first_of_set(const struct python_task_lists *l, uint64_t set, uint64_t *ret)
{
	uint64_t table = word_at(l->pid, set + PYTHON_SET_TABLE_AT), mask = word_at(l->pid, set + PYTHON_SET_MASK_AT);
	unsigned cnt = 0;

	for (uint64_t i = 0; table && i <= mask && i < SET_TRIED && cnt < 2; i++) {
		uint64_t entry[2];

		if (!memory_read(l->pid, table + 16 * i, entry, sizeof(entry)))
			break;
		if (entry[0] && entry[1] != UINT64_MAX && !cnt++)	/* removed entries have the hash -1 */
			*ret = entry[0];
	}
	return cnt;
}

uint64_t python_task_lists_awaited_by(const struct python_task_lists *l, uint64_t task, bool *ret_are_several)
{
	uint64_t by = word_at(l->pid, task + l->awaited_by_at), first = 0;
	uint8_t is_set;

	*ret_are_several = false;
	if (!by || !memory_read(l->pid, task + l->is_set_at, &is_set, sizeof(is_set)))
		return 0;
	if (!is_set)
		return by;
	*ret_are_several = first_of_set(l, by, &first) > 1;
	return first;
}
