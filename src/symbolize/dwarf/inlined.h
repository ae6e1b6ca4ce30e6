/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_INLINED_H
#define SYMBOLIZE_DWARF_INLINED_H

#include "symbolize/dwarf/image.h"

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

#endif
