/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_IO_JSON_H
#define CMD_IO_JSON_H

#include "io/block.h"
#include "io/file.h"

/* What `offcpu io --json` prints, schema "offcpu.io/1" (docs: the man page of io).  Each appends one line. */

/* --slower: one operation. */
void io_json_op(GString *out, const struct file_op *op);
/* At the end.  with_places: by stack, too. */
void io_json_files(GString *out, const struct file_result *r, uint64_t slower_ns, bool with_places);
/* --block --slower: one request. */
void io_json_request(GString *out, const struct block_op *op);
void io_json_block(GString *out, const struct block_result *r, bool with_places, bool is_of_some);

#endif
