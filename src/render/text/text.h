/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_H
#define RENDER_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyse/accounts.h"
#include "analyse/actors.h"
#include "analyse/query.h"
#include "analyse/top.h"
#include "analyse/tree.h"
#include "explain/explain.h"
#include "explain/findings.h"
#include "features/critical/analysis.h"
#include "features/follow/findings.h"
#include "features/requests/analysis_cells.h"
#include "features/tasks/rows.h"
#include "features/whatif/findings.h"
#include "profile/profile.h"
#include "render/drain.h"
#include "render/text/folded.h"

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

/* What stands first of a recording, in the report and on the page.  Both append. */

/* "mariadbd (1736)", "postgres (12 processes)", "5 processes". */
void text_target(GString *s, const struct findings *f);
/* "exact, complete"; "short waits sampled, 0.3% lost". */
void text_verdict(GString *s, const struct profile *p);

/* A paragraph for each chain, a sentence for each hop.  Appends. */
void text_follow(GString *s, const GPtrArray *chains, const struct text_options *options);

/* Requests of a history: of each name a sentence, a table over time, and what all and the slowest were spent on. */
void latency_text(GString *s, const struct request_line *l, const struct text_options *o);

void text_whatif(GString *s, const struct whatif *w);
/* One object: rates in thousandths of those now, shares in millionths. */
void whatif_json(GString *s, const struct whatif *w);

/* Of rows of stacks: what their waits are for, and who ended them. */
struct stack_why;

struct stack_why *stack_why_new(const struct profile *p);	/* borrows p */
void stack_why_free(struct stack_why *why);			/* NULL is fine */

/* "     lock.mutex; woken by io_writer (4711) in flush_log 92%, irq:virtio0 8%", or less where less is known. */
void stack_why_text(GString *s, const struct stack_why *why, const struct top_row *row, const struct text_options *o);

/*
 * `offcpu report --csv`: a header, then one row per wait, fields quoted as RFC 4180 says, lines
 * ended by LF.  Stacks are one field, frames joined by ';', root first, ';' in names as ':'.
 * Control characters are escaped as in the text report.  Appends; selection NULL: everything.
 * options: how frames are spelled, see folded_names_new().
 */
void csv_waits(GString *out, const struct profile *p, const struct selection *selection,
	       const struct folded_options *options, const struct drain *drain);

/*
 * Appends s as one field, in quotes when it needs them.  NULL is empty.  One that begins with = + - @ or a tab begins with
 * an apostrophe, so that no spreadsheet takes a name for a formula.
 */
void csv_field(GString *out, const char *s);

#define MARKDOWN_LINES 60

/*
 * `offcpu report --markdown`, for an issue or a chat: the findings, a table of processes, and folded away the heaviest
 * stacks; at most MARKDOWN_LINES lines.  Appends.  `query` is what `selection` came from; both NULL: everything.
 */
void markdown_report(GString *s, const struct profile *p, const struct query *query, const struct selection *selection);

/* One text that stands for itself in Markdown: no markup, no link, no mention.  is_ours: `code` in it is code. */
void markdown_escape(GString *s, const char *text, bool is_ours);

/*
 * The heaviest paths of a tree, as at most so many lines: share and functions, indented below those that they share.
 * runtime: labels of functions that are no program's own; of these only what a program calls is shown.
 */
void text_tree(GString *s, const struct tree *t, GHashTable *runtime, unsigned lines_max);

/* Between the files that make the text report. */

static inline const char *text_bold(const struct text_options *o) { return o->colour ? "\033[1m" : ""; }
static inline const char *text_dim(const struct text_options *o) { return o->colour ? "\033[2m" : ""; }
static inline const char *text_warn(const struct text_options *o) { return o->colour ? "\033[33m" : ""; }
static inline const char *text_plain(const struct text_options *o) { return o->colour ? "\033[0m" : ""; }

/* A heading of a section, after an empty line. */
void text_section(GString *s, const struct text_options *o, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Columns left of o->width after `used`, at least 20; 0 when nothing is cut. */
unsigned text_room(const struct text_options *o, unsigned used);

/* Columns of the screen: the terminal's, at most; 80 where it is none. */
unsigned text_screen_width(const struct text_options *options);

/* Appends a text in lines of at most `width` columns, broken at blanks; `indent` stands before all but the first. */
void text_wrap(GString *s, const char *text, const char *indent, unsigned width);
/* The same of whole lines, on a terminal; elsewhere they stay as they are. */
void text_fit(GString *s, const char *lines, const char *indent, const struct text_options *options);

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

/* Histograms as bcc's cpudist and runqlat print them, for `offcpu hist`. */

enum hist_unit { HIST_US = 0, HIST_NS, HIST_MS };

/* One histogram: PROFILE_HIST_SLOTS powers of two of nanoseconds. */
struct hist_row {
	const char *label;	/* "pid = 123 mysqld": a line above; NULL: none.  Not escaped */
	uint32_t pid, tid;	/* for JSON; 0: of no one in particular */
	const char *comm;	/* for JSON; NULL: null */
	const uint64_t *slots;
	uint64_t sum_ns, max_ns;	/* of all durations */
};

/*
 * Appends
 *
 *      usecs               : count     distribution
 *          0 -> 1          : 0        |                                        |
 *          2 -> 4          : 12       |****************************************|
 *
 *     count 12, total 33.1 us, mean 2.76 us, median 2.76 us, p99 3.41 us, max 3.42 us
 *
 * The buckets are the recorded ones, powers of two of nanoseconds, so that no count is
 * guessed: in usecs and msecs their bounds are printed cut to whole units (65 -> 131), and
 * those below one unit are one bucket.  Rows run from the first bucket to the last filled one.
 */
void hist_text(GString *s, const struct hist_row *row, enum hist_unit unit);

/*
 * Appends {"schema":1,"what":...,"interval":{"start_unix_ns":...,"duration_ns":...},"histograms":
 * [{"pid":...,"tid":...,"comm":...,"count":...,"sum_ns":...,"max_ns":...,
 * "log2_ns":[[exponent,count],...]}]}
 * and a newline; pid and tid are null where 0.
 */
void hist_json(GString *s, const char *what, uint64_t start_unix_ns, uint64_t duration_ns,
	       const struct hist_row *rows, unsigned rows_cnt);

/*
 * The text of bcc's offcputime, for `offcpu trace`.  Waits summed per thread (comm, tid) and
 * stacks, whatever their state; per sum: kernel frames innermost first, user frames innermost
 * first, then
 *
 *     -                comm (tid)
 *         MICROSECONDS
 *
 * and an empty line.  Ascending, the largest last.  delimiter: a line "    --" between kernel
 * and user frames where both are.  Appends; selection NULL: everything.
 */
void trace_text(GString *s, const struct profile *p, const struct selection *selection, bool delimiter);

/*
 * `offcpu trace --offwake`: per wait and waker, the waker and its stacks, outermost first; "--"; the sleeper's,
 * innermost first; the sleeper; microseconds from falling asleep to the CPU. Ascending.  Where no waker is known
 * "[unknown]" or, where nobody had come yet, "[still asleep]" stands for it.  only_waker: `--wakeup`, without the
 * sleeper's stacks.  Appends.
 */
void trace_wakers_text(GString *s, const struct profile *p, bool only_waker);

#endif
