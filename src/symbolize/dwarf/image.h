/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_IMAGE_H
#define SYMBOLIZE_DWARF_IMAGE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The debug sections of an ELF file, which is not trusted. Uncompressed sections are read piece by piece, never
 * mapped, because the owner may truncate the file. All memory and steps come out of one budget, so the work for a
 * file is bounded.
 */
enum dwarf_section_id {
	DWARF_INFO, DWARF_ABBREV, DWARF_STR, DWARF_LINE, DWARF_LINE_STR, DWARF_RANGES, DWARF_RNGLISTS, DWARF_ADDR,
	DWARF_STR_OFFSETS, DWARF_SECTION_CNT
};

/* A step is one attribute, line row or range, or 64 bytes; more expensive work counts as more. */
#define DWARF_STEPS_MAX (UINT64_C(400) * 1000 * 1000)
/* For sections kept in memory: compressed ones and tables. */
#define DWARF_KEPT_MAX_BYTES (UINT64_C(768) << 20)
#define DWARF_STRING_MAX_BYTES ((size_t)64 << 10)

struct dwarf_budget {
	uint64_t steps, bytes;	/* remaining */
};

struct dwarf_image;

/* Codes are those of enum dwarf_missed. */
#define DWARF_ERROR (dwarf_error_quark())
GQuark dwarf_error_quark(void);

/* fd and *budget must stay valid as long as the image; the caller closes fd. An error without .debug_info. */
struct dwarf_image *dwarf_image_open(int fd, struct dwarf_budget *budget, GError **error);
void dwarf_image_free(struct dwarf_image *im);

/* The build-id of the file. NULL: none. */
const uint8_t *dwarf_image_build_id(const struct dwarf_image *im, size_t *ret_bytes);
/* The supplementary file (dwz, .gnu_debugaltlink) that it names. NULL: none. */
const char *dwarf_image_alt_path(const struct dwarf_image *im);
const uint8_t *dwarf_image_alt_build_id(const struct dwarf_image *im, size_t *ret_bytes);
/* Borrowed; NULL removes it. */
void dwarf_image_set_alt(struct dwarf_image *im, struct dwarf_image *alt);
struct dwarf_image *dwarf_image_alt(const struct dwarf_image *im);

/* False: the budget has less left; nothing more will be read then. */
bool dwarf_spend(struct dwarf_image *im, uint64_t steps);
bool dwarf_is_spent(const struct dwarf_image *im);

/* 0: missing. */
uint64_t dwarf_section_bytes(const struct dwarf_image *im, enum dwarf_section_id id);
/* Reads bytes [off, off + len) of the section. False: they are not all there. */
bool dwarf_section_read(struct dwarf_image *im, enum dwarf_section_id id, uint64_t off, void *buffer, size_t len);
/* The whole section, valid as long as the image. NULL: missing, or beyond the budget. */
const uint8_t *dwarf_section_whole(struct dwarf_image *im, enum dwarf_section_id id, size_t *ret_len);
/* The string at off, cut at DWARF_STRING_MAX_BYTES. NULL: missing. Free with g_free(). */
char *dwarf_section_string(struct dwarf_image *im, enum dwarf_section_id id, uint64_t off);

#endif
