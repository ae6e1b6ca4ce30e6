/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_SAFE_TEXT_H
#define BASE_SAFE_TEXT_H

#include <glib.h>
#include <stdbool.h>

/* Neither control nor format character, nor one that ends a line: it stands for what one sees. */
bool text_is_harmless(gunichar c);
/*
 * Appends a name that comes from another user's program: valid printable UTF-8 as it is, what could drive a terminal or
 * deceive a reader (control, bidirectional and invisible characters, line separators, invalid bytes) as \x1b or \u202e.
 * NULL is "".  What is safe stays as it is.  safe() of web/page/safe.js writes the same.
 */
void text_safe(GString *s, const char *name);
/* The same as a text of its own, of one line. */
char *text_made_safe(const char *name);

#endif
