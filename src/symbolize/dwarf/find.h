/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_FIND_H
#define SYMBOLIZE_DWARF_FIND_H

#include "symbolize/dwarf/image.h"
#include "symbolize/dwarf/unit.h"
#include "symbolize/symbolize.h"

/*
 * Addresses to source: the functions inlined there, and the file and line of each.  Many
 * addresses of one file are looked up together, so each unit is read at most twice.
 */
struct dwarf_frame {
	/* of an inlined function and of the function itself, as the linker spells it; or NULL */
	const char *name;
	const char *file;	/* where in it: for all but the innermost, the line of the call; or NULL */
	uint32_t line;		/* 0: unknown */
};

struct dwarf_place {
	uint64_t addr;			/* ELF virtual address, to be filled in */
	struct dwarf_frame *frames;	/* innermost first, the last is the function itself */
	unsigned frame_cnt;		/* 0: nothing is known */
};

/* Why debug information was not read, or not all of it: the code of the error. */
enum dwarf_missed {
	DWARF_MISSED_UNREADABLE,	/* no debug information that we know how to open */
	DWARF_MISSED_TOO_MUCH,
	DWARF_MISSED_DAMAGED,
	DWARF_MISSED_SPLIT,		/* in .dwo files */
	DWARF_MISSED_ALT,		/* the supplementary file is not there; lines are, names are not */
	DWARF_MISSED_CNT
};

#define DWARF_INLINE_MAX 64	/* frames of one place: calls inlined deeper are left out */

/*
 * Looks all places up.  Strings go to `strings`, frames are to be freed with g_free.  False with an enum
 * dwarf_missed when some of the debug information was not read; what was found until then stands.
 */
bool dwarf_find(struct dwarf_image *im, struct dwarf_place *places, size_t cnt, GStringChunk *strings, GError **error);

/* All units of a file, and the names of functions wherever in the file they stand. */
struct dwarf_names;

/* strings: where names go. */
struct dwarf_names *dwarf_names_new(struct dwarf_image *im, GStringChunk *strings);
void dwarf_names_free(struct dwarf_names *n);

/* struct dwarf_unit_head, by offset. */
const GArray *dwarf_names_units(const struct dwarf_names *n);

/*
 * The name of the function of entry `d` of unit u: the linker's if it has one, which is that of
 * the entry it stands for (abstract origin, specification).  NULL: it has none.
 */
const char *dwarf_names_of(struct dwarf_names *n, const struct dwarf_unit *u, const struct dwarf_die *d);

/* A call that the compiler replaced by the code of the function called. */
struct dwarf_inlined {
	const char *caller;	/* as the linker spells it */
	const char *file;	/* of the call; NULL: unknown */
	uint32_t line;
};

/* Is this function, as the linker spells it, one of those that are looked for? */
typedef bool dwarf_name_fn(const char *name, void *data);

/*
 * Functions that such functions are inlined into, `max` at most, one call of each: struct dwarf_inlined.  Strings go
 * to `strings`. Reads all units until it has as many, so it is for a budget that is bounded.
 */
GArray *dwarf_inlined_find(struct dwarf_image *im, dwarf_name_fn *is_match, void *data, guint max,
			   GStringChunk *strings);

/*
 * symbolizer_lines() but for demangling: groups the places by file, opens each file's debug
 * information, with the supplementary file that dwz made if it lies below debug_dir, and
 * looks them up.  Strings go to `strings`.
 */
void lines_find(struct symbol_place *places, size_t cnt, const char *debug_dir, GStringChunk *strings,
		uint64_t ret_missed[SYMBOL_MISSED_CNT]);

/* The line table of a unit: the files it was compiled from, and a file and line per address. */
struct dwarf_lines;

/* NULL: the unit has none, or it is damaged. */
struct dwarf_lines *dwarf_lines_read(const struct dwarf_unit *u);
void dwarf_lines_free(struct dwarf_lines *l);

/* Runs the program: calls `each` for the addresses [low, high) of every row of it. */
typedef void dwarf_row_fn(uint64_t low, uint64_t high, uint64_t file, uint32_t line, void *data);
void dwarf_lines_run(struct dwarf_lines *l, dwarf_row_fn *each, void *data);

/* The path of a file by its number, as the compiler knew it: with its folder, and that of the compilation
 * where both are relative.  NULL: no such file.  Free with g_free. */
char *dwarf_lines_path(const struct dwarf_lines *l, uint64_t file);

#endif
