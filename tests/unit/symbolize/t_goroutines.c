/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Goroutines in our own memory: whole, damaged, and changing while they are read. */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unwind/go_image.h"
#include "symbolize/runtime/go_goroutines.h"

#define G_BYTES 320
#define COUNT 4

/* In struct g of Go 1.19. */
static const struct go_layout layout = {
	.status = 144, .goid = 152, .wait_since = 168, .reason = 176, .parent = 288, .creator = 296, .start = 312, .bytes = 320,
};

static struct {
	uint64_t slice[3];
	uint64_t list[COUNT];
	uint64_t g[COUNT][G_BYTES / 8];
	uint64_t stack[COUNT][64];
} memory;

static struct go_program program;

static void open_program(uint16_t machine)
{
	g_autofree char *path = g_build_filename(GO_TABLES, "go-1.20", NULL), *bytes = NULL;
	static const uint8_t text[GO_TEXT_BYTES];
	GByteArray *image;
	gsize size;

	g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	image = go_image(machine, (const uint8_t *)bytes, size, text);
	program = (struct go_program){ .fd = memfd_create("go", MFD_CLOEXEC), .codes = go_program_codes_new() };
	g_assert_cmpint(write(program.fd, image->data, image->len), ==, image->len);
	g_byte_array_unref(image);
	g_assert_true(go_file_read(program.fd, &program.file));
	program.pid = (uint32_t)getpid();
	program.goroutines = (uint64_t)(uintptr_t)memory.slice;
	program.layout = layout;
	program.reason_cnt = 3;
	strcpy(program.reasons[1], "chan send");
	strcpy(program.reasons[2], "sleep");
}

static void set_status(uint64_t *g, enum go_status status)
{
	__atomic_store_n(&g[layout.status / 8], (uint64_t)status, __ATOMIC_SEQ_CST);
}

/* main.f, whose frame has 24 bytes, called by `callers` more of it, the outermost by goexit. */
static void park(unsigned i, uint8_t reason, unsigned callers)
{
	uint64_t *g = memory.g[i], *sp = &memory.stack[i][0];

	set_status(g, GO_STATUS_RUNNING);
	for (unsigned k = 0; k <= callers; k++)
		sp[4 * k + 3] = k == callers ? GO_TEXT + 0x101 : GO_TEXT + 0x20;
	g[0] = (uint64_t)(uintptr_t)memory.stack[i];
	g[1] = (uint64_t)(uintptr_t)(memory.stack[i] + 64);
	g[7] = (uint64_t)(uintptr_t)sp;
	g[8] = GO_TEXT + 0x20;
	g[9] = (uint64_t)(uintptr_t)g;
	g[layout.goid / 8] = i + 1;
	g[layout.reason / 8] = reason;
	g[layout.creator / 8] = GO_TEXT + 0x11;
	g[layout.start / 8] = GO_TEXT;
	set_status(g, GO_STATUS_WAITING);
}

static void make(void)
{
	memset(&memory, 0, sizeof(memory));
	memory.slice[0] = (uint64_t)(uintptr_t)memory.list;
	memory.slice[1] = memory.slice[2] = COUNT;
	for (unsigned i = 0; i < COUNT; i++) {
		memory.list[i] = (uint64_t)(uintptr_t)memory.g[i];
		park(i, (uint8_t)(1 + i % 2), i);
	}
}

struct seen {
	unsigned cnt, stale;
	uint64_t goids;
	unsigned frames[COUNT + 1];
	const char *reasons[COUNT + 1];
	enum stack_end ends[COUNT + 1];
	enum go_status status[COUNT + 1];
};

