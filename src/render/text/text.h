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
	unsigned top;		/* rows per section; 0: all */
	enum top_by by;		/* grouping of the last section */
	const char *attribute;	/* an attribute of trace contexts to group by; NULL: group by `by` */
	enum weight weight;
	bool colour;		/* ANSI escapes */
	unsigned width;		/* columns to cut names to; 0: do not cut */
	bool whys;		/* show for stacks their reason, and who ended the waits */
	bool kernel_frames;	/* show the kernel's entry and scheduler functions (__schedule, do_syscall_64) */
};

/* Appends.  `query` is what `selection` was made from; both NULL: everything. */
void text_report(GString *s, const struct profile *p, const struct query *query,
		 const struct selection *selection, const struct text_options *options);

/* Only the header and the list by options->by. */
void text_ranked(GString *s, const struct profile *p, const struct query *query, const struct selection *selection,
		 const struct text_options *options);

/* What stands above the lists of an imported profile: its origin, and a line with what is unknown. */
void text_imported(GString *to, const struct profile *p, const struct query *query, const struct selection *selection,
		   const struct text_options *options);
/* "     count 3, mean 1.2 s, ..." of a row, as far as known; may append nothing. */
void text_row_numbers(GString *s, uint32_t unknown, const struct top_row *row, bool is_exact);

/* Parts for other commands; all but the first end with a newline. */
/* "2026-11-25 14:00:00 to 15:00:00 +0000, 360 windows, no gaps": for a profile of a history. */
void text_history(GString *s, const struct profile_info *info);
void text_header(GString *s, const struct profile *p, const struct query *query, const struct text_options *options);
void text_coverage(GString *to, const struct profile *p, const struct selection *selection,
		   const struct text_options *options);
/*
 * What was sampled and why, and whether the budget was kept: lines that begin with `indent`; nothing for an exact
 * recording.
 */
/* "sampled at 49 Hz" */
void text_looks_rate(GString *s, const struct profile_info *info);
void text_sampling(GString *s, const struct profile *p, const char *indent);
void text_accounts(GString *s, const struct accounts *a, const struct text_options *options);
void text_headline(GString *s, const struct top *leaves, const struct text_options *options);
void text_top(GString *s, const struct profile *p, const struct top *top, const struct text_options *options);
/* The same as a table, a line per row. */
/* How waits for TCP sockets divide, for objects in the first `shown` rows; nothing if there are none. */
void text_tcp_waits(GString *s, const struct profile *p, const struct top *top, unsigned shown,
		    const struct text_options *options);
void text_groups(GString *s, const struct profile *p, const struct top *top, const struct text_options *options);

/* `offcpu report --runq-blame`: who held the CPU while threads waited for it.  Appends. */
void blame_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options);

/* `offcpu report --locks`: which locks threads waited for, and who held them. */
void locks_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options);

/* `offcpu report --storms`: events that wake many threads at once, with stacks and a verdict.  Appends. */
void storms_text(GString *s, const struct profile *p, const struct selection *selection,
		 const struct text_options *options);

/* `offcpu report --critical`: as text, and as JSON (docs/wait-graph.md). */
void critical_text(GString *s, const struct critical *c, const struct text_options *options);
void critical_json(GString *out, const struct critical *c);

/* The `max` longest chains of wakers, by names, as timelines.  Nothing if there are none. */
void chains_text(GString *out, const struct profile *p, const struct actors *actors, const struct selection *selection,
		 unsigned max);

/* A task population as text: findings first, then reasons, idle time, stacks, and what is missing.  Appends. */
void text_tasks(GString *s, const struct tasks *t, const struct text_options *options);

/* The same for each population of a recording. */
void text_tasks_of(GString *s, const struct profile *p, const struct selection *selection,
		   const struct text_options *options);
/* A sentence on each of the largest populations, for the first screen. */
void text_tasks_first(GString *s, const struct profile *p, const struct selection *selection,
		      const struct text_options *options);

/* The first words on a recording, in report and page.  Both append. */

/* "mariadbd (1736)", "postgres (12 processes)", "5 processes". */
void text_target(GString *s, const struct findings *f);
/* "exact, complete"; "short waits sampled, 0.3% lost". */
void text_verdict(GString *s, const struct profile *p);

/* Appends a paragraph per chain, a sentence per hop. */
void text_follow(GString *s, const GPtrArray *chains, const struct text_options *options);

/*
 * Requests of a history: for each name a sentence, a table over time, and where the time of all and of the slowest
 * went.
 */
void latency_text(GString *s, const struct request_line *l, const struct text_options *o);

void text_whatif(GString *s, const struct whatif *w);
/* One object: rates in thousandths of today's, shares in millionths. */
void whatif_json(GString *s, const struct whatif *w);

/* For rows of stacks: what their waits are for, and who ended them. */
struct stack_why;

struct stack_why *stack_why_new(const struct profile *p);	/* borrows p */
void stack_why_free(struct stack_why *why);			/* NULL is fine */

/* "     lock.mutex; woken by io_writer (4711) in flush_log 92%, irq:virtio0 8%", or less if less is known. */
void stack_why_text(GString *s, const struct stack_why *why, const struct top_row *row, const struct text_options *o);

/*
 * `offcpu report --csv`: a header, then a row per wait; fields are quoted as in RFC 4180, lines end with LF.  A stack
 * is one field: frames joined by ';', root first, ';' in names becomes ':'.  Control characters are escaped as in the
 * text report.  Appends.  selection NULL: everything.  options: how to write frames, see folded_names_new().
 */
