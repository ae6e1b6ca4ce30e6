/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_FIND_H
#define SYMBOLIZE_DWARF_FIND_H

#include "symbolize/dwarf/image.h"
#include "symbolize/dwarf/unit.h"
#include "symbolize/symbolize.h"

/*
 * Addresses to source positions: inlined functions with their files and lines. Many addresses of a file are looked up
 * together, so each unit is read at most twice.
 */
struct dwarf_frame {
	/* of an inlined function or of the function itself: linkage name; or NULL */
	const char *name;
	const char *file;	/* position in it; for all but the innermost that of the call; or NULL */
	uint32_t line;		/* 0: unknown */
};

struct dwarf_place {
	uint64_t addr;			/* ELF virtual address, set by the caller */
	struct dwarf_frame *frames;	/* innermost first, the last is the function itself */
	unsigned frame_cnt;		/* 0: unknown */
};

/* Error codes: why debug information was not read, or only partly. */
enum dwarf_missed {
	DWARF_MISSED_UNREADABLE,	/* no debug information in a known form */
	DWARF_MISSED_TOO_MUCH,
	DWARF_MISSED_DAMAGED,
	DWARF_MISSED_SPLIT,		/* in .dwo files */
	DWARF_MISSED_ALT,		/* the supplementary file is missing: no names, but lines */
	DWARF_MISSED_CNT
};

#define DWARF_INLINE_MAX 64	/* limit of frames at a place: deeper ones are omitted */

/*
 * Looks up all places. Strings go to `strings`; free frames with g_free(). False with an enum dwarf_missed if some
 * debug information was not read; results so far are valid.
 */
bool dwarf_find(struct dwarf_image *im, struct dwarf_place *places, size_t cnt, GStringChunk *strings, GError **error);

/* All units of a file, and the names of functions anywhere in it. */
struct dwarf_names;

/* strings: receives names. */
struct dwarf_names *dwarf_names_new(struct dwarf_image *im, GStringChunk *strings);
void dwarf_names_free(struct dwarf_names *n);

/* struct dwarf_unit_head, by offset. */
const GArray *dwarf_names_units(const struct dwarf_names *n);

/*
 * The name of the function of entry `d` of unit u: its linkage name, also from its abstract origin or specification.
 * NULL: none.
 */
const char *dwarf_names_of(struct dwarf_names *n, const struct dwarf_unit *u, const struct dwarf_die *d);

/* A call that the compiler inlined. */
struct dwarf_inlined {
	const char *caller;	/* linkage name */
	const char *file;	/* of the call; NULL: unknown */
	uint32_t line;
};

/* Is this linkage name one of the functions searched for? */
typedef bool dwarf_name_fn(const char *name, void *data);

/*
 * Functions into which matching functions are inlined, at most `max`, with one call each: struct dwarf_inlined.
 * Strings go to `strings`. Reads units until it has enough, so the budget should be limited.
 */
GArray *dwarf_inlined_find(struct dwarf_image *im, dwarf_name_fn *is_match, void *data, guint max,
			   GStringChunk *strings);

/*
 * symbolizer_lines() without demangling: groups the places by file, opens each file's debug information and dwz's
 * supplementary file, if that is below debug_dir, and looks them up. Strings go to `strings`.
 */
void lines_find(struct symbol_place *places, size_t cnt, const char *debug_dir, GStringChunk *strings,
		uint64_t ret_missed[SYMBOL_MISSED_CNT]);

/* The line table of a unit: its source files, and a file and line for each address. */
struct dwarf_lines;

/* NULL: none, or damaged. */
struct dwarf_lines *dwarf_lines_read(const struct dwarf_unit *u);
void dwarf_lines_free(struct dwarf_lines *l);

/* Runs the line program: calls `each` for the addresses [low, high) of every row. */
typedef void dwarf_row_fn(uint64_t low, uint64_t high, uint64_t file, uint32_t line, void *data);
void dwarf_lines_run(struct dwarf_lines *l, dwarf_row_fn *each, void *data);

/* A file's path by number, with its folder, and the compilation's if relative. NULL: none. Free with g_free(). */
char *dwarf_lines_path(const struct dwarf_lines *l, uint64_t file);

#endif