static void take(void *ctx, const struct go_goroutine *g)
{
	struct seen *s = ctx;

	g_assert_cmpuint(g->pc_cnt, <=, GO_FRAMES_MAX);
	g_assert_cmpint(g->status, !=, GO_STATUS_DEAD);
	s->cnt++;
	s->stale += g->is_stale;
	if (!g->goid || g->goid > COUNT)
		return;
	s->goids |= 1ull << g->goid;
	s->frames[g->goid] = g->pc_cnt;
	s->reasons[g->goid] = g->reason;
	s->ends[g->goid] = g->end;
	s->status[g->goid] = g->status;
}

static void test_whole(void)
{
	const struct go_code *code;
	struct seen s = { 0 };
	struct go_census c;

	make();
	set_status(memory.g[2], GO_STATUS_DEAD);
	set_status(memory.g[3], GO_STATUS_WAITING | GO_STATUS_SCAN);
	g_assert_true(go_goroutines_read(&program, 0, 1, take, &s, &c));
	g_assert_cmpuint(c.looked_at, ==, COUNT);
	g_assert_false(c.is_cut);
	g_assert_cmpuint(s.cnt, ==, 3);
	g_assert_cmpuint(s.stale, ==, 0);
	g_assert_cmpuint(s.frames[1], ==, 1);
	g_assert_cmpuint(s.frames[4], ==, 4);
	g_assert_cmpint(s.ends[4], ==, STACK_COMPLETE);
	g_assert_cmpstr(s.reasons[1], ==, "chan send");
	g_assert_cmpstr(s.reasons[2], ==, "sleep");
	g_assert_cmpint(s.status[4], ==, GO_STATUS_WAITING);
	code = go_program_code(&program, GO_TEXT + 0x20, true);
	g_assert_nonnull(code);
	g_assert_cmpuint(code->place_cnt, ==, 1);
	g_assert_cmpstr(code->places[0].name, ==, "main.f");
	g_assert_cmpuint(code->places[0].line, ==, 10);
	g_assert_null(go_program_code(&program, 1, true));
}

static void test_every_second(void)
{
	struct seen s = { 0 };
	struct go_census c;

	make();
	g_assert_true(go_goroutines_read(&program, 1, 2, take, &s, &c));
	g_assert_cmpuint(s.cnt, ==, 2);
	g_assert_cmpuint(s.goids, ==, 1 << 2 | 1 << 4);
}

/* Stacks and lists that have no end, or lie nowhere. */
static void test_bounds(void)
{
	struct seen s = { 0 };
	struct go_census c;

	make();
	for (unsigned i = 0; i < 64; i++)
		memory.stack[0][i] = GO_TEXT + 0x20;
	memory.g[1][7] = 8;
	memory.g[2][1] = UINT64_MAX;
	memory.list[3] = 1;
	g_assert_true(go_goroutines_read(&program, 0, 1, take, &s, &c));
	g_assert_cmpuint(s.cnt, ==, 3);
	g_assert_cmpuint(c.unreadable, ==, 1);
	g_assert_cmpint(s.ends[1], ==, STACK_TRUNCATED);
	g_assert_cmpuint(s.frames[2] + s.frames[3], ==, 0);
	memory.slice[1] = UINT64_MAX;
	g_assert_true(go_goroutines_read(&program, 0, 1, take, &s, &c));
	g_assert_true(c.is_cut);
	g_assert_cmpuint(c.listed, ==, COUNT);
	g_assert_cmpuint(go_goroutines_listed(&program), ==, COUNT);
	memory.slice[2] = UINT64_MAX;
	g_assert_false(go_goroutines_read(&program, 0, 1, take, &s, &c));
	memory.slice[0] = 0;
	g_assert_false(go_goroutines_read(&program, 0, 1, take, &s, &c));
	g_assert_false(go_goroutines_read(&program, 0, 0, take, &s, &c));
}

