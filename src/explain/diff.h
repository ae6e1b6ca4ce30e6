/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_DIFF_H
#define EXPLAIN_DIFF_H

#include "analyse/diff/diff.h"

/* What changed between two recordings, in words: the same for text, JSON, page and answers. */

/* The finding in one or two sentences of any length, without newlines. */
void diff_text_finding(GString *s, struct diff *d);
/* Time whose stacks were lost. Is it so much of a side's time that it is worth telling? */
double diff_text_lost_ns(const struct diff *d, enum diff_side side);	/* scaled as the times */
bool diff_text_has_lost(const struct diff *d, enum diff_side side);

/* " per thread-minute", " per request", "" */
const char *diff_text_unit(const struct diff *d);
/* "+12%", "-0.3%", "new", "x14" */
void diff_text_percent(GString *s, double percent);
/* "12%", without a sign */
void diff_text_plain_percent(GString *s, double percent);
/* "3.1 s -> 3.5 s" */
void diff_text_from_to(GString *s, double before, double after);
/* "+0.40 s" */
void diff_text_signed(GString *s, double ns);
int64_t diff_text_rounded(double ns);

#endif
