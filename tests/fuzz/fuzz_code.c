/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>

#include "unwind/arch.h"
#include "unwind/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_START 0x1000u
#define TEXT_MAX_BYTES 65536u

struct rows {
	uint64_t last, end;
	unsigned cnt;
};

static bool take_row(void *ctx, uint64_t vaddr, uint32_t rule)
{
	struct rows *r = ctx;

	(void)rule;
	if (vaddr >= r->end || (r->cnt && vaddr <= r->last))
		abort();
	r->last = vaddr;
	r->cnt++;
	return true;
}

/* The first byte says of which architecture, the second where a function starts, the others are its text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_frames c = { 0 };
	struct cfi_entries e;

	if (size < 3 || size > TEXT_MAX_BYTES)
		return 0;
	struct code_gap gap = { .start = TEXT_START, .end = TEXT_START + size - 2, .code = data + 2 };

	code_frames_open_gap(&c, data[0] & 1 ? &unwind_arch_aarch64 : &unwind_arch_x86_64, &gap, TEXT_START + data[1] * UINT64_C(4));
	cfi_entries_init(&e);
	code_frames_add(&c, &e);
	for (guint i = 0; i < e.fdes->len; i++) {
		const struct cfi_fde *fde = &g_array_index(e.fdes, struct cfi_fde, i);
		struct rows r = { .end = gap.end };

		if (!code_frames_is_entry(fde) || fde->start < gap.start - 1 || fde->end > gap.end || fde->end <= fde->start)
			abort();
		code_frames_run(&c, fde, take_row, &r);
	}
	cfi_entries_clear(&e);
	code_frames_close(&c);
	return 0;
}
