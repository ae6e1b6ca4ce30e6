/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Goroutines in our own memory, of which the bytes change words: two for the place, eight for the word.  A small word
 * is an address of that memory, or of the program's code.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/unwind/go_image.h"
#include "runtimes/go/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CNT 4
#define G_WORDS 40
#define STACK_WORDS 64
#define CHANGE_BYTES 10
#define LOOKED_AT_MAX 64

/* In struct g of Go 1.19. */
static const struct go_layout layout = {
	.status = 144,
	.goid = 152,
	.reason = 176,
	.parent = 288,
	.creator = 296,
	.start = 312,
	.bytes = 320,
};

static struct {
	uint64_t slice[3];
	uint64_t list[CNT];
	uint64_t g[CNT][G_WORDS];
	uint64_t stack[CNT][STACK_WORDS];
} memory;

static struct go_program program[2];

static void open_program(struct go_program *p, uint16_t machine)
{
	g_autofree char *path = g_build_filename(GO_TABLES, "go-1.20", NULL), *bytes = NULL;
	static const uint8_t text[GO_TEXT_BYTES];
	g_autoptr(GByteArray) image = NULL;
	gsize size;

	if (!g_file_get_contents(path, &bytes, &size, NULL))
		abort();
	image = go_image(machine, (const uint8_t *)bytes, size, text);
	*p = (struct go_program){ .pid = (uint32_t)getpid(),
				 .fd = memfd_create("go", MFD_CLOEXEC),
				 .codes = go_program_codes_new(),
				 .goroutines = (uint64_t)(uintptr_t)memory.slice,
				 .layout = layout,
				 .reason_cnt = 2 };
	strcpy(p->reasons[1], "chan send");
	if (write(p->fd, image->data, image->len) != (ssize_t)image->len || !go_file_read(p->fd, &p->file))
		abort();
}

/* main.f, called by i more of it, the outermost by goexit. */
static void make(void)
{
	memset(&memory, 0, sizeof(memory));
	memory.slice[0] = (uint64_t)(uintptr_t)memory.list;
	memory.slice[1] = memory.slice[2] = CNT;
	for (unsigned i = 0; i < CNT; i++) {
		uint64_t *g = memory.g[i], *sp = memory.stack[i];

		memory.list[i] = (uint64_t)(uintptr_t)g;
		for (unsigned k = 0; k <= i; k++)
			sp[4 * k + 3] = k == i ? GO_TEXT + 0x101 : GO_TEXT + 0x20;
		g[0] = g[7] = (uint64_t)(uintptr_t)sp;
		g[1] = (uint64_t)(uintptr_t)(sp + STACK_WORDS);
		g[8] = GO_TEXT + 0x20;
		g[9] = (uint64_t)(uintptr_t)g;
		g[layout.status / 8] = GO_STATUS_WAITING;
		g[layout.goid / 8] = i + 1;
		g[layout.reason / 8] = 1;
		g[layout.start / 8] = GO_TEXT;
	}
}

static void change(const uint8_t *data)
{
	uint16_t at;
	uint64_t word;

	memcpy(&at, data, sizeof(at));
	memcpy(&word, data + sizeof(at), sizeof(word));
	if (word < sizeof(memory))
		word += (uint64_t)(uintptr_t)&memory;
	else if (word < sizeof(memory) + GO_TEXT_BYTES)
		word += GO_TEXT - sizeof(memory);
	((uint64_t *)&memory)[at % (sizeof(memory) / sizeof(word))] = word;
}

static void take(void *ctx, const struct go_goroutine *g)
{
	const struct go_program *p = ctx;

	if (g->pc_cnt > GO_FRAMES_MAX || (g->is_stale && g->pc_cnt))
		abort();
	for (unsigned i = 0; i < g->pc_cnt; i++) {
		const struct go_code *code = go_program_code(p, g->pcs[i], i || !g->begins_at_pc);

		if (code && (!code->place_cnt || code->place_cnt > GO_PLACES_MAX))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_census census;

	if (!program[0].codes) {
		open_program(&program[0], EM_X86_64);
		open_program(&program[1], EM_AARCH64);
	}
	make();
	for (; size >= CHANGE_BYTES; data += CHANGE_BYTES, size -= CHANGE_BYTES)
		change(data);
	/* a list may say that it is long: looks are spread over it, as callers do to keep to their budget */
	for (unsigned i = 0; i < G_N_ELEMENTS(program); i++) {
		uint64_t stride = 1 + go_goroutines_listed(&program[i]) / LOOKED_AT_MAX;

		go_goroutines_read(&program[i], 0, stride, take, &program[i], &census);
		if (census.looked_at > LOOKED_AT_MAX)
			abort();
	}
	return 0;
}
