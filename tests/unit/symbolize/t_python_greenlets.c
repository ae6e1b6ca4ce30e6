/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A parked greenlet, its frames and the semaphore that it waits for, in our own memory: whole, and damaged in any way. */
#include <string.h>
#include <unistd.h>

#include "runtimes/python/greenlets.h"

#define WORDS 1024

/* In words.  Objects of the collector's lists begin behind its two words. */
enum { LISTS = 1, GREENLET_TYPE = 32, LOCK_TYPE = 80, OTHER_TYPES = 120, GREENLET = 140, LOCK = 160, LIST = 180, ITEMS = 190, METHOD = 200,
       DEFINITION = 210, STATE = 220, OBJECT = 250, FRAME = 260, OUTER = 280, CODE = 300, OUTER_CODE = 340, STACK = 380, COPY = 400, TEXTS = 440 };
enum { START = 6, STOP, COPIED_TO, SAVED, TOP = 12 };	/* of the state */

static uint64_t memory[WORDS];
static struct python_greenlets g;
static unsigned text_words;

static uint64_t at(unsigned word)
{
	return (uint64_t)(uintptr_t)&memory[word];
}

static uint64_t put_text(const char *text)
{
	unsigned word = TEXTS + text_words;

	memory[word + 1] = g.p.text_type;
	memory[word + 2] = strlen(text);
	memory[word + 4] = 1 << 2 | 1 << 5 | 1 << 6;
	memcpy((char *)&memory[word] + (g.p.minor == 11 ? 48 : 40), text, strlen(text) + 1);
	text_words += 16;
	return at(word);
}

/* Behind its list's head, and before what was there. */
static void put_node(unsigned word, unsigned list, unsigned type)
{
	uint64_t next = memory[list];

	memory[word] = next;
	memory[word + 1] = at(list);
	memory[list] = at(word);
	*(uint64_t *)(uintptr_t)(next + 8) = at(word);
	memory[word + 2] = 1;
	memory[word + 3] = at(type);
}

static void put_type(unsigned word, const char *name)
{
	memory[word + 3] = put_text(name) + (g.p.minor == 11 ? 48 : 40);
	memory[word + 4] = 64;
}

static void put_frame(unsigned word, unsigned code, const char *name, uint64_t previous)
{
	bool is_11 = g.p.minor == 11;

	memory[word + (is_11 ? 4 : 0)] = at(code);
	memory[word + (is_11 ? 6 : 1)] = previous;
	memory[word + 7] = at(code) + (is_11 ? 184 : 200);
	memory[code + 1] = g.p.code_type;
	((uint32_t *)&memory[code])[(is_11 ? 72 : 68) / 4] = 7;
	memory[code + 112 / 8] = put_text("app.py");
	memory[code + 120 / 8] = memory[code + 128 / 8] = put_text(name);
}

/* From 3.12 on there is a frame of C between them, on a stack that was copied away. */
static void make(unsigned minor)
{
	memset(memory, 0, sizeof(memory));
	text_words = 0;
	python_greenlets_close(&g);
	g = (struct python_greenlets){ .greenlet_type = at(GREENLET_TYPE) };
	g.p = (struct python_program){ .pid = (uint32_t)getpid(), .minor = minor, .runtime = at(0), .code_type = at(OTHER_TYPES),
				       .frame_type = at(OTHER_TYPES + 1), .list_type = at(OTHER_TYPES + 2), .text_type = at(OTHER_TYPES + 3),
				       .code = python_code_new() };
	python_greenlets_forget(&g);
	for (unsigned i = 0; i < PYTHON_GREENLET_LISTS; i++) {
		g.lists[i] = at(LISTS + 3 * i);
		memory[LISTS + 3 * i] = memory[LISTS + 3 * i + 1] = g.lists[i];
	}
	put_type(GREENLET_TYPE, "greenlet.greenlet");
	put_type(LOCK_TYPE, "gevent._gevent_c_semaphore.Semaphore");
	put_node(GREENLET, LISTS, GREENLET_TYPE);
	put_node(LOCK, LISTS + 6, LOCK_TYPE);
	memory[GREENLET + 2 + 4] = at(STATE);
	memory[STATE + START] = at(STACK);
	memory[STATE + STOP] = at(STACK + 20);
	memory[STATE + TOP] = at(OBJECT);
	memory[OBJECT + 1] = g.p.frame_type;
	memory[OBJECT + 3] = at(FRAME);
	put_frame(OUTER, OUTER_CODE, "handler", 0);
	put_frame(FRAME, CODE, "fetch", at(minor == 11 ? OUTER : STACK + 2));
	memory[FRAME + (minor == 11 ? 5 : 6)] = at(OBJECT);
	if (minor != 11) {
		memory[STATE + COPIED_TO] = at(COPY);
		memory[STATE + SAVED] = 16 * 8;
		memory[COPY + 2 + 1] = at(OUTER);
		((uint8_t *)&memory[COPY + 2])[70] = 3;
	}
	memory[LOCK + 2 + 3] = at(LIST);
	memory[LIST + 1] = g.p.list_type;
	memory[LIST + 2] = 1;
	memory[LIST + 3] = at(ITEMS);
	memory[ITEMS] = at(METHOD);
	memory[METHOD + 2] = at(DEFINITION);
	memory[METHOD + 3] = at(GREENLET + 2);
	memory[DEFINITION] = put_text("switch") + (minor == 11 ? 48 : 40);
}

