/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_MODULE_H
#define BASE_MODULE_H

#include <stdbool.h>

/* The last part of a file's path, or all of it if it ends in '/'; NULL for NULL. */
const char *module_base_name(const char *path);

/* Is that file a C library, or the part that had the threads in older versions? False for NULL. */
bool module_is_libc(const char *path);

/* Is it musl? glibc's "libc.so" is a linker script, which no program maps. */
bool module_is_musl(const char *path);

/* Is it a kernel function that takes a lock, spins or sleeps for one? Its caller identifies the lock. */
bool lock_function_is(const char *name);

#endif
