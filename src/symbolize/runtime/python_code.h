/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_CODE_H
#define SYMBOLIZE_PYTHON_CODE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/language.h"
#include "symbolize/runtime/python_layout.h"

/*
 * Names of the code objects of CPython programs, read from their memory while they live.  What is read is not trusted:
 * sizes are bounded, and an object that is no code object any more is not named.
 */
struct python_code;

struct python_code *python_code_new(void);
void python_code_free(struct python_code *p);	/* NULL is fine */

/* False: the process is gone, or another object lies there by now. */
bool python_code_name(struct python_code *p, const struct language_place *place, struct language_frame *ret);

/*
 * The line of the instruction at an offset, in bytes, of a code object whose table these untrusted bytes are; 0: it
 * has none, or the table is damaged.
 */
uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset);

#endif
