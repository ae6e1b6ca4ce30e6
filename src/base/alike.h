/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_ALIKE_H
#define BASE_ALIKE_H

#include <glib.h>

/* Names of functions and probes that may be meant by one that does not exist. */

#define ALIKE_SAME_WORD 0U	/* the last words are the same: "handle" of "app::Server::handle<int>" */
#define ALIKE_NOT (~0U)

/* How unlike they are, by their last words: the more the higher. */
unsigned alike_rank(const char *typed, const char *name);

/* "a, b, c": of char *, the most alike first, each once and no more than `most`; NULL: none is alike. */
char *alike_list(const GPtrArray *names, const char *typed, unsigned worst_rank, unsigned most);

#endif
