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

/* Internal to the JSON report. */

/* Context for writing waits. */
struct wait_writer {
	const struct explanation *explanation;
	const struct reasons *reasons;
	const struct profile *p;
	GPtrArray *frames;
	GArray *path;
	struct wakes_by_wait *wakes;
	struct stories_by_wake *stories;
};

/* The frames of a stack as member `key`. */
void json_stack(struct json *j, const struct wait_writer *w, const char *key, uint32_t node);
/* Members that identify a waker. */
void json_who(struct json *j, const struct waker *waker);

/* summary.c: member `key` with the headlines, and "little", which says why there are none. */
void json_headlines(struct json *j, const char *key, const struct explanation *e);
uint64_t json_share_ppm(uint64_t part, uint64_t whole);
/* Members: a process and how its time divides. */
void json_process_parts(struct json *j, const struct finding_class *c);
/* Member "longest", if the group's longest wait is known; not for a range. */
void json_longest(struct json *j, const struct profile *p, const struct wait_group *h);
/* The selection without idle waits. */
struct selection *json_without_idle(const struct findings *f);
/* findings.c: one object each for "findings", "budget" and "task_findings". */
/* Member "tcp" of a finding that waits for a TCP socket; member "tcp_waits" with all rows. */
void json_tcp_shares(struct json *j, const struct findings *f, const struct finding *row);
void json_tcp_waits(struct json *j, const struct profile *p, const struct selection *selection);
void json_finding(struct json *j, const struct findings *f, const struct finding *row);
void json_process(struct json *j, const struct finding_class *c);
void json_task_wait(struct json *j, const struct task_wait *w);
/* findings.c: members "headlines", "findings", "budget" and "reasons" of the report. */
void json_findings(struct json *j, const struct explanation *e);
void json_reasons(struct json *j, const struct top *reasons);
/* Members median_ns, p90_ns, p99_ns and max_ns; max_ns is null if durations are known but the longest is not. */
void json_percentiles(struct json *j, const uint64_t *hist, uint64_t sum_ns, uint64_t max_ns);

/* features/blame and storms: members "runq_blame" and "storms" of the report; nothing if not recorded. */
void json_runq_blame(struct json *j, const struct profile *p, const struct selection *selection);
/* Writes nothing if no requests were recorded. */
void json_requests(struct json *j, const struct profile *p);
/* Members of a function's requests, and of a span. */
void json_request(struct json *j, const struct request_row *row);
void json_span(struct json *j, const struct profile *p, const struct span_top *top);
/* The same for tasks.  drain: as for the report, may be NULL. */
void json_tasks(struct json *j, const struct profile *p, const struct selection *selection, const struct drain *drain);
void json_storms(struct json *j, const struct wait_writer *w, const struct selection *selection);

/* Rows in order, or heaviest first, up to some size. */
struct json_rows {
	const struct drain *drain;
	uint32_t *order;	/* NULL: in order */
	size_t max_bytes;	/* of the whole text; 0: unlimited */
	uint64_t left_rows, left_cnt, left_ns, left_on_cpu_ns;
};

#endif
