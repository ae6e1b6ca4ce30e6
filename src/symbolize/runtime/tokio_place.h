/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_TOKIO_PLACE_H
#define SYMBOLIZE_TOKIO_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf/table.h"

/*
 * Where in the sources a task's future stands, without debug information and however symbols are mangled.  Each async
 * function and block panics where it is polled once more after its end, and says its own file and line there: these
 * bytes are in every program.  They are found in what polls the task, along its direct calls.
 */

struct tokio_place_search {
	uint32_t pid;
	const struct elf_table *table;
	uint64_t bias;
	bool (*may_read)(void *ctx, unsigned cnt);	/* counts what is read of the process */
	void *ctx;
};

struct tokio_source_place {
	char *file;	/* "src/shop.rs"; to be freed */
	uint32_t line;
	bool is_one_of_several;	/* what it awaits is inlined into it, and may be what is found */
};

/* False: nothing is found.  poll: address of the function that polls the task. */
bool tokio_place_find(const struct tokio_place_search *s, uint64_t poll, struct tokio_source_place *ret);

#endif
