/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_STACK_WHY_H
#define RENDER_TEXT_STACK_WHY_H

#include "analyse/top.h"
#include "render/text/text.h"

/* Of rows of stacks: what their waits are for, and who ended them. */
struct stack_why;

struct stack_why *stack_why_new(const struct profile *p);	/* borrows p */
void stack_why_free(struct stack_why *why);			/* NULL is fine */

/* "     lock.mutex; woken by io_writer (4711) in flush_log 92%, irq:virtio0 8%", or less where less is known. */
void stack_why_text(GString *s, const struct stack_why *why, const struct top_row *row, const struct text_options *o);

#endif
