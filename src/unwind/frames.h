/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_FRAMES_H
#define UNWIND_FRAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "base/go_table.h"
#include "unwind/arch.h"
#include "unwind/cfi.h"

/* Where an ELF file has its call frame information, and its text. */

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
 * Fills *ret, whose sections point into the file's data: valid until it is closed. False if it is not 64-bit
 * little-endian, or has no text.
 */
bool elf_frames_find(const struct elf_file *file, struct elf_frames *ret, GError **error);

#define UNWIND_ERROR (unwind_error_quark())
GQuark unwind_error_quark(void);

/*
 * Rows for Go's text, from the frame sizes in its function table. They contain more than .debug_frame, which `strip`
 * removes: where a stack ends, where a frame pointer is saved, and which functions switch stacks.
 */

struct go_frames {
	struct go_table table;
	uint16_t machine;	/* EM_X86_64 or EM_AARCH64 */
	const uint8_t *code;	/* of section .text, to see how a function begins; NULL: none */
	uint64_t code_vaddr;
	size_t code_bytes;
	uint64_t steps_left;	/* a limit, as all functions may refer to one long table */
};

/* False if the file is not Go's, or of another machine. */
bool go_frames_open(struct go_frames *g, const struct elf_file *file);
/* Adds one entry for each function, to be run by go_frames_run(). */
void go_frames_add(const struct go_frames *g, struct cfi_entries *e);

static inline bool go_frames_is_entry(const struct cfi_fde *fde)
{
	return fde->cie == CFI_CIE_GO;
}

/* Receives the rule (abi/unwind_abi.h) at each address where it may change, in order; false ends the run. */
typedef bool (*go_row_fn)(void *ctx, uint64_t vaddr, uint32_t rule);
/* As cfi_run(). */
bool go_frames_run(struct go_frames *g, const struct cfi_fde *fde, go_row_fn row, void *ctx, uint64_t *ret_vaddr);

/*
 * Rows for text without call frame information, from its instructions' effect on the stack: musl is built without it,
 * so each wait in a program of Alpine begins in such text.
 *
 * Each function is followed from its first instruction through all jumps. One that does not restore the initial stack
 * pointer was not understood, and has no rows; nor has code that no jump leads to.
 */

struct unwind_arch;
struct code_frames {
	const struct unwind_arch *arch;
	GArray *gaps;	/* struct code_gap, by address */
	uint8_t *flags;	/* for each byte of the gaps */
	uint32_t *rules;	/* for each byte where an instruction begins */
	uint32_t bytes;
	/* private to code_frames.c */
	GArray *starts, *guesses;	/* uint64_t */
	uint64_t steps_left;
	bool is_fixed;	/* not relocated */
};

/* For a file, between its FDEs (struct cfi_fde, by address); the file outlives it. */
void code_frames_open(struct code_frames *c, const struct elf_file *file, const struct unwind_arch *arch,
		      const GArray *fdes);
struct code_gap;
/* For one stretch of text, in which a function is known to start. */
void code_frames_open_gap(struct code_frames *c, const struct unwind_arch *arch, const struct code_gap *gap,
			  uint64_t start);
void code_frames_close(struct code_frames *c);
/* Adds one entry for each stretch of text with known rows, to be run by code_frames_run(). */
void code_frames_add(const struct code_frames *c, struct cfi_entries *e);

static inline bool code_frames_is_entry(const struct cfi_fde *fde)
{
	return fde->cie == CFI_CIE_CODE;
}

/* As go_frames_run(); never stops early. */
void code_frames_run(const struct code_frames *c, const struct cfi_fde *fde,
		     bool (*row)(void *ctx, uint64_t vaddr, uint32_t rule), void *ctx);

/* Text without call frame information, and where its functions begin. */

/* A stretch of it. */
struct code_gap {
	uint64_t start, end;
	const uint8_t *code;	/* at start; valid while the file is open */
	uint32_t at;	/* total bytes of the previous gaps */
};

/*
 * Appends the gaps between FDEs (struct cfi_fde, by address), by address, and returns the sum of their bytes. None if
 * they are too small or too large.
 */
uint32_t code_gaps_find(const struct elf_file *file, const struct code_arch *arch, const GArray *fdes, GArray *gaps);

/* The gap that contains vaddr; NULL: none. */
const struct code_gap *code_gap_of(const GArray *gaps, uint64_t vaddr);

/*
 * Returns addresses in gaps (uint64_t, sorted): starts, which are functions by symbols and calls; and guesses, to
 * which a pointer is stored. The result says whether the file is loaded without relocation.
 */
bool code_starts_find(const struct elf_file *file, const struct code_arch *arch, const GArray *fdes, const GArray *gaps,
		      GArray *starts, GArray *guesses);

#endif
