/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DEBUGINFOD_H
#define SYMBOLIZE_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

#include "symbolize/elf/table.h"

/*
 * Downloads separate debug files from the servers in DEBUGINFOD_URLS, with elfutils' libdebuginfod, which is loaded
 * only if that variable is set. A separate thread waits for the network; the functions below never do.
 */
struct debuginfod;

/* NULL: DEBUGINFOD_URLS is unset or empty, or the library is missing. */
struct debuginfod *debuginfod_new(void);
/* Aborts a transfer, which may take a second or two. */
void debuginfod_free(struct debuginfod *d);

/* From now on tables keep their file open if it has debug information. */
void debuginfod_keep_files(struct debuginfod *d);

/* Requests the debug file of this build-id, once each; requests beyond a limit are dropped. */
void debuginfod_ask(struct debuginfod *d, const uint8_t *build_id, size_t bytes);

/* The next arrived table with symbols (or with the file open, if requested), owned by the caller. NULL: none now. */
struct elf_table *debuginfod_take(struct debuginfod *d);

#endif
