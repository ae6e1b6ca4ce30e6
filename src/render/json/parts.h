/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_PARTS_H
#define RENDER_JSON_PARTS_H

#include "analyse/query.h"
#include "analyse/top.h"
#include "analyse/wait_groups.h"
#include "explain/explain.h"
#include "features/requests/analysis_causes.h"
#include "profile/profile.h"
#include "render/drain.h"
#include "render/json/write.h"

/* Between the files that make the JSON report. */

/* What everything about waits is written from. */
struct wait_writer {
	const struct explanation *explanation;
	const struct reasons *reasons;
	const struct profile *p;
	GPtrArray *frames;
	GArray *path;
	struct wakes_by_wait *wakes;
	struct stories_by_wake *stories;
};

/* The frames of a stack as the member `key`. */
void json_stack(struct json *j, const struct wait_writer *w, const char *key, uint32_t node);
/* Members that say who a waker is. */
void json_who(struct json *j, const struct waker *waker);

/* summary.c: members `key`, what people are told first, and "little", why nothing is. */
void json_headlines(struct json *j, const char *key, const struct explanation *e);
uint64_t json_share_ppm(uint64_t part, uint64_t whole);
/* Members: a process and the parts of its time. */
void json_process_parts(struct json *j, const struct finding_class *c);
/* Member "longest" where the group's longest wait is known by itself: not of a range. */
void json_longest(struct json *j, const struct profile *p, const struct wait_group *h);
/* What is selected and does not idle, as a selection of its own. */
struct selection *json_without_idle(const struct findings *f);
/* findings.c: one object each, of the report's "findings", "budget" and "task_findings". */
/* A member "tcp", of a finding that waits for a TCP socket; the rows of all, as a member "tcp_waits". */
void json_tcp_shares(struct json *j, const struct findings *f, const struct finding *row);
void json_tcp_waits(struct json *j, const struct profile *p, const struct selection *selection);
void json_finding(struct json *j, const struct findings *f, const struct finding *row);
void json_process(struct json *j, const struct finding_class *c);
void json_task_wait(struct json *j, const struct task_wait *w);
/* findings.c: members "headlines", "findings", "budget" and "reasons" of the report. */
void json_findings(struct json *j, const struct explanation *e);
void json_reasons(struct json *j, const struct top *reasons);
/* Members median_ns, p90_ns, p99_ns and max_ns, which is null where durations are known and the longest is not. */
void json_percentiles(struct json *j, const uint64_t *hist, uint64_t sum_ns, uint64_t max_ns);

/* json_crowd.c: members "runq_blame" and "storms" of the report; nothing where they were not recorded. */
void json_runq_blame(struct json *j, const struct profile *p, const struct selection *selection);
/* Nothing of a recording without requests. */
void json_requests(struct json *j, const struct profile *p);
/* Members of a function's requests; and of one span. */
void json_request(struct json *j, const struct request_row *row);
void json_span(struct json *j, const struct profile *p, const struct span_top *top);
/* The same of one without tasks.  drain: as of the report, NULL without. */
void json_tasks(struct json *j, const struct profile *p, const struct selection *selection, const struct drain *drain);
void json_storms(struct json *j, const struct wait_writer *w, const struct selection *selection);

/* Rows as they come, or heaviest first, up to some size. */
struct json_rows {
	const struct drain *drain;
	uint32_t *order;	/* NULL: as they come */
	size_t max_bytes;	/* of the whole text; 0: no bound */
	uint64_t left_rows, left_cnt, left_ns, left_on_cpu_ns;
};

#endif
