/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_NAMES_H
#define SYMBOLIZE_DWARF_NAMES_H

#include "symbolize/dwarf/unit.h"

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

#endif
