/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_H
#define RENDER_TEXT_H

#include <glib.h>

#include "analyse/accounts.h"
#include "analyse/actors.h"
#include "analyse/critical.h"
#include "analyse/query.h"
#include "analyse/top.h"
#include "profile/profile.h"
#include "profile/tasks.h"

/* `offcpu report` for people: header, coverage, accounts, headline, top waits. */

struct text_options {
	unsigned top;		/* rows a section shows; 0: all */
	enum top_by by;		/* of the last section */
	const char *attribute;	/* of trace contexts: it is by that; NULL: by `by` */
	enum weight weight;
	bool colour;		/* ANSI escapes */
	unsigned width;		/* columns to cut names to; 0: never cut */
	bool whys;		/* of stacks: their reason, and who ended the waits */
	bool kernel_frames;	/* stacks with the kernel's own way in and to sleep (__schedule, do_syscall_64), too */
};

/* Appends.  `query` is what `selection` came from; both NULL: everything. */
void text_report(GString *s, const struct profile *p, const struct query *query,
		 const struct selection *selection, const struct text_options *options);

/* Its header and the list by options->by alone. */
void text_ranked(GString *s, const struct profile *p, const struct query *query, const struct selection *selection,
		 const struct text_options *options);

/* What stands above the lists of an imported profile: what it came from, and in one line what is unknown. */
void text_imported(GString *to, const struct profile *p, const struct query *query, const struct selection *selection,
		   const struct text_options *options);
/* "     count 3, mean 1.2 s, ..." of a row, as far as it is known; nothing where nothing is. */
void text_row_numbers(GString *s, uint32_t unknown, const struct top_row *row, bool is_exact);

/* Parts of it, for other commands; each ends in a newline, but for the first. */
/* "2026-11-25 14:00:00 to 15:00:00 +0000, 360 windows, no gaps": of a profile of a history. */
void text_history(GString *s, const struct profile_info *info);
void text_header(GString *s, const struct profile *p, const struct query *query, const struct text_options *options);
void text_coverage(GString *to, const struct profile *p, const struct selection *selection,
		   const struct text_options *options);
/*
 * What was sampled and why, and whether the budget was kept: lines that begin with `indent`; none of an exact
 * recording.
 */
/* "sampled at 49 Hz" */
void text_looks_rate(GString *s, const struct profile_info *info);
void text_sampling(GString *s, const struct profile *p, const char *indent);
void text_accounts(GString *s, const struct accounts *a, const struct text_options *options);
void text_headline(GString *s, const struct top *leaves, const struct text_options *options);
void text_top(GString *s, const struct profile *p, const struct top *top, const struct text_options *options);
/* The same as a table, one row a line. */
/* Whose time waits for TCP sockets were, of the objects in the first `shown` rows; nothing where there are none. */
void text_tcp_waits(GString *s, const struct profile *p, const struct top *top, unsigned shown,
		    const struct text_options *options);
void text_groups(GString *s, const struct profile *p, const struct top *top, const struct text_options *options);

/* `offcpu report --runq-blame`: who held the CPU while threads waited for it.  Appends. */
void blame_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options);

/* `offcpu report --locks`: which locks threads waited for, and who held them. */
void locks_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options);

/* `offcpu report --storms`: events that wake many threads at once, their stacks, a verdict.  Appends. */
void storms_text(GString *s, const struct profile *p, const struct selection *selection,
		 const struct text_options *options);

/* `offcpu report --critical`: for people, and as JSON (docs/wait-graph.md). */
void critical_text(GString *s, const struct critical *c, const struct text_options *options);
void critical_json(GString *out, const struct critical *c);

/* The chains of wakers, by names, as timelines: the `max` longest.  Nothing where there are none. */
void chains_text(GString *out, const struct profile *p, const struct actors *actors, const struct selection *selection,
		 unsigned max);

/* A population of tasks for people: findings first, then reasons, what is idle, stacks, what is missing.  Appends. */
void text_tasks(GString *s, const struct tasks *t, const struct text_options *options);

/* The same of each population of a recording. */
void text_tasks_of(GString *s, const struct profile *p, const struct selection *selection,
		   const struct text_options *options);
/* One sentence of each for the first screen, of the largest ones. */
void text_tasks_first(GString *s, const struct profile *p, const struct selection *selection,
		      const struct text_options *options);

#endif
