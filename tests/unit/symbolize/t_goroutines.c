/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Goroutines in our own memory: whole, damaged, and changing while they are read. */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unwind/go_image.h"
#include "runtimes/go/program.h"

#define G_BYTES 320
#define COUNT 4

/* In struct g of Go 1.19. */
static const struct go_layout layout = {
	.status = 144, .goid = 152, .reason = 176, .parent = 288, .creator = 296, .start = 312, .bytes = 320,
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

struct text {
	const char *addr;
	uint64_t bytes;
};
/* Of a map of Go up to 1.23: two buckets of eight. */
struct bucket {
	uint8_t used[8];
	struct text keys[8], values[8];
	uint64_t next;
};
struct map {
	uint64_t count;
	uint8_t flags, bits;
	uint16_t overflows;
	uint32_t seed;
	const void *buckets, *old;
};

static struct text text(const char *s)
{
	return (struct text){ s, strlen(s) };
}

static void put(struct bucket *b, unsigned slot, const char *key, const char *value)
{
	b->used[slot] = 77;
	b->keys[slot] = text(key);
	b->values[slot] = text(value);
}

static void assert_labels(unsigned minor, const void *addr, const char *expected)
{
	struct go_labels labels;
	g_autoptr(GString) s = g_string_new(NULL);

	go_labels_read((uint32_t)getpid(), minor, (uint64_t)(uintptr_t)addr, &labels);
	for (unsigned i = 0; i < labels.cnt; i++)
		g_string_append_printf(s, "%s%s=%s", i ? " " : "", labels.label[i].key, labels.label[i].value);
	g_assert_cmpstr(s->str, ==, expected);
}

/* Maps of old versions, pairs of new ones; only labels that say routes, and none of what is no text. */
static void test_labels(void)
{
	struct bucket buckets[2] = { 0 };
	struct map map = { .count = 3, .bits = 1, .buckets = buckets };
	const struct map *of_map = &map;
	struct text pairs[3][2] = { { text("http.route"), text("/a") }, { text("request"), text("17") },
				    { text("rpc.method"), text("Find") } };
	struct {
		const void *pairs;
		uint64_t cnt, room;
	} slice = { pairs, 3, 3 };

	put(&buckets[1], 7, "http.route", "/a");
	put(&buckets[0], 2, "request", "17");
	put(&buckets[0], 3, "rpc.method", "Find");
	put(&buckets[0], 4, "endpoint", "/gone");
	buckets[0].used[4] = 1;	/* it was taken away */
	assert_labels(19, &of_map, "http.route=/a rpc.method=Find");
	assert_labels(24, &slice, "http.route=/a rpc.method=Find");
	buckets[1].values[7].bytes = 1u << 20;
	pairs[0][1] = (struct text){ "\xff", 1 };
	assert_labels(19, &of_map, "rpc.method=Find");
	assert_labels(24, &slice, "rpc.method=Find");
	map.old = buckets;	/* it changes, which a set of labels does not */
	slice.pairs = (void *)8;
	assert_labels(19, &of_map, "");
	assert_labels(24, &slice, "");
	assert_labels(19, NULL, "");
	assert_labels(19, (const uint8_t *)&of_map + 1, "");
	g_assert_cmpuint(go_labels_at(19, 296), ==, 344);
	g_assert_cmpuint(go_labels_at(99, 296), ==, 0);
}

#define SETS(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Code as Go's compiler makes it, of several versions, and what is none of it. */
static void test_labels_place(void)
{
	struct go_labels_place place = { 0 };

	g_assert_true(go_labels_by_version("go1.19.8", &place) && !place.has_list && place.runs_at == 192);
	g_assert_true(go_labels_by_version("go1.24.4", &place) && place.has_list && place.runs_at == 192);
	g_assert_true(go_labels_by_version("go1.26", &place) && place.has_list && place.runs_at == 184);
	g_assert_false(go_labels_by_version("go1.99", &place));
	g_assert_false(go_labels_by_version("devel", &place));
	/* cmpl $0,writeBarrier; jne; mov %rax,0x168(%r14) */
	g_assert_true(go_labels_by_code(SETS(0x83, 0x3d, 0x37, 0xda, 0x11, 0, 0, 0x75, 9, 0x49, 0x89, 0x86, 0x68, 1, 0, 0), &place));
	g_assert_cmpuint(place.labels_at, ==, 0x168);
	/* mov %rax,(%r11); mov 0x160(%r14),%rcx; mov %rcx,8(%r11); mov %rax,0x158(%rcx) */
	g_assert_true(go_labels_by_code(SETS(0x49, 0x89, 3, 0x49, 0x8b, 0x8e, 0x60, 1, 0, 0, 0x49, 0x89, 0x4b, 8, 0x48, 0x89, 0x81, 0x58, 1, 0, 0),
					&place));
	g_assert_cmpuint(place.labels_at, ==, 0x158);
	g_assert_false(go_labels_by_code(SETS(0x49, 0x89, 0x86, 0x68, 1, 0), &place));
	/* mov %fs:-8,%rax; cmp %rsp,8(%rax) */
	g_assert_true(go_goroutine_by_code(SETS(0x64, 0x48, 0x8b, 4, 0x25, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x39, 0x60, 8), 0, &place));
	g_assert_true(place.goroutine_at == -8 && !place.offset_at);
	/* mov $-48,%rcx; mov %fs:(%rcx),%rax */
	g_assert_true(go_goroutine_by_code(SETS(0x48, 0xc7, 0xc1, 0xd0, 0xff, 0xff, 0xff, 0x64, 0x48, 0x8b, 1), 0, &place));
	g_assert_true(place.goroutine_at == -48 && !place.offset_at);
	/* mov 0x100(%rip),%rcx; mov %fs:(%rcx),%rax */
	g_assert_true(go_goroutine_by_code(SETS(0x48, 0x8b, 0x0d, 0, 1, 0, 0, 0x64, 0x48, 0x8b, 1), 0x4000, &place));
	g_assert_cmpuint(place.offset_at, ==, 0x4107);
	g_assert_false(go_goroutine_by_code(SETS(0x48, 0x8b, 0x0d, 0, 1, 0, 0, 0x48, 0x8b, 1, 0x90), 0x4000, &place));
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
	g_test_add_func("/goroutines/labels", test_labels);
	g_test_add_func("/goroutines/labels-place", test_labels_place);
	return g_test_run();
}
