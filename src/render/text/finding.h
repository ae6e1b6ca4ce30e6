/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_FINDING_H
#define RENDER_TEXT_FINDING_H

#include "analyse/findings.h"
#include "analyse/task_findings.h"
#include "render/text/text.h"

#define FINDING_NAME_COLUMNS 60 /* of a function: some are longer than a line */

/* One finding: a number, a sentence, its evidence, that advice.  Appends lines. */
void text_finding(GString *s, const struct findings *f, unsigned row, unsigned number, const char *advice,
		  const struct text_options *options);
/* The same of goroutines and tasks of asyncio. */
void text_task_finding(GString *s, const struct profile *p, const struct task_wait *w, unsigned number,
		       const struct text_options *options);

/* The same for those who lay it out themselves: no number in front, no command behind. */
struct text_finding_parts {
	char *sentence, *evidence;
	const char *advice;	/* borrowed */
};
void text_finding_parts(const struct findings *f, unsigned row, struct text_finding_parts *ret_parts);
void text_task_finding_parts(const struct profile *p, const struct task_wait *w, struct text_finding_parts *ret_parts);
const char *text_finding_advice(const struct findings *f, const struct finding *row);
void text_finding_parts_clear(struct text_finding_parts *parts);

/* " in write_audit (audit.c:27)", with the library where it is not the program's own file; nothing of frame -1. */
void text_finding_function(GString *s, const struct findings *f, int64_t frame, const char *before);
/* "cpu-worker/4711" */
void text_finding_who(GString *s, const struct finding_by *by);
/* ", audit_lock,"; of what has no name of its own who is at the other end: " (slow-database)"; or nothing. */
void text_finding_object(GString *s, const struct finding *row, const struct object *o);
/* "; held by worker/4711 in write_audit, which meanwhile waits for fsync"; nothing where nobody is known. */
void text_finding_by(GString *s, const struct findings *f, const struct finding *row);
/* Parts of a finding whose `busy` is set. */
void text_busy_sentence(GString *s, const struct findings *f, const struct finding *row);
void text_busy_evidence(GString *s, const struct finding *row);
const char *text_busy_advice(const struct finding *row);

/* Columns of the screen: the terminal's, at most; 80 where it is none. */
unsigned text_screen_width(const struct text_options *options);

/* Appends a text in lines of at most `width` columns, broken at blanks; `indent` stands before all but the first. */
void text_wrap(GString *s, const char *text, const char *indent, unsigned width);
/* The same of whole lines, on a terminal; elsewhere they stay as they are. */
void text_fit(GString *s, const char *lines, const char *indent, const struct text_options *options);

#endif
