/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Sets, tasks and coroutines of CPython in our own memory: whole, and damaged in any way. */
#include <string.h>
#include <unistd.h>

#include "runtimes/python/tasks.h"

#define WORDS 1024

/* As 3.11 lays them out, in words from the beginning of an object. */
enum { TYPES = 0, TEXTS = 64, DICT = 128, KEYS = 160, WEAK_SET = 200, VALUES = 240, SET = 260, TABLE = 280, WEAK = 320, TASK = 360, CORO = 420,
       CODE = 480, INNER = 540, INNER_CODE = 600, FRAME = 660, INNER_FRAME = 680, STACK = 700, LINES = 720 };

static uint64_t memory[WORDS];
static struct python_program program;

static uint64_t at(unsigned word)
{
	return (uint64_t)(uintptr_t)&memory[word];
}

static uint64_t put_text(unsigned word, const char *text)
{
	memory[word + 1] = program.text_type;
	memory[word + 2] = strlen(text);
	memory[word + 4] = 1 << 2 | 1 << 5 | 1 << 6;
	memcpy(&memory[word + 6], text, strlen(text) + 1);
	return at(word);
}

static void put_coroutine(unsigned word, unsigned code, unsigned name, uint64_t awaits)
{
	memory[word + 1] = program.coroutine_type;
	((int8_t *)&memory[word + 9])[3] = -1;	/* suspended */
	memory[word + 10 + 4] = at(code);
	memory[word + 10 + 7] = at(code) + 184;
	memory[word + 10 + 8] = 1;
	memory[word + 10 + 9] = awaits;
	memory[code + 1] = program.code_type;
	((uint32_t *)&memory[code])[72 / 4] = 7;
	memory[code + 112 / 8] = put_text(TEXTS + 20, "app.py");
	memory[code + 120 / 8] = memory[code + 128 / 8] = at(name);
}

static void make(void)
{
	memset(memory, 0, sizeof(memory));
	program.pid = (uint32_t)getpid();
	program.minor = 11;
	program.runtime = at(TYPES);
	program.code_type = at(TYPES + 1);
	program.coroutine_type = at(TYPES + 2);
	program.set_type = at(TYPES + 3);
	program.text_type = at(TYPES + 4);
	program.long_type = at(TYPES + 5);
	program.dict_type = at(TYPES + 6);
	program.coroutine_at = 0;
	program.has_sets = false;
	program.module = at(DICT);
	memory[DICT + 4] = at(KEYS);
	((uint8_t *)&memory[KEYS + 1])[1] = 3;
	((uint8_t *)&memory[KEYS + 1])[2] = 1;
	memory[KEYS + 3] = 1;
	memory[KEYS + 5] = put_text(TEXTS, "_all_tasks");
	memory[KEYS + 6] = at(WEAK_SET + 4);
	memory[WEAK_SET] = at(VALUES);	/* attributes lie before the object */
	memory[VALUES] = at(SET);
	memory[SET + 1] = program.set_type;
	memory[SET + 4] = 7;
	memory[SET + 5] = at(TABLE);
	memory[TABLE + 2] = at(WEAK);
	memory[WEAK + 2] = at(TASK);
	memory[TYPES + 20 + 4] = 30 * 8;
	memory[TASK + 1] = at(TYPES + 20);
	memory[TASK + 14] = at(TYPES);	/* what it waits for, its coroutine, its name */
	memory[TASK + 15] = at(CORO);
	memory[TASK + 16] = put_text(TEXTS + 10, "chief");
	put_text(TEXTS + 30, "handler");
	put_text(TEXTS + 40, "fetch");
	put_coroutine(CORO, CODE, TEXTS + 30, at(INNER));
	put_coroutine(INNER, INNER_CODE, TEXTS + 40, 0);
}

/* As 3.9 and 3.10 have them: a frame is an object, and so is a code's text. */
static void put_old_coroutine(unsigned word, unsigned frame, unsigned code, unsigned name, uint64_t awaits)
{
	memory[word + 1] = program.coroutine_type;
	memory[word + 2] = at(frame);
	memory[word + 3] = 0;	/* it does not run */
	memory[frame + 4] = at(code);
	memory[frame + 8] = at(STACK);
	if (program.minor == 10) {
		((uint32_t *)&memory[frame])[80 / 4] = 1;
		((int8_t *)&memory[frame])[108] = -1;
	} else {
		memory[frame + 9] = at(STACK + 1);
	}
	if (awaits)
		memory[STACK] = awaits;
	else
		memory[frame + 8] = memory[frame + 9] = 0;
	memory[code + 1] = program.code_type;
	((uint32_t *)&memory[code])[40 / 4] = 7;
	memory[code + 48 / 8] = memory[code + 120 / 8] = at(LINES);
	memory[code + 104 / 8] = put_text(TEXTS + 20, "app.py");
	memory[code + 112 / 8] = at(name);
}

