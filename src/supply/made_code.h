/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_MADE_CODE_H
#define SUPPLY_MADE_CODE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "supply/slabs.h"

/*
 * Unwind tables for code that a program makes while it runs, where its runtime tells what it has made: a JVM's code
 * cache. There is one table for each heap of it, made anew as the program compiles.  One thread may call this.
 */

/* Tables that were in use until a moment ago: a walk may still go by them. */
struct retired_tables;
struct retired_tables *retired_tables_new(struct slabs *slabs);
/* Gives those back that nothing can walk by any more; all: no program is run any more. */
void retired_tables_sweep(struct retired_tables *r, bool all);
void retired_tables_free(struct retired_tables *r);

struct made_code;

/* Does code of the file of this path make more, in a way that is known? */
bool made_code_is_by(const char *path);
struct made_code *made_code_new(struct slabs *slabs, struct retired_tables *retired, uint32_t pid);
void made_code_free(struct made_code *m);	/* NULL is fine */

/*
 * Looks whether there is other code than before, if it is time to; true: the program's mappings are to be handed over.
 * Adds to *refused_cnt how many tables there was no room for.
 */
bool made_code_look(struct made_code *m, uint64_t *refused_cnt);
int64_t made_code_due_us(const struct made_code *m);	/* of the next look; m NULL: INT64_MAX */

/* Puts the heaps among a program's mappings (struct space_mapping by address), where they are in no other's way. */
void made_code_add_mappings(const struct made_code *m, GArray *mappings);

#endif
