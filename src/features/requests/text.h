/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_TEXT_H
#define FEATURES_REQUESTS_TEXT_H

#include "features/requests/analysis.h"
#include "features/requests/analysis_causes.h"
#include "features/requests/rows.h"
#include "render/text/text.h"

/* Requests as text: while they are traced, and at the end. */

/* "dispatch_command latency (ns):" with its distribution, drawn like DTrace's, for each function. */
void request_interval_text(GString *s, const struct request_row *rows, unsigned cnt);

/* One line: name, count, mean, p50, p99, max; and the heading of such lines. */
void request_line_heading(GString *s);
void request_line_text(GString *s, const char *time, const struct request_row *row);

/* A table row: count, times, and the name in the rest of the line. */
#define REQUEST_CELL 9
void request_times_text(GString *s, const char *count, const uint64_t *times, unsigned cnt, const char *name,
			const struct text_options *options);

struct request_summary {
	const struct request_row *rows;
	unsigned rows_cnt;
	bool has_calls;		/* set in the rows */
	bool by_goroutine;	/* time in no class is parked time, on no thread */
	const struct profile *p;	/* for the reasons of parking */
	uint64_t start_ns, duration_ns;	/* of the window; start by CLOCK_MONOTONIC */
	uint64_t slower_ns;	/* 0: waits of all requests are listed */
	const struct offcpu_loss_count *counts;	/* OFFCPU_REQUEST_COUNT elements */
	/* requests open at the window's end, and the age of the longest */
	uint64_t open_cnt, open_longest_ns;
	bool open_is_longer;	/* its age is more than that */
	const char *open_name;	/* function of the longest; NULL: none, or unknown */
	unsigned site_cnt, refused_cnt;
	const char *refused_why;	/* may be NULL */
};

/* Calls, latencies, the split of a request's time, and uncounted requests. */
void request_summary_text(GString *s, const struct request_summary *r, const struct text_options *options);
/* The waits inside of requests, which are all waits of p. */
void request_waits_text(GString *s, const struct request_summary *r, const struct text_options *options);

/* What differs in the slowest 1% of a function's requests. Nothing if they are too few or too similar. */
void request_tail_text(GString *s, const struct profile *p, uint32_t func, const struct text_options *options);
/* "sleep LOCK_x in Item_func_sleep::val_int()", cut to `columns`. */
void request_cause_text(GString *s, const struct profile *p, const struct request_cause *c, unsigned width);

/* What requests open at the window's end wait for: a few lines, longest first, or none. */
void requests_open_text(GString *s, const struct profile *p, const struct text_options *options);
/* The same with a heading, for a recording. */
void requests_open_head_text(GString *s, const struct profile *p, const struct text_options *options);
/* For the first screen of a recording with requests: a few lines. */
void requests_first_text(GString *s, const struct profile *p, const struct text_options *options);
/*
 * Each function's requests, and the slowest single ones with their parts and main cause; at most options->top, 0 for
 * all.
 */
void requests_table_text(GString *s, const struct profile *p, const struct text_options *options);
/* Requests by the routes in their threads' trace contexts, each with its slowest; at most options->top. */
void requests_routes_text(GString *s, const struct profile *p, const struct text_options *options);
/* What differs in the slowest 1%, for each function. */
void requests_tails_text(GString *s, const struct profile *p, const struct text_options *options);

/* The whole summary in integer nanoseconds, as one line. */
void request_summary_json(GString *s, const struct request_summary *r);

#endif
