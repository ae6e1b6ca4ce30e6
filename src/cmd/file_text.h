/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_FILE_TEXT_H
#define CMD_FILE_TEXT_H

#include "io/file.h"

/* What `offcpu io --slower` and `--stacks` print. */

struct file_text_options {
	bool by_stack, by_count;
	bool with_lines;	/* lines stand above the summary */
	uint64_t slower_ns;
	unsigned top;
};

/* The heading of the lines, and one line. */
void file_line_heading(GString *s);
void file_line(GString *s, const struct file_op *op);
/* At the end. */
void file_text(GString *s, const struct file_result *r, const struct file_text_options *o);

#endif
