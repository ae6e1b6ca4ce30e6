/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_V8_NAMES_H
#define SYMBOLIZE_V8_NAMES_H

#include "symbolize/runtime/language.h"
#include "symbolize/runtime/v8_layout.h"

/* Names of JavaScript's functions, read from V8's memory while the process lives, as they are just now. */
struct v8_names;

struct v8_names *v8_names_new(void);
void v8_names_free(struct v8_names *n);	/* NULL is fine */

/*
 * The function whose SharedFunctionInfo lies at `shared` and has this number in its script, of which 16 bits count:
 * its name, its script, and the line in which it begins, as first_line and as line; 0: not known.  False: it is there
 * no more.
 */
bool v8_names_function(struct v8_names *n, const struct v8 *v, uint64_t shared, uint32_t number,
		       struct language_frame *ret);
/* The same of a SharedFunctionInfo itself, whatever its number. */
bool v8_names_any_function(struct v8_names *n, const struct v8 *v, uint64_t shared, struct language_frame *ret);

#endif
