/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_GLOB_H
#define ANALYSE_REASON_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does the whole of text agree with the pattern?  '*' is any bytes, '?' any one byte.  Bytes, no characters.  The
 * time is bounded by the product of both lengths, whatever they hold.
 */
bool glob_match(const char *pattern, const char *text, size_t text_len);

#endif
