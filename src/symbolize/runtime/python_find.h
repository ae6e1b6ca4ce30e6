/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_FIND_H
#define SYMBOLIZE_PYTHON_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/language_abi.h"

/*
 * Is it CPython that runs in a process, and where does it keep its frames?  The process must live.  False: it is none, of an
 * unknown version, or not ready yet.
 */
bool python_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret);

/* The N of "python3.N" and "libpython3.N.so.1.0"; 0: it is neither. */
uint32_t python_minor_of_file(const char *path);

#endif
