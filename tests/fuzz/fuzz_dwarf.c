/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/dwarf/find.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PLACES 64
/* Less than in earnest, so that the slowest input takes a tenth of a second. */
#define STEPS (UINT64_C(4) << 20)
#define KEPT_BYTES (UINT64_C(64) << 20)

static void check(const struct dwarf_place *p)
{
	if (p->frame_cnt > DWARF_INLINE_MAX || !p->frames != !p->frame_cnt)
		abort();
	for (unsigned i = 0; i < p->frame_cnt; i++)
		if (p->frames[i].line && !p->frames[i].file)
			abort();
}

static void look_up(struct dwarf_image *im)
{
	struct dwarf_place places[PLACES] = { 0 };
	GStringChunk *strings = g_string_chunk_new(4096);

	/* where the text of a small program lies */
	for (unsigned i = 0; i < PLACES; i++)
		places[i].addr = (i & 1 ? 0x401000 : 0x1000) + i / 2 * 13;
	dwarf_find(im, places, PLACES, strings, NULL);
	for (unsigned i = 0; i < PLACES; i++) {
		check(&places[i]);
		g_free(places[i].frames);
	}
	g_string_chunk_free(strings);
}

/* A file with debug information, of the traced user; it is its own supplementary file, too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwarf_budget budget = { STEPS, KEPT_BYTES };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct dwarf_image *im, *alt;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	im = dwarf_image_open(fd, &budget, NULL);
	if (im) {
		alt = dwarf_image_open(fd, &budget, NULL);
		dwarf_image_set_alt(im, alt);
		look_up(im);
		dwarf_image_free(alt);
	}
	dwarf_image_free(im);
	close(fd);
	return 0;
}
