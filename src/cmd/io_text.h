/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_IO_TEXT_H
#define CMD_IO_TEXT_H

#include "io/block.h"

/* What `offcpu io` prints. */

struct io_text_options {
	bool by_stack, by_count;
	bool is_of_some;		/* not of all processes: the kernel's own count is of all */
	unsigned top;
};

void io_text(GString *s, const struct block_result *r, const struct io_text_options *o);
/* A line for one request, and the names of its columns. */
void io_line(GString *s, const struct block_op *op);
void io_line_heading(GString *s);

#endif
