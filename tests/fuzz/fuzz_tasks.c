/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pointers.h"
#include "runtimes/python/greenlets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 512
#define TYPES 8	/* the first objects, which are the types */
#define TYPE_WORDS 8
#define TASKS_MAX 64

static uint64_t memory[WORDS];

static uint64_t address(size_t word)
{
	return (uint64_t)(uintptr_t)(memory + word % WORDS);
}

struct look {
	struct python_program *p;
	GArray *others;
	unsigned left;
};

static void take(void *ctx, const struct python_task *t)
{
	struct look *look = ctx;

	if (!memchr(t->name, 0, sizeof(t->name)) || t->frame_cnt > PYTHON_TASK_FRAMES_MAX || (t->is_stale && t->frame_cnt))
		abort();
	for (unsigned i = 0; i < t->frame_cnt; i++)
		if (!g_utf8_validate(t->frames[i].name, -1, NULL))
			abort();
	if (!look->left)
		return;
	look->left--;
	g_array_set_size(look->others, 0);
	python_tasks_held(look->p, t, look->others);
	python_tasks_gathered(look->p, t->awaits, look->others);
}

/* Our own memory made of the bytes: asyncio's sets and lists, tasks, coroutines, and all that they lead to. */
static void try_version(uint32_t minor, uint64_t node_at)
{
	struct python_program p = {
		.pid = (uint32_t)getpid(), .minor = minor, .runtime = address(0), .module = address((TYPES + 1) * TYPE_WORDS),
		.entries_left = PYTHON_ENTRIES_MAX,
	};
	uint64_t *types[TYPES] = { &p.code_type, &p.dict_type, &p.module_type, &p.coroutine_type,
				   &p.set_type,	 &p.text_type, &p.long_type,   &p.list_type };
	struct look look = { .p = &p, .others = g_array_new(FALSE, FALSE, sizeof(uint64_t)), .left = TASKS_MAX };
	struct python_tasks_census census;

	for (size_t i = 0; i < TYPES; i++)
		*types[i] = address((i + 1) * TYPE_WORDS);
	for (size_t i = 0; i < PYTHON_TASK_SETS_MAX; i++)
		p.sets[i] = (struct python_task_set){ .object = address(96 + 16 * i), .set = i & 1 ? address(96 + 16 * i) : 0,
						      .is_weak = !(i & 1) };
	p.has_sets = minor % 2;
	p.code = python_code_new();
	if (minor >= 14)
		p.lists = (struct python_task_lists){ .pid = p.pid, .interpreter = address(160), .threads_at = 8,
						      .next_thread_at = 16, .interpreter_tasks_at = 24, .thread_tasks_at = 32,
						      .node_at = node_at, .awaited_by_at = 40, .is_set_at = 48 };
	/* a ring that has no end is read up to so many tasks: few of them are looked at */
	python_tasks_read(&p, 0, 1 + memory[WORDS - 1] % 4, take, &look, &census);
	python_tasks_close(&p);
	g_array_unref(look.others);
}

static void take_greenlet(void *ctx, const struct python_greenlet *t)
{
	(void)ctx;
	if (t->frame_cnt > PYTHON_GREENLET_FRAMES_MAX || (t->is_stale && t->frame_cnt))
		abort();
	for (unsigned i = 0; i < t->frame_cnt; i++)
		if (!g_utf8_validate(t->frames[i].name, -1, NULL))
			abort();
}

/* The same of the collector's lists, greenlets and what these wait for. */
static void try_greenlets(uint32_t minor)
{
	struct python_greenlets g = { .greenlet_type = address(TYPE_WORDS) };
	struct python_tasks_census census;

	g.p = (struct python_program){ .pid = (uint32_t)getpid(), .minor = minor, .runtime = address(0), .code_type = address(2 * TYPE_WORDS),
				       .frame_type = address(3 * TYPE_WORDS), .list_type = address(4 * TYPE_WORDS), .code = python_code_new() };
	for (size_t i = 0; i < PYTHON_GREENLET_LISTS; i++)
		g.lists[i] = address(48 + 3 * i);
	/* whole walks may take so many steps that nothing else would be tried */
	g.walked_ns = g_get_monotonic_time() * 1000;
	g.walk_ns = G_USEC_PER_SEC * 1000;
	python_greenlets_forget(&g);
	for (unsigned i = 0; i < 2; i++)
		python_greenlets_read(&g, 0, 1 + memory[WORDS - 1] % 4, take_greenlet, NULL, &census);
	python_greenlets_close(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pointers_fill(memory, WORDS, data, size);
	for (uint32_t minor = 8; minor <= 15; minor++)
		try_version(minor, minor == 14 ? 64 : 0);
	try_greenlets(11);
	try_greenlets(13);
	return 0;
}