static void test_random(void)
{
	struct go_census c;

	for (unsigned round = 0; round < 2000; round++) {
		uint64_t *words = memory.g[0];
		const size_t cnt = (sizeof(memory.g) + sizeof(memory.stack)) / 8;
		struct seen s = { 0 };

		make();
		for (unsigned i = 0; i < 8; i++) {
			const uint64_t values[] = { 0, UINT64_MAX, (uint32_t)g_test_rand_int(), GO_TEXT + (uint32_t)g_test_rand_int() % 0x210,
						    (uint64_t)(uintptr_t)memory.stack + (uint32_t)g_test_rand_int() % sizeof(memory.stack) };

			words[(uint32_t)g_test_rand_int() % cnt] = values[(uint32_t)g_test_rand_int() % G_N_ELEMENTS(values)];
		}
		go_goroutines_read(&program, 0, 1, take, &s, &c);
		g_assert_cmpuint(s.cnt, <=, COUNT);
	}
}

static volatile int stop;

/* Parks in turns for one reason with one frame, and for the other one with three. */
static gpointer change(gpointer data)
{
	for (unsigned i = 0; !stop; i++)
		park(0, (uint8_t)(1 + i % 2), i % 2 ? 2 : 0);
	return data;
}

static void test_stale(void)
{
	int64_t give_up_us = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
	GThread *changer;
	unsigned stale = 0;

	make();
	stop = 0;
	changer = g_thread_new("change", change, NULL);
	/* on a busy machine it takes until the other thread is let run beside this one */
	for (unsigned round = 0; round < 2000 || (!stale && g_get_monotonic_time() < give_up_us); round++) {
		struct seen s = { 0 };
		struct go_census c;

		go_goroutines_read(&program, 0, 1, take, &s, &c);
		stale += s.stale;
		g_assert_cmpuint(s.frames[2], ==, 2);
		if (s.stale || s.status[1] != GO_STATUS_WAITING)
			g_assert_cmpuint(s.frames[1], ==, 0);
	}
	stop = 1;
	g_thread_join(changer);
	g_assert_cmpuint(stale, >, 0);
}

/*
 * The return address lies in the lowest word of a frame, here 24 bytes of main.f; one that stands at its first instruction has its caller
 * in sched.lr, here goexit.
 */
static void test_arm64(void)
{
	struct seen s = { 0 };
	struct go_census c;

	go_program_close(&program);
	open_program(EM_AARCH64);
	make();
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t *sp = memory.stack[i];

		memset(sp, 0xff, sizeof(memory.stack[i]));
		for (unsigned k = 0; k <= i; k++)
			sp[3 * k] = k == i ? GO_TEXT + 0x101 : GO_TEXT + 0x20;
	}
	memory.g[1][8] = GO_TEXT;
	memory.g[1][12] = GO_TEXT + 0x101;
	g_assert_true(go_goroutines_read(&program, 0, 1, take, &s, &c));
	g_assert_cmpuint(s.frames[1], ==, 1);
	g_assert_cmpuint(s.frames[2], ==, 1);
	g_assert_cmpuint(s.frames[4], ==, 4);
	for (unsigned i = 1; i <= COUNT; i++)
		g_assert_cmpint(s.ends[i], ==, STACK_COMPLETE);
	/* Go 1.25 has it a word before; one that is no address of the program is no caller */
	make();
	memory.g[1][8] = GO_TEXT;
	memory.g[1][11] = GO_TEXT + 0x101;
	memory.g[2][8] = GO_TEXT;
	g_assert_true(go_goroutines_read(&program, 0, 1, take, &s, &c));
	g_assert_cmpint(s.ends[2], ==, STACK_COMPLETE);
	g_assert_cmpint(s.ends[3], ==, STACK_BROKEN);
	go_program_close(&program);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	open_program(EM_X86_64);
	g_test_add_func("/goroutines/whole", test_whole);
	g_test_add_func("/goroutines/every-second", test_every_second);
	g_test_add_func("/goroutines/bounds", test_bounds);
	g_test_add_func("/goroutines/random", test_random);
	g_test_add_func("/goroutines/stale", test_stale);
	g_test_add_func("/goroutines/arm64", test_arm64);
	return g_test_run();
}
