/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_LOCK_FUNCTION_H
#define BASE_LOCK_FUNCTION_H

#include <stdbool.h>

/* A function of the kernel in which it takes a lock, spins for one, or sleeps for it: its caller says which lock it is. */
bool lock_function_is(const char *name);

#endif
