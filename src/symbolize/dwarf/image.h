/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_IMAGE_H
#define SYMBOLIZE_DWARF_IMAGE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The debugging sections of one ELF file.  Its bytes are not trusted.  What is not compressed
 * is read piece by piece as it is needed, never mapped: its owner may cut the file short.
 * Every byte and every step of whoever reads is paid out of one budget, so that the work on
 * a file is bounded whatever is in it.
 */
enum dwarf_section_id {
	DWARF_INFO, DWARF_ABBREV, DWARF_STR, DWARF_LINE, DWARF_LINE_STR, DWARF_RANGES, DWARF_RNGLISTS, DWARF_ADDR,
	DWARF_STR_OFFSETS, DWARF_SECTION_CNT
};

/* A step is one attribute, line row or range, or 64 bytes; what costs more is charged as more. */
#define DWARF_STEPS_MAX (UINT64_C(400) * 1000 * 1000)
/* Sections kept whole: compressed ones and tables. */
#define DWARF_KEPT_MAX_BYTES (UINT64_C(768) << 20)
#define DWARF_STRING_MAX_BYTES ((size_t)64 << 10)

struct dwarf_budget {
	uint64_t steps, bytes;	/* what is left */
};

struct dwarf_image;

/* The codes are those of dwarf_find.h. */
#define DWARF_ERROR (dwarf_error_quark())
GQuark dwarf_error_quark(void);

/*
 * The file behind fd, which stays open and the caller's as long as the image lives, and so
 * does *budget.  An error without .debug_info.
 */
struct dwarf_image *dwarf_image_open(int fd, struct dwarf_budget *budget, GError **error);
void dwarf_image_free(struct dwarf_image *im);

/* The build-id of the file itself; NULL: none. */
const uint8_t *dwarf_image_build_id(const struct dwarf_image *im, size_t *ret_bytes);
/* The supplementary file (dwz, .gnu_debugaltlink) that this one names; NULL: none. */
const char *dwarf_image_alt_path(const struct dwarf_image *im);
const uint8_t *dwarf_image_alt_build_id(const struct dwarf_image *im, size_t *ret_bytes);
/* Borrowed; NULL takes it away again. */
void dwarf_image_set_alt(struct dwarf_image *im, struct dwarf_image *alt);
struct dwarf_image *dwarf_image_alt(const struct dwarf_image *im);

/* False when the budget does not have that much left; then nothing more will be read. */
bool dwarf_spend(struct dwarf_image *im, uint64_t steps);
bool dwarf_is_spent(const struct dwarf_image *im);

/* 0: not there. */
uint64_t dwarf_section_bytes(const struct dwarf_image *im, enum dwarf_section_id id);
/* Bytes [off, off + len) of the section into buffer; false when they are not all there. */
bool dwarf_section_read(struct dwarf_image *im, enum dwarf_section_id id, uint64_t off, void *buffer, size_t len);
/* The whole section, which lives as long as the image; NULL: not there, or beyond the budget. */
const uint8_t *dwarf_section_whole(struct dwarf_image *im, enum dwarf_section_id id, size_t *ret_len);
/* The string at off, cut at DWARF_STRING_MAX_BYTES; NULL: not there.  Free with g_free. */
char *dwarf_section_string(struct dwarf_image *im, enum dwarf_section_id id, uint64_t off);

#endif
