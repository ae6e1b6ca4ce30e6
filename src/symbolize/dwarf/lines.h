/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_LINES_H
#define SYMBOLIZE_LINES_H

#include "symbolize/symbolize.h"

/*
 * symbolizer_lines() but for demangling: groups the places by file, opens each file's debug
 * information, with the supplementary file that dwz made if it lies below debug_dir, and
 * looks them up.  Strings go to `strings`.
 */
void lines_find(struct symbol_place *places, size_t cnt, const char *debug_dir, GStringChunk *strings,
		uint64_t ret_missed[SYMBOL_MISSED_CNT]);

#endif
