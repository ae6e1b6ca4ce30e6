/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_LINES_H
#define SYMBOLIZE_LINES_H

#include "symbolize/dwarf/unit.h"
#include "symbolize/symbolize.h"

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
