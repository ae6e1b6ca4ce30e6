/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/memory.h"

#include <sys/uio.h>

bool memory_read(uint32_t pid, uint64_t addr, void *ret, size_t bytes)
{
	struct iovec here = { ret, bytes }, there = { (void *)(uintptr_t)addr, bytes };

	return bytes && process_vm_readv((int)pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}
