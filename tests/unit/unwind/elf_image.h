/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TEST_UNWIND_ELF_IMAGE_H
#define TEST_UNWIND_ELF_IMAGE_H

#include <glib.h>
#include <stdint.h>

/*
 * ELF files with hand-made call frame information, in memory.  The text is at
 * [IMAGE_TEXT, IMAGE_TEXT + IMAGE_TEXT_BYTES); the .eh_frame at IMAGE_FRAME.
 */
#define IMAGE_TEXT 0x400000
#define IMAGE_TEXT_BYTES 0x10000
#define IMAGE_FRAME 0x500000

/* Appends to an array of bytes. */
void put_u8(GByteArray *a, unsigned v);
void put_u32(GByteArray *a, uint32_t v);
void put_u64(GByteArray *a, uint64_t v);
void put_bytes(GByteArray *a, const char *bytes, size_t cnt);

/* "zR", pc-relative 4-byte pointers, code alignment 1, data alignment -8, CFA = rsp + 8, RA at CFA - 8. */
uint32_t put_cie(GByteArray *a);
/* A CIE with all to choose: returns its offset. */
uint32_t put_cie_of(GByteArray *a, const char *augmentation, const char *augmentation_data, size_t data_bytes,
		    unsigned code_align, const char *init, size_t init_bytes);
/* An FDE in the encoding of put_cie(); start is relative to IMAGE_TEXT. */
void put_fde(GByteArray *a, uint32_t cie, uint32_t start, uint32_t bytes, const char *program, size_t program_bytes);

enum image_kind {
	IMAGE_SECTION,	/* .eh_frame found by its section header */
	IMAGE_SEGMENT,	/* no section headers: found by PT_GNU_EH_FRAME */
	IMAGE_DEBUG,	/* .debug_frame */
};

/* The file; with `more`, that as .debug_frame beside frame as .eh_frame. */
GByteArray *image_of(enum image_kind kind, const GByteArray *frame, const GByteArray *more);

/* A rule in words: "sp+8 bp=cfa-16", "end", "gap", "complex", "[bp-8]+0", "r10+0", "plt 8,11", ... */
char *rule_text(uint32_t rule);

#endif
