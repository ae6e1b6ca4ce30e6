/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_SAFE_TEXT_H
#define BASE_SAFE_TEXT_H

#include <glib.h>

/*
 * Appends a name that comes from another user's program: valid printable UTF-8 as it is, what could drive a terminal or
 * deceive a reader (control, bidirectional and invisible characters, line separators, invalid bytes) as \x1b or \u202e.
 * NULL is "".  safe() of web/page/safe.js writes the same.
 */
void text_safe(GString *s, const char *name);

#endif