static void make_old(unsigned minor)
{
	make();
	program.minor = minor;
	for (unsigned i = 0; i < 8; i++)
		memory[KEYS + i] = 0;
	memory[KEYS + 1] = 8;
	memory[KEYS + 4] = 1;
	memory[KEYS + 7] = at(TEXTS);
	memory[KEYS + 8] = at(WEAK_SET + 4);
	memset(&memory[CORO], 0, 8 * (FRAME - CORO));
	memory[LINES + 2] = 16;
	put_old_coroutine(CORO, FRAME, CODE, TEXTS + 30, at(INNER));
	put_old_coroutine(INNER, INNER_FRAME, INNER_CODE, TEXTS + 40, 0);
}

struct seen {
	unsigned cnt;
	struct python_task last;
};

static void take(void *ctx, const struct python_task *t)
{
	struct seen *s = ctx;

	g_assert_cmpuint(t->frame_cnt, <=, PYTHON_TASK_FRAMES_MAX);
	for (unsigned i = 0; i < t->frame_cnt; i++)
		g_assert_true(t->frames[i].name && t->frames[i].file);
	s->cnt++;
	s->last = *t;
}

static void test_whole(gconstpointer data)
{
	struct python_tasks_census c;
	struct seen s = { 0 };

	if (GPOINTER_TO_UINT(data) < 11)
		make_old(GPOINTER_TO_UINT(data));
	else
		make();
	g_assert_true(python_tasks_read(&program, 0, 1, take, &s, &c));
	g_assert_cmpuint(s.cnt, ==, 1);
	g_assert_cmpuint(program.listed, ==, 1);
	g_assert_cmpstr(s.last.name, ==, "chief");
	g_assert_cmpint(s.last.state, ==, PYTHON_TASK_WAITS);
	g_assert_false(s.last.is_stale || s.last.is_cut);
	g_assert_cmpuint(s.last.frame_cnt, ==, 2);
	g_assert_cmpstr(s.last.frames[0].name, ==, "handler");
	g_assert_cmpstr(s.last.frames[1].name, ==, "fetch");
	g_assert_cmpstr(s.last.frames[1].file, ==, "app.py");
}

static void test_done(void)
{
	struct python_tasks_census c;
	struct seen s = { 0 };

	make();
	((int8_t *)&memory[CORO + 9])[3] = 4;
	g_assert_true(python_tasks_read(&program, 0, 1, take, &s, &c));
	g_assert_cmpuint(s.cnt, ==, 0);
}

/* A coroutine that awaits itself has no end. */
static void test_circle(void)
{
	struct python_tasks_census c;
	struct seen s = { 0 };

	make();
	memory[INNER + 10 + 9] = at(CORO);
	g_assert_true(python_tasks_read(&program, 0, 1, take, &s, &c));
	g_assert_true(s.last.is_cut);
	g_assert_cmpuint(s.last.frame_cnt, ==, PYTHON_TASK_FRAMES_MAX);
}

static void test_random(gconstpointer data)
{
	for (unsigned round = 0; round < 3000; round++) {
		struct python_tasks_census c;
		struct seen s = { 0 };

		if (GPOINTER_TO_UINT(data) < 11)
			make_old(GPOINTER_TO_UINT(data));
		else
			make();
		for (unsigned i = 0; i < 12; i++) {
			const uint64_t values[] = { 0, UINT64_MAX, (uint32_t)g_test_rand_int(), at((uint32_t)g_test_rand_int() % WORDS), at((uint32_t)g_test_rand_int() % WORDS) + 1,
						    program.set_type, program.coroutine_type, program.text_type };

			memory[64 + (uint32_t)g_test_rand_int() % (WORDS - 64)] = values[(uint32_t)g_test_rand_int() % G_N_ELEMENTS(values)];
		}
		python_tasks_read(&program, 0, 1, take, &s, &c);
		g_assert_cmpuint(s.cnt, <=, WORDS);
	}
	/* nothing of it is kept but names of codes, which do not change in a program: here their text may have */
	python_code_free(program.code);
	program.code = python_code_new();
	test_whole(data);
}

static void put_module(unsigned number, unsigned name, const char *text, unsigned object, unsigned dict)
{
	memory[KEYS + 5 + 2 * number] = put_text(name, text);
	memory[KEYS + 6 + 2 * number] = at(object);
	memory[object + 1] = program.module_type;
	memory[object + 2] = at(dict);
	memory[KEYS + 3] = number + 1;
}

