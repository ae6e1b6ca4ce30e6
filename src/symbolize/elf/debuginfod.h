/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DEBUGINFOD_H
#define SYMBOLIZE_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/elf/table.h"

/*
 * Separate debug files from the servers in DEBUGINFOD_URLS, by elfutils' libdebuginfod, which
 * is loaded only when that variable is set.  A thread of its own waits for the network; the
 * two functions below never do.
 */
struct debuginfod;

/* NULL when DEBUGINFOD_URLS is unset or empty, or the library is not there. */
struct debuginfod *debuginfod_new(void);
/* Breaks off a transfer, which may take a second or two. */
void debuginfod_free(struct debuginfod *d);

/* From now on tables keep the file they were read from open, where it has debug information. */
void debuginfod_keep_files(struct debuginfod *d);

/* Asks for the debug file of this build-id, once each; what is too much is forgotten. */
void debuginfod_ask(struct debuginfod *d, const uint8_t *build_id, size_t bytes);

/*
 * The next table that has arrived and has symbols (or the file open, where wanted), now the caller's; NULL: none now.
 */
struct elf_table *debuginfod_take(struct debuginfod *d);

#endif
