/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_FIRST_H
#define RENDER_TEXT_FIRST_H

#include "explain/explain.h"
#include "render/text/text.h"

/*
 * The first screen of `offcpu report`: what was recorded, one to six findings, where the time of each process
 * went, idle time, and the commands that lead on.  At most FIRST_LINES lines of FIRST_COLUMNS columns, or of
 * options->width.
 */
#define FIRST_LINES 24
#define FIRST_COLUMNS 80

enum idle_choice { IDLE_FOLD = 0, IDLE_KEEP, IDLE_DROP };

struct first_options {
	enum idle_choice idle; /* one line; a bar and a line for each kind; not a word */
	double rate; /* requests per second, 0: not said */
};

/* `query` is what `selection` came from; both NULL: everything. */
void text_first(GString *s, const struct profile *p, const struct query *query, const struct selection *selection,
		const struct text_options *options, const struct first_options *first);

/* Threads times wall is on-CPU, run queue, waits that matter, and idle: a line for each process. */
void text_budget(GString *s, const struct findings *f, const struct text_options *options, double rate);

/* Names in idle_choice's order, for messages; false: none of them. */
bool idle_choice_parse(const char *text, enum idle_choice *ret_choice);

#endif
