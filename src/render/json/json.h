/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_H
#define RENDER_JSON_H

#include "analyse/query.h"
#include "profile/profile.h"
#include "profile/tasks.h"
#include "render/drain.h"

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

#endif
