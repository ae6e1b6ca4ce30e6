/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_H
#define RENDER_JSON_H

#include <glib.h>

#include "analyse/diff/condition.h"
#include "analyse/diff/diff.h"
#include "analyse/query.h"
#include "analyse/top.h"
#include "features/follow/findings.h"
#include "features/requests/analysis_cells.h"
#include "features/servicemap/findings.h"
#include "features/tasks/rows.h"
#include "profile/profile.h"
#include "render/drain.h"
#include "render/json/write.h"

/*
 * `offcpu report --json`, schema 1 (see offcpu-report(1)).  Fields may be added but never changed.  Appends one line.
 * selection NULL: everything.  Threads and coverage are of the selected threads, "waits" of the selected waits.
 */
void json_report_drained(GString *out, const struct profile *p, const struct selection *selection,
			 const struct drain *drain);
/*
 * The same within max_bytes.  If needed, only the heaviest rows of waits and samples are written, up to half of
 * max_bytes and another quarter; "left_out" sums up the others.  Threads are always complete.
 */
void json_report_within(GString *out, const struct profile *p, const struct selection *selection, size_t max_bytes);

/* Appends a task population as one JSON object and a newline, in integer nanoseconds; see offcpu-tasks(1). */
void tasks_json(GString *out, const struct tasks *t);

/* Appends an object with "chains", each with "hops". */
void json_follow(GString *out, const GPtrArray *chains);

/* Appends a line; `all` is incident_list(dir).  Newest first: if there is no room for all, these are wanted. */
void json_incidents(GString *out, const GPtrArray *all, const char *dir);

/* "offcpu.requests/1": requests of a history over time (docs/agent.md). */
void json_latency(GString *out, const struct request_line *l);

/*
 * What a page shows first: the findings as sentences, where each process's time went, and the top rows.  Its length
 * does not depend on the profile.
 */
struct summary_options {
	bool by_wait;	/* rows are who waits for what (explain/explain.h), with the heaviest stack */
	enum top_by by;	/* ignored if by_wait */
	const char *attribute;	/* an attribute of trace contexts to group by; NULL: group by `by` */
	unsigned top;	/* maximum number of rows; 0: all */
	bool with_idle;	/* also show idle waits */
};

/* Schema "offcpu.summary/1" (docs/serve.md).  Appends one line.  selection NULL: everything. */
void json_summary(GString *out, const struct profile *p, const struct selection *selection,
		  const struct summary_options *options);

struct diff_json_options {
	const enum diff_by *tables;	/* the tables to write */
	unsigned tables_cnt;
	unsigned top;		/* rows per table; 0: all */
	const char *finding;	/* a sentence */
	const struct condition *const *conditions;
	const struct condition_result *results;	/* for each condition */
	unsigned conditions_cnt;
};

/* `offcpu diff --json`, schema "offcpu.diff/1" (see offcpu-diff(1)).  Appends one line. */
void diff_json(GString *out, struct diff *d, const struct diff_json_options *options);

/*
 * Parts of it, for answers: members of a row without its stack, of a row of diff_requests(), of a row of diff_tasks().
 */
void diff_json_row(struct json *j, const struct diff_row *r);
void diff_json_request(struct json *j, const GArray *rows, guint at);
void diff_json_task(struct json *j, const GArray *rows, guint at);
/* A condition as an object. */
void diff_json_condition(struct json *j, const struct condition *c, const struct condition_result *r);
const char *diff_json_norm(const struct diff *d);
int64_t diff_json_rounded(double v);
/* Writes a member in thousandths; null if v is not a number. */
void diff_json_milli(struct json *j, const char *key, double v);

/* "offcpu.services/1": appends the whole graph. */
void json_services(GString *out, const struct service_graph *g, uint64_t from_unix_ns, uint64_t to_unix_ns);

#endif
