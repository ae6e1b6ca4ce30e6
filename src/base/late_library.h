/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_LATE_LIBRARY_H
#define BASE_LATE_LIBRARY_H

#include <stddef.h>

/* A function of a library that is loaded while the program runs, and where its pointer goes. */
struct late_function {
	const char *name;
	void *function;
};

/*
 * Loads the first of `names` (ended by NULL) that there is, for as long as the program runs.  Returns NULL, or why the
 * functions are not there: a sentence without its full stop, to be freed.  Then they must not be called.
 */
char *late_library(const char *const *names, const struct late_function *functions, size_t cnt);

#endif
