/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_LINES_H
#define SYMBOLIZE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/python_layout.h"

/*
 * The line of the instruction at an offset, in bytes, of a code object whose table these untrusted bytes are; 0: it
 * has none, or the table is damaged.
 */
uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset);

#endif
