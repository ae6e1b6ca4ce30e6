/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_GO_FRAMES_H
#define UNWIND_GO_FRAMES_H

#include "base/go_table.h"
#include "unwind/cfi.h"

/*
 * Rows for Go's text, from the frame sizes in its function table.  They know more than .debug_frame, which
 * `strip` takes away: where a stack ends, where a frame pointer is saved, and which functions go on on another stack.
 */

struct go_frames {
	struct go_table table;
	uint16_t machine;	/* EM_X86_64 or EM_AARCH64 */
	const uint8_t *code;	/* of the section .text, to see how a function begins; NULL: none */
	uint64_t code_vaddr;
	size_t code_bytes;
	uint64_t steps_left;	/* all functions may name one long table */
};

/* False where the file is not Go's, or of another machine. */
bool go_frames_open(struct go_frames *g, const struct elf_file *file);
/* Adds one entry for each function, to be run by go_frames_run(). */
void go_frames_add(const struct go_frames *g, struct cfi_entries *e);

static inline bool go_frames_is_entry(const struct cfi_fde *fde)
{
	return fde->cie == CFI_CIE_GO;
}

/* Told the rule (abi/unwind_abi.h) at each address where it may change, addresses rising; false ends the run. */
typedef bool (*go_row_fn)(void *ctx, uint64_t vaddr, uint32_t rule);
/* As cfi_run(). */
bool go_frames_run(struct go_frames *g, const struct cfi_fde *fde, go_row_fn row, void *ctx, uint64_t *ret_vaddr);

#endif
