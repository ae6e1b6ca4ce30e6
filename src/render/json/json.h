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
 * `offcpu report --json`, schema 1 (docs: the man page of report).  Fields may be added,
 * never changed.  Appends one line; selection NULL: everything.  Threads and coverage are of
 * the selected threads, "waits" of the selected waits.
 */
void json_report_drained(GString *out, const struct profile *p, const struct selection *selection,
			 const struct drain *drain);
/*
 * The same, where it is no longer than max_bytes.  Else rows of waits and samples are heaviest first, as many as half
 * of that and a quarter more have room for; "left_out" sums up the others.  Threads are all told.
 */
void json_report_within(GString *out, const struct profile *p, const struct selection *selection, size_t max_bytes);

/*
 * A population of tasks as one JSON object and a newline, in integer nanoseconds; offcpu-tasks(1) describes it.
 * Appends.
 */
void tasks_json(GString *out, const struct tasks *t);

/* An object with "chains", each of "hops".  Appends. */
void json_follow(GString *out, const GPtrArray *chains);

/* Appends a line, `all` being of incident_list(dir).  The newest first: where there is no room for all, those are wanted. */
void json_incidents(GString *out, const GPtrArray *all, const char *dir);

/* "offcpu.requests/1": requests of a history over time (docs/agent.md). */
void json_latency(GString *out, const struct request_line *l);

/*
 * What a page says first about a profile: the findings as sentences, where the time of each process went, and the top
 * rows.  It is as long as a screen, not as long as the profile.
 */
struct summary_options {
	bool by_wait;	/* rows are who waits and what for (headlines.h), with the heaviest stack */
	enum top_by by;	/* unless by_wait */
	const char *attribute;	/* of trace contexts: it is by that; NULL: by `by` */
	unsigned top;	/* rows; 0: all */
	bool with_idle;	/* idle waits are rows, too */
};

/* Schema "offcpu.summary/1" (docs/serve.md).  Appends one line; selection NULL: everything. */
void json_summary(GString *out, const struct profile *p, const struct selection *selection,
		  const struct summary_options *options);

struct diff_json_options {
	const enum diff_by *tables;	/* which are written */
	unsigned tables_cnt;
	unsigned top;		/* rows of each; 0: all */
	const char *finding;	/* a sentence for people */
	const struct condition *const *conditions;
	const struct condition_result *results;	/* of each */
	unsigned conditions_cnt;
};

/* `offcpu diff --json`, schema "offcpu.diff/1" (docs: the man page of diff).  Appends one line. */
void diff_json(GString *out, struct diff *d, const struct diff_json_options *options);

/* Parts of it, for answers.  Members of a row but for its stack; of a row of diff_requests() and of diff_tasks(). */
void diff_json_row(struct json *j, const struct diff_row *r);
void diff_json_request(struct json *j, const GArray *rows, guint at);
void diff_json_task(struct json *j, const GArray *rows, guint at);
/* As one object. */
void diff_json_condition(struct json *j, const struct condition *c, const struct condition_result *r);
const char *diff_json_norm(const struct diff *d);
int64_t diff_json_rounded(double v);
/* A member in thousandths; null where there is no number. */
void diff_json_milli(struct json *j, const char *key, double v);

/* "offcpu.services/1": all of the graph.  Appends. */
void json_services(GString *out, const struct service_graph *g, uint64_t from_unix_ns, uint64_t to_unix_ns);

#endif