/* What was looked through is not read again until a module is added. */
static void test_imported_later(void)
{
	g_autoptr(GArray) lines = g_array_new(FALSE, FALSE, sizeof(struct maps_line));

	make();
	program.module_type = at(TYPES + 7);
	program.modules = at(DICT);
	program.module = 0;
	program.searched = (struct python_entries){ 0 };
	put_module(0, TEXTS, "sys", FRAME, CODE);
	g_assert_false(python_tasks_are_ready(&program, "/proc", lines));
	memcpy(&memory[TEXTS + 6], "asyncio.tasks", sizeof("asyncio.tasks"));
	g_assert_false(python_tasks_are_ready(&program, "/proc", lines));
	put_module(0, TEXTS, "sys", FRAME, CODE);
	put_module(1, TEXTS + 10, "asyncio.events", INNER_FRAME, CODE);
	g_assert_false(python_tasks_are_ready(&program, "/proc", lines));
	put_module(2, TEXTS + 20, "asyncio.tasks", STACK, CODE);
	g_assert_true(python_tasks_are_ready(&program, "/proc", lines));
	g_assert_cmpuint(program.module, ==, at(CODE));
	program.modules = program.module = 0;
}

static uint64_t here(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Two threads with a ring of tasks each, and a set of who awaits the second one's. */
static void test_lists(void)
{
	static uint64_t interpreter, inner[4], threads[2][4], tasks[2][8], table[8], set[6];
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	const struct python_task_lists l = { .pid = (uint32_t)getpid(), .interpreter = here(&interpreter), .threads_at = 8,
					     .interpreter_tasks_at = 16, .thread_tasks_at = 8, .node_at = 16, .awaited_by_at = 40, .is_set_at = 48 };
	bool are_several;

	interpreter = here(inner);
	inner[1] = here(threads[0]);
	inner[2] = here(&inner[2]);
	threads[0][0] = here(threads[1]);
	for (unsigned i = 0; i < 2; i++) {
		threads[i][1] = here(&tasks[i][2]);
		tasks[i][2] = here(&threads[i][1]);
	}
	g_assert_true(python_task_lists_read(&l, found, 10));
	g_assert_cmpuint(found->len, ==, 2);
	g_assert_cmpuint(g_array_index(found, uint64_t, 1), ==, here(tasks[1]));
	tasks[0][5] = 4096;
	g_assert_cmpuint(python_task_lists_awaited_by(&l, here(tasks[0]), &are_several), ==, 4096);
	g_assert_false(are_several);
	tasks[1][5] = here(set);
	tasks[1][6] = 1;
	set[4] = 3;
	set[5] = here(table);
	table[2] = 8192;
	table[4] = 4096;
	table[5] = UINT64_MAX;	/* taken out */
	g_assert_cmpuint(python_task_lists_awaited_by(&l, here(tasks[1]), &are_several), ==, 8192);
	g_assert_false(are_several);
	table[6] = 4096;
	python_task_lists_awaited_by(&l, here(tasks[1]), &are_several);
	g_assert_true(are_several);
	/* a ring that never comes back to its head, and threads that do not end */
	tasks[1][2] = here(&tasks[1][2]);
	g_assert_false(python_task_lists_read(&l, found, 100));
	g_assert_cmpuint(found->len, ==, 100);
	tasks[1][2] = here(&threads[1][1]);
	threads[1][0] = here(threads[1]);
	g_assert_false(python_task_lists_read(&l, found, 200));
	threads[1][1] = 1;	/* no address of a word */
	threads[1][0] = 8;
	g_array_set_size(found, 0);
	g_assert_true(python_task_lists_read(&l, found, 100));
	g_assert_cmpuint(found->len, ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	program.code = python_code_new();
	g_test_add_data_func("/python-tasks/whole", GUINT_TO_POINTER(11), test_whole);
	g_test_add_data_func("/python-tasks/whole-3.10", GUINT_TO_POINTER(10), test_whole);
	g_test_add_data_func("/python-tasks/whole-3.9", GUINT_TO_POINTER(9), test_whole);
	g_test_add_func("/python-tasks/done", test_done);
	g_test_add_func("/python-tasks/circle", test_circle);
	g_test_add_data_func("/python-tasks/random", GUINT_TO_POINTER(11), test_random);
	g_test_add_data_func("/python-tasks/random-3.10", GUINT_TO_POINTER(10), test_random);
	g_test_add_data_func("/python-tasks/random-3.9", GUINT_TO_POINTER(9), test_random);
	g_test_add_func("/python-tasks/imported-later", test_imported_later);
	g_test_add_func("/python-tasks/lists", test_lists);
	int status = g_test_run();

	python_code_free(program.code);
	return status;
}
