/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_REQUEST_H
#define RENDER_REQUEST_H

#include "features/requests/analysis.h"
#include "features/requests/analysis_causes.h"
#include "features/requests/rows.h"
#include "render/text/text.h"

/* Requests for people: while they are traced, and at the end. */

/*
 * "dispatch_command latency (ns):" and its distribution as DTrace draws it; of several functions one after the other.
 */
void request_interval_text(GString *s, const struct request_row *rows, unsigned cnt);

/* One line: name, count, mean, p50, p99, max; and the heading of such lines. */
void request_line_heading(GString *s);
void request_line_text(GString *s, const char *time, const struct request_row *row);

/* A row of a table: how many, times, and the name in what is left of the line. */
#define REQUEST_CELL 9
void request_times_text(GString *s, const char *count, const uint64_t *times, unsigned cnt, const char *name,
			const struct text_options *options);

struct request_summary {
	const struct request_row *rows;
	unsigned rows_cnt;
	bool has_calls;		/* of the rows */
	bool by_goroutine;	/* what is in none of the times is parked, on no thread */
	const struct profile *p;	/* for what it was parked for */
	uint64_t start_ns, duration_ns;	/* of the window; the first by CLOCK_MONOTONIC */
	uint64_t slower_ns;	/* 0: all requests' waits are listed */
	const struct offcpu_loss_count *counts;	/* OFFCPU_REQUEST_COUNT of them */
	/* those that go on as the window ends; how long the longest has been */
	uint64_t open_cnt, open_longest_ns;
	bool open_is_longer;	/* it has been longer than that */
	const char *open_name;	/* its function's; NULL: there is none, or it is not known */
	unsigned site_cnt, refused_cnt;
	const char *refused_why;	/* may be NULL */
};

/* Calls, latencies, what a request's time is made of, what is in no sum. */
void request_summary_text(GString *s, const struct request_summary *r, const struct text_options *options);
/* The waits inside of requests: p has no others. */
void request_waits_text(GString *s, const struct request_summary *r, const struct text_options *options);

/* What is different in the slowest 1% of a function's requests; nothing where they are too few or too much alike. */
void request_tail_text(GString *s, const struct profile *p, uint32_t func, const struct text_options *options);
/* "sleep LOCK_x in Item_func_sleep::val_int()", cut to so many columns. */
void request_cause_text(GString *s, const struct profile *p, const struct request_cause *c, unsigned width);

/* What those wait for that go on as the window ends: a few lines, the most first; nothing where none waits. */
void requests_open_text(GString *s, const struct profile *p, const struct text_options *options);
/* The same below a heading, of a recording. */
void requests_open_head_text(GString *s, const struct profile *p, const struct text_options *options);
/* Of a recording that has requests: for the first screen, a few lines at most. */
void requests_first_text(GString *s, const struct profile *p, const struct text_options *options);
/*
 * Each function's requests, and the slowest single ones with their parts and what took most of them; options->top of
 * these, 0 all.
 */
void requests_table_text(GString *s, const struct profile *p, const struct text_options *options);
/* Requests by the routes that their threads' trace contexts tell, and of each route the slowest; options->top of these. */
void requests_routes_text(GString *s, const struct profile *p, const struct text_options *options);
/* What is different in the slowest 1%, of each function. */
void requests_tails_text(GString *s, const struct profile *p, const struct text_options *options);

/* All of the summary, in integer nanoseconds, as one line. */
void request_summary_json(GString *s, const struct request_summary *r);

#endif