void csv_waits(GString *out, const struct profile *p, const struct selection *selection,
	       const struct folded_options *options, const struct drain *drain);

/*
 * Appends s as a field, quoted if needed.  NULL is empty.  A field that begins with = + - @ or a tab gets an
 * apostrophe in front, so that spreadsheets do not evaluate a name as a formula.
 */
void csv_field(GString *out, const char *s);

/*
 * `offcpu report --markdown`, for an issue or a chat: the findings, a table of processes, and the heaviest stacks in a
 * collapsed section; at most 60 lines.  Appends.  `query` is what `selection` was made from; both NULL:
 * everything.
 */
void markdown_report(GString *s, const struct profile *p, const struct query *query, const struct selection *selection);

/* Appends text that Markdown shows literally: no markup, links or mentions.  is_ours: `code` stays code. */
void markdown_escape(GString *s, const char *text, bool is_ours);

/*
 * The heaviest paths of a tree in a limited number of lines: share and functions, indented below the common part.
 * runtime: labels of library functions; of these only those called by the program are shown.
 */
void text_tree(GString *s, const struct tree *t, GHashTable *runtime, unsigned lines_max);

/* Internal to the text report. */

static inline const char *text_bold(const struct text_options *o) { return o->colour ? "\033[1m" : ""; }
static inline const char *text_dim(const struct text_options *o) { return o->colour ? "\033[2m" : ""; }
static inline const char *text_warn(const struct text_options *o) { return o->colour ? "\033[33m" : ""; }
static inline const char *text_plain(const struct text_options *o) { return o->colour ? "\033[0m" : ""; }

/* A section's heading, after an empty line. */
void text_section(GString *s, const struct text_options *o, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Columns left of o->width after `used`, at least 20; 0: unlimited. */
unsigned text_room(const struct text_options *o, unsigned used);

/* Width of the screen: at most the terminal's; 80 without a terminal. */
unsigned text_screen_width(const struct text_options *options);

/* Appends a text in lines of at most `width` columns, broken at blanks; all but the first begin with `indent`. */
void text_wrap(GString *s, const char *text, const char *indent, unsigned width);
/* The same for whole lines on a terminal; elsewhere they are unchanged. */
void text_fit(GString *s, const char *lines, const char *indent, const struct text_options *options);

/*
 * The first screen of `offcpu report`: what was recorded, one to six findings, where each process's time went, idle
 * time, and further commands.  At most FIRST_LINES lines of FIRST_COLUMNS columns, or of options->width.
 */
#define FIRST_LINES 24
#define FIRST_COLUMNS 80

enum idle_choice { IDLE_FOLD = 0, IDLE_KEEP, IDLE_DROP };

struct first_options {
	enum idle_choice idle; /* one line; a bar and a line for each kind; nothing */
	double rate; /* requests per second, 0: not given */
};

/* `query` is what `selection` was made from; both NULL: everything. */
void text_first(GString *s, const struct profile *p, const struct query *query, const struct selection *selection,
		const struct text_options *options, const struct first_options *first);

/* Threads times wall time is on-CPU, run queue, waits that matter, and idle: a line per process. */
void text_budget(GString *s, const struct findings *f, const struct text_options *options, double rate);

/* Parses names in idle_choice's order; false: unknown. */
bool idle_choice_parse(const char *text, enum idle_choice *ret_choice);

/* Histograms in the format of bcc's cpudist and runqlat, for `offcpu hist`. */

enum hist_unit { HIST_US = 0, HIST_NS, HIST_MS };

/* One histogram: PROFILE_HIST_SLOTS powers of two of nanoseconds. */
struct hist_row {
	const char *label;	/* "pid = 123 mysqld": a line above; NULL: none.  Not escaped */
	uint32_t pid, tid;	/* for JSON; 0: not of a single one */
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
 * Buckets are the recorded powers of two of nanoseconds, so no count is interpolated.  In usecs and msecs their bounds
 * are truncated to whole units (65 -> 131), and those below one unit are one bucket.  Rows run from the first bucket
 * to the last one that is not empty.
 */
void hist_text(GString *s, const struct hist_row *row, enum hist_unit unit);

/*
 * Appends {"schema":1,"what":...,"interval":{"start_unix_ns":...,"duration_ns":...},"histograms":
 * [{"pid":...,"tid":...,"comm":...,"count":...,"sum_ns":...,"max_ns":..., "log2_ns":[[exponent,count],...]}]} and a
 * newline; pid and tid are null if 0.
 */
void hist_json(GString *s, const char *what, uint64_t start_unix_ns, uint64_t duration_ns,
	       const struct hist_row *rows, unsigned rows_cnt);

/*
 * The text format of bcc's offcputime, for `offcpu trace`.  Waits are summed per thread (comm, tid) and stacks, over
 * all states.  Each sum has kernel frames, then user frames, innermost first, then
 *
 *     -                comm (tid)
 *         MICROSECONDS
 *
 * and an empty line.  Ascending order.  delimiter: a line "    --" between kernel and user frames if both exist.
 * Appends.  selection NULL: everything.
 */
void trace_text(GString *s, const struct profile *p, const struct selection *selection, bool delimiter);

/*
 * `offcpu trace --offwake`.  For each wait and waker: the waker and its stacks, outermost first; "--"; the sleeper's,
 * innermost first; the sleeper; microseconds from falling asleep to the CPU.  Ascending order.  An unknown waker is
 * "[unknown]", or "[still asleep]" if nobody had woken the thread yet.  only_waker: `--wakeup`, without the sleeper's
 * stacks.  Appends.
 */
void trace_wakers_text(GString *s, const struct profile *p, bool only_waker);

#endif