struct seen {
	unsigned cnt;
	struct python_greenlet last;
};

static void take(void *ctx, const struct python_greenlet *t)
{
	struct seen *s = ctx;

	g_assert_cmpuint(t->frame_cnt, <=, PYTHON_GREENLET_FRAMES_MAX);
	g_assert_true(!t->is_stale || !t->frame_cnt);
	for (unsigned i = 0; i < t->frame_cnt; i++)
		g_assert_true(t->frames[i].name && t->frames[i].file);
	s->cnt++;
	s->last = *t;
}

static struct seen look(void)
{
	struct python_tasks_census c;
	struct seen s = { 0 };

	g_assert_true(python_greenlets_read(&g, 0, 1, take, &s, &c));
	return s;
}

static void test_whole(gconstpointer data)
{
	struct seen s;

	make(GPOINTER_TO_UINT(data));
	s = look();
	g_assert_cmpuint(s.cnt, ==, 1);
	g_assert_true(s.last.is_parked && !s.last.is_stale && !s.last.is_cut);
	g_assert_cmpuint(s.last.frame_cnt, ==, 2);
	g_assert_cmpstr(s.last.frames[0].name, ==, "fetch");
	g_assert_cmpstr(s.last.frames[1].name, ==, "handler");
	g_assert_cmpstr(s.last.frames[1].file, ==, "app.py");
	g_assert_cmpstr(s.last.waits_in, ==, "Semaphore.acquire");
}

/* The place of the frame is known from the first look on, where one was parked. */
static void test_states(void)
{
	struct seen s;

	make(11);
	look();
	memory[LIST + 2] = 0;
	g_assert_null(look().last.waits_in);
	memory[STATE + TOP] = 0;
	g_assert_cmpuint(look().cnt, ==, 0);	/* it runs */
	memory[STATE + START] = 0;
	g_assert_cmpuint(look().cnt, ==, 0);	/* it is over */
	memory[STATE + STOP] = 0;
	s = look();
	g_assert_true(s.cnt == 1 && !s.last.is_parked);	/* it has not begun */
}

static void test_others(void)
{
	make(11);
	memory[FRAME + 5] = 0;	/* a frame that does not lead back */
	g_assert_cmpuint(look().cnt, ==, 0);
	make(11);
	put_type(GREENLET_TYPE, "Hub");
	g_assert_cmpuint(look().cnt, ==, 0);
	make(11);
	memory[GREENLET + 3] = at(OTHER_TYPES);
	g_assert_cmpuint(look().cnt, ==, 0);
	make(11);
	look();
	memory[LISTS] = memory[LISTS + 1] = g.lists[0];	/* it is over, and lies there still */
	memory[GREENLET] = memory[GREENLET + 1] = 0;
	g_assert_cmpuint(look().cnt, ==, 0);
}

/* A frame of which it is not known what it is makes the whole stack doubtful. */
static void test_doubtful(void)
{
	struct seen s;

	make(13);
	look();
	memory[OUTER_CODE + 1] = 0;
	s = look();
	g_assert_true(s.cnt == 1 && s.last.is_stale);
	make(13);
	look();
	memory[STATE + SAVED] = 40 * 8;	/* more than it has */
	g_assert_true(look().last.is_stale);
	make(13);
	memory[OUTER + 1] = at(FRAME);
	s = look();
	g_assert_true(s.last.is_cut);
	g_assert_cmpuint(s.last.frame_cnt, ==, PYTHON_GREENLET_FRAMES_MAX);
}

static void test_random(gconstpointer data)
{
	for (unsigned round = 0; round < 2000; round++) {
		make(GPOINTER_TO_UINT(data));
		for (unsigned i = 0; i < 8; i++) {
			const uint64_t values[] = { 0, UINT64_MAX, (uint32_t)g_test_rand_int(), at((uint32_t)g_test_rand_int() % WORDS),
						    at((uint32_t)g_test_rand_int() % WORDS) + 1, g.greenlet_type, g.p.list_type };

			memory[(uint32_t)g_test_rand_int() % TEXTS] = values[(uint32_t)g_test_rand_int() % G_N_ELEMENTS(values)];
		}
		g.walked_ns = UINT64_MAX / 2;	/* a ring without its head is walked until there were too many: few */
		g.walk_ns = UINT64_MAX / 1000;
		g_assert_cmpuint(look().cnt, <=, WORDS);
	}
	test_whole(data);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/python-greenlets/whole", GUINT_TO_POINTER(11), test_whole);
	g_test_add_data_func("/python-greenlets/whole-3.13", GUINT_TO_POINTER(13), test_whole);
	g_test_add_func("/python-greenlets/states", test_states);
	g_test_add_func("/python-greenlets/others", test_others);
	g_test_add_func("/python-greenlets/doubtful", test_doubtful);
	g_test_add_data_func("/python-greenlets/random", GUINT_TO_POINTER(11), test_random);
	g_test_add_data_func("/python-greenlets/random-3.13", GUINT_TO_POINTER(13), test_random);
	int status = g_test_run();

	python_greenlets_close(&g);
	return status;
}
