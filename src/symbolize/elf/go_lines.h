/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_GO_LINES_H
#define SYMBOLIZE_GO_LINES_H

#include "symbolize/symbolize.h"

/*
 * Function, file and line of the places that have none yet, from Go's own table in the file behind fd.  Inlined
 * functions have no frame of their own here.  Strings go to `strings`.
 */
void go_lines_find(int fd, struct symbol_place *places, size_t cnt, GStringChunk *strings);

#endif
