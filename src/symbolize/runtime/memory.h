/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_MEMORY_H
#define SYMBOLIZE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All bytes of another process's memory at addr; false when they are not there, or may not be read. */
bool memory_read(uint32_t pid, uint64_t addr, void *ret, size_t bytes);

#endif
