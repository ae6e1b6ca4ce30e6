/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_CODE_STARTS_H
#define UNWIND_CODE_STARTS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "unwind/code_step.h"

/* Text without call frame information, and where its functions begin. */

/* A stretch of it. */
struct code_gap {
	uint64_t start, end;
	const uint8_t *code;	/* at start; of the file while it is open */
	uint32_t at;	/* bytes of the gaps before it */
};

/*
 * Appends the gaps between FDEs (struct cfi_fde, by address), by address, and gives the sum of their bytes.  None where
 * they are few bytes or too many.
 */
uint32_t code_gaps_find(const struct elf_file *file, const struct code_arch *arch, const GArray *fdes, GArray *gaps);

/* The gap that holds vaddr; NULL: none. */
const struct code_gap *code_gap_of(const GArray *gaps, uint64_t vaddr);

/*
 * Fills in addresses in gaps (uint64_t, in order): of functions for sure, by symbols and calls; and of what may be one,
 * since a pointer to it is kept.  Returns whether the file is loaded where it is linked to.
 */
bool code_starts_find(const struct elf_file *file, const struct code_arch *arch, const GArray *fdes, const GArray *gaps,
		      GArray *starts, GArray *guesses);

#endif
