/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/analysis.h"
#include "features/requests/analysis_causes.h"
#include "features/requests/analysis_routes.h"
#include "render/json/parts.h"

static void write_cause(struct json *j, const struct profile *p, const struct span_top *top)
{
	const struct request_cause *c = &top->cause;

	json_member_object(j, "most");
	JSON(j, "ns", top->ns, "reason", reason_name(c->reason));
	if (c->object)
		json_member_string(j, "object", profile_get_object(p, c->object - 1)->name);
	if (c->frame >= 0 && profile_get_frame(p, (uint32_t)c->frame)->name)
		json_member_string(j, "function", profile_get_frame(p, (uint32_t)c->frame)->name);
	json_object_end(j);
}

void json_span(struct json *j, const struct profile *p, const struct span_top *top)
{
	const struct request_span *s = profile_span(p, top->span);
	const struct thread *t = profile_thread(p, s->thread);

	JSON(j, "pid", t->pid, "tid", t->tid);
	JSON_UINTS(j, s, start_ns, wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
	JSON(j, "nested", (bool)(s->flags & OFFCPU_SPAN_NESTED), "recursed", (bool)(s->flags & OFFCPU_SPAN_RECURSED));
	JSON(j, "thrown", (bool)(s->flags & OFFCPU_SPAN_THROWN), "slowest", (bool)(s->flags & OFFCPU_SPAN_SLOWEST));
	write_cause(j, p, top);
}

static void write_span(struct json *j, const struct profile *p, struct routes *routes, const struct span_top *top)
{
	const struct request_span *s = profile_span(p, top->span);
	const char *route = request_route(routes, p, s);
	const char *span = NULL, *trace = routes ? request_trace(p, s, &span) : NULL;

	json_member_uint(j, "request", s->func);
	json_span(j, p, top);
	json_member_text(j, "route", route);
	if (trace) {
		JSON(j, "trace_id", trace, "span_id", span ? span : "");
	}
}

void json_request(struct json *j, const struct request_row *row)
{
	const struct offcpu_request_times *all = &row->sum.all;

	JSON(j, "name", row->name, "file", row->file);
	JSON_UINTS(j, all, count, wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
	JSON(j, "slow", row->sum.slow.count, "thrown", row->sum.unwound_cnt);
	JSON(j, "p50_ns", request_percentile(&row->sum, 0.5), "p99_ns", request_percentile(&row->sum, 0.99));
	json_member_uint(j, "max_ns", row->sum.max_ns);
}

void json_requests(struct json *j, const struct profile *p)
{
	g_autoptr(GArray) spans = NULL;
	struct routes *routes;

	if (!p->requests->len)
		return;
	routes = routes_new(p);
	spans = request_slowest(p, -1, 0);
	JSON_ARRAY(j, "requests")
		for (guint i = 0; i < p->requests->len; i++) {
			json_object_begin(j);
			json_request(j, profile_request(p, i));
			json_object_end(j);
		}
	JSON_ROWS(j, "spans", const struct span_top, row, spans)
		JSON_IN(j, write_span(j, p, routes, row));
	routes_free(routes);
}
