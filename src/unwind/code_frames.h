/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_CODE_FRAMES_H
#define UNWIND_CODE_FRAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "unwind/cfi.h"

/*
 * Rows for text without call frame information, from what its instructions do to the stack: musl is built without, so
 * each wait in a program of Alpine's begins in such text.
 *
 * Each function is followed from its first instruction along all its jumps.  One that does not get back to the stack
 * pointer it began with was not understood, and has no rows; nor has what no jump leads to.
 */

struct unwind_arch;
struct code_frames {
	const struct unwind_arch *arch;
	GArray *gaps;	/* struct code_gap, by address */
	uint8_t *flags;	/* of each byte of them */
	uint32_t *rules;	/* of each byte where an instruction begins */
	uint32_t bytes;
	/* inside code_frames.c */
	GArray *starts, *guesses;	/* uint64_t */
	uint64_t steps_left;
	bool is_fixed;	/* loaded where it is linked to */
};

/* Of a file, between its FDEs (struct cfi_fde, by address); the file outlives it. */
void code_frames_open(struct code_frames *c, const struct elf_file *file, const struct unwind_arch *arch, const GArray *fdes);
struct code_gap;
/* Of one stretch of text, in which a function is known to start. */
void code_frames_open_gap(struct code_frames *c, const struct unwind_arch *arch, const struct code_gap *gap, uint64_t start);
void code_frames_close(struct code_frames *c);
/* Adds one entry for each stretch of text that rows are known for, to be run by code_frames_run(). */
void code_frames_add(const struct code_frames *c, struct cfi_entries *e);

static inline bool code_frames_is_entry(const struct cfi_fde *fde)
{
	return fde->cie == CFI_CIE_CODE;
}

/* As go_frames_run(); never stops early. */
void code_frames_run(const struct code_frames *c, const struct cfi_fde *fde,
		     bool (*row)(void *ctx, uint64_t vaddr, uint32_t rule), void *ctx);

#endif
