/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_REQUEST_LINE_H
#define STORE_REQUEST_LINE_H

#include "analyse/request_cells.h"

#define REQUEST_STEPS_MAX 2000

/* Of a history.  dir NULL: STORE_DIR_DEFAULT.  NULL with one sentence. */
struct request_line *request_line_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				       GError **error);
#endif
