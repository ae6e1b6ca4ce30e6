/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_MODULE_H
#define BASE_MODULE_H

#include <stdbool.h>

/* The last part of a file's path, all of one that ends in '/'; NULL of NULL. */
const char *module_base_name(const char *path);

/* Is that file a C library, or the part of one that older versions kept threads in?  NULL is none. */
bool module_is_libc(const char *path);

/* Is it musl?  glibc's "libc.so" is a text for linkers, which no program maps. */
bool module_is_musl(const char *path);

/* A function of the kernel in which it takes a lock, spins for one, or sleeps for it: its caller says which lock it is. */
bool lock_function_is(const char *name);

#endif
