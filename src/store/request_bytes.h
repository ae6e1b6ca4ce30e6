/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_REQUEST_BYTES_H
#define STORE_REQUEST_BYTES_H

#include "analyse/request_cells.h"

/* The requests of a window as bytes (docs/history.md). */

/* number_of: of a text, as the file has it; 0 for "", or where there is no room.  False: that cannot be kept. */
typedef uint64_t (*request_cells_number_of)(void *ctx, const char *name);
bool request_cells_encode(struct request_cells *c, request_cells_number_of number_of, void *ctx,
			  GByteArray *into);
/* Adds to c.  names: char *, by number - 1.  False: the bytes are none; what was added is of no use. */
bool request_cells_add_bytes(struct request_cells *c, const void *bytes, size_t len_bytes, const GPtrArray *names);

#endif
