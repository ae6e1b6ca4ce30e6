/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_LATE_LIBRARY_H
#define BASE_LATE_LIBRARY_H

#include <stddef.h>

/* A function of a library that is loaded at run time, and where its pointer is stored. */
struct late_function {
	const char *name;
	void *function;
};

/*
 * Loads the first existing library of `names` (ended by NULL) for the rest of the program's life. Returns NULL, or why
 * the functions are missing, as a sentence without full stop, to be freed. Then they must not be called.
 */
char *late_library(const char *const *names, const struct late_function *functions, size_t cnt);

#endif
