/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ELF_FRAMES_H
#define UNWIND_ELF_FRAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "unwind/cfi.h"

/* Where an ELF file keeps its call frame information, and its text. */

#define ELF_FRAMES_SECTIONS 2
#define ELF_FRAMES_SEGMENTS 32

struct elf_text {
	uint64_t start, end;	/* virtual addresses */
};

struct elf_frames {
	struct cfi_section sections[ELF_FRAMES_SECTIONS];	/* .eh_frame first */
	unsigned section_cnt;
	struct elf_text texts[ELF_FRAMES_SEGMENTS];	/* executable segments, sorted */
	unsigned text_cnt;
};

/*
 * Fills *ret, whose sections point into what the file holds: valid until it is closed.  False
 * for one that is not of 64 bits and little-endian, or without any text.
 */
bool elf_frames_find(const struct elf_file *file, struct elf_frames *ret, GError **error);

#define UNWIND_ERROR (unwind_error_quark())
GQuark unwind_error_quark(void);

#endif
