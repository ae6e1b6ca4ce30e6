/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A visible character: no control or format character and no line separator. */
bool text_is_harmless(gunichar c);
/*
 * Appends a name from another user's program: valid printable UTF-8 unchanged; what could drive a terminal or deceive
 * a reader (control, bidirectional and invisible characters, line separators, invalid bytes) as \x1b or \u202e. NULL
 * is "". Escaping twice is harmless. safe() of web/page/safe.js writes the same.
 */
void text_safe(GString *s, const char *name);
/* The same as a new string, of one line. */
char *text_made_safe(const char *name);

/* Three digits, never "1000": what would round up to that takes the next unit. "1.50 ms" */
void scaled_text(GString *s, double value, const char *unit);
void size_text(GString *s, uint64_t bytes);	/* "512 B", "1.50 KiB", "33.0 MiB" */

/* Suggestions for a mistyped name of a function or probe. */

#define ALIKE_SAME_WORD 0U	/* the last words are the same: "handle" of "app::Server::handle<int>" */
#define ALIKE_NOT (~0U)

/* Dissimilarity by the last words: higher is less similar. */
unsigned alike_rank(const char *typed, const char *name);

/* "a, b, c" out of char *: the most similar first, each once, at most `most`; NULL: none is similar. */
char *alike_list(const GPtrArray *names, const char *typed, unsigned worst_rank, unsigned most);

#endif
