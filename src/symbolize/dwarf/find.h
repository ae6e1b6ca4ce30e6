/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_FIND_H
#define SYMBOLIZE_DWARF_FIND_H

#include "symbolize/dwarf/image.h"

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

#endif
