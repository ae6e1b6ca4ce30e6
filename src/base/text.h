/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

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

/* Three digits, never "1000": what would round up to it takes the next unit.  "1.50 ms" */
void scaled_text(GString *s, double value, const char *unit);
void size_text(GString *s, uint64_t bytes);	/* "512 B", "1.50 KiB", "33.0 MiB" */

/* Names of functions and probes that may be meant by one that does not exist. */

#define ALIKE_SAME_WORD 0U	/* the last words are the same: "handle" of "app::Server::handle<int>" */
#define ALIKE_NOT (~0U)

/* How unlike they are, by their last words: the more the higher. */
unsigned alike_rank(const char *typed, const char *name);

/* "a, b, c": of char *, the most alike first, each once and no more than `most`; NULL: none is alike. */
char *alike_list(const GPtrArray *names, const char *typed, unsigned worst_rank, unsigned most);

#endif
