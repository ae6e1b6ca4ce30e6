/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_RUBY_EXECUTOR_H
#define SYMBOLIZE_RUBY_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

/* The function of C that executes Ruby's instructions: its bounds, as addresses in its file. */
struct ruby_executor {
	uint64_t start, end;
};

/* By the address of what executes one instruction.  The process must live.  False: not known. */
bool ruby_executor_find(uint32_t pid, uint64_t handler, struct ruby_executor *ret);

#endif
