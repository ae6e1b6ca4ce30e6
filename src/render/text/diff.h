/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_DIFF_H
#define RENDER_TEXT_DIFF_H

#include "analyse/diff/condition.h"
#include "analyse/diff/diff.h"
#include "explain/diff.h"
#include "render/text/text.h"

/* `offcpu diff` for people. */

struct diff_text_options {
	const struct text_options *text;	/* top, width, colour */
	const enum diff_by *tables;	/* the tables to show, in that order */
	unsigned tables_cnt;
	bool all;	/* include rows that differ only by noise */
};

/* Appends: the finding, the two sides, the tables. */
void diff_text(GString *s, struct diff *d, const struct diff_text_options *options);

/* "Times are per request.", or why they are not normalised. */
void diff_text_norm(GString *s, const struct diff *d);
/* Lines like "Another kernel: A -> B"; nothing if the machine is the same. */
void diff_text_machines(GString *s, const struct diff *d);
/* "b.offcpu: 8 threads for 10.0 s, only ..." */
void diff_text_side(GString *s, const struct diff *d, enum diff_side side);

/* A condition, its result and why, in one line without newline. */
void diff_text_condition(GString *s, const struct diff *d, const struct condition *c, const struct condition_result *r);

#endif
