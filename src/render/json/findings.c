/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>

#include "explain/sentence.h"
#include "features/wakers/analysis.h"
#include "render/json/parts.h"
#include "render/json/write.h"

void json_percentiles(struct json *j, const uint64_t *hist, uint64_t sum_ns, uint64_t max_ns)
{
	json_member_uint(j, "median_ns", wait_percentile_ns(hist, 0.5, sum_ns, max_ns));
	json_member_uint(j, "p90_ns", wait_percentile_ns(hist, 0.9, sum_ns, max_ns));
	json_member_uint(j, "p99_ns", wait_percentile_ns(hist, 0.99, sum_ns, max_ns));
	json_member_known(j, "max_ns", max_ns, max_ns || !waker_percentile_ns(hist, 1));
}

static void write_function(struct json *j, const struct profile *p, const char *key, int64_t frame)
{
	const struct frame *f = frame >= 0 ? profile_get_frame(p, (uint32_t)frame) : NULL;

	json_key(j, key);
	if (!f) {
		json_null(j);
		return;
	}
	JSON_OBJECT(j, "name", f->name, "module", f->module, "file", f->file, "line", f->line);
}

/* What the threads that are waited for do, also in other processes through sockets. */
static void write_followed(struct json *j, const struct findings *f, const struct finding *row)
{
	const struct finding *hops[FINDING_HOPS_MAX];
	unsigned cnt = finding_follow(f, row, hops);

	if (!cnt)
		return;
	JSON_ARRAY(j, "followed")
		for (unsigned i = 0; i < cnt; i++) {
			const struct finding_by *by = &hops[i]->by;

			json_object_begin(j);
			JSON(j, "comm", by->comm, "pid", by->pid, "waited_for_ns", hops[i]->time_ns);
			JSON(j, "meanwhile", reason_name(by->does), "meanwhile_ns", by->does_ns);
			write_function(j, f->profile, "meanwhile_function", by->does_frame);
			json_object_end(j);
		}
}

static void write_by(struct json *j, const struct findings *f, const struct finding *row)
{
	const struct finding_by *by = &row->by;
	const struct profile *p = f->profile;
	bool is_held = finding_is_held(f, row);

	json_key(j, "by");
	if (!by->comm) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	JSON(j, "role", is_held ? "holder" : "waker", "comm", by->comm);
	json_member_bool(j, "several", by->threads_cnt > 1 || by->is_kind || by->is_program);
	json_member_known(j, "pid", by->pid, by->pid && !by->is_program);
	json_member_known(j, "tid", by->tid, by->tid && by->threads_cnt == 1 && !by->is_kind && !by->is_program);
	json_member_uint(j, "blocked_ns", by->blocked_ns);
	write_function(j, p, "function", by->frame);
	json_member_text(j, "place", by->place);
	if (by->does_ns) {
		JSON(j, "meanwhile", reason_name(by->does), "meanwhile_ns", by->does_ns, "off_cpu_ns", by->off_cpu_ns);
		write_function(j, p, "meanwhile_function", by->does_frame);
		write_followed(j, f, row);
	}
	json_object_end(j);
}

static const char *busy_name(enum finding_busy busy)
{
	switch (busy) {
	case BUSY_POOL: return "pool";
	case BUSY_SPIN: return "spin";
	case BUSY_ALONE: return "alone";
	case BUSY_REFUSES: return "refuses";
	default: return "loop";
	}
}

static void write_busy(struct json *j, const struct finding *row)
{
	JSON(j, "busy", busy_name(row->busy), "busy_rule", row->busy_rule ? row->busy_rule->name : NULL);
	JSON(j, "observed_ns", row->observed_ns, "on_cpu_ns", row->on_cpu_ns, "run_queue_ns", row->queue_ns);
}

static void write_limit(struct json *j, const struct finding *row)
{
	static const char *const kinds[LIMIT_KIND_COUNT] = {
		[LIMIT_STOPPED] = "stopped_peer", [LIMIT_CPUS] = "cpus",     [LIMIT_QUOTA] = "cpu_quota",
		[LIMIT_DISK] = "disk",		  [LIMIT_MEMORY] = "memory",
		[LIMIT_FROZEN] = "frozen",	  [LIMIT_POLICY] = "policy",
		[LIMIT_POOL] = "pool",		  [LIMIT_CONNECT] = "failed_connects",
		[LIMIT_LOSS] = "packet_loss",	  [LIMIT_BACKLOG] = "backlog",	  [LIMIT_FULL] = "full_queue",
		[LIMIT_OWED] = "few_connections", [LIMIT_NAGLE] = "nagle",	  [LIMIT_CYCLE] = "waits_for_each_other",
		[LIMIT_SLACK] = "timer_slack",	  [LIMIT_GONE] = "holder_ended",
		[LIMIT_CHILD] = "child",	  [LIMIT_FILES] = "descriptors",  [LIMIT_TASKS] = "processes",
		[LIMIT_SEMAPHORE] = "semaphore",  [LIMIT_WEIGHT] = "cpu_weight",
		[LIMIT_FAILS] = "failing_call",
	};
	const struct profile_limit *l = row->limit.limit;

	if (!l)
		return;
	json_member_object(j, "limit");
	JSON(j, "kind", kinds[l->kind], "pid", l->kind == LIMIT_STOPPED ? limit_stopped_pid(l) : l->pid, "text", l->text);
	if (l->kind == LIMIT_CPUS)
		json_member_uint(j, "threads", row->limit.threads_cnt);
	json_object_end(j);
}

void json_finding(struct json *j, const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const struct rule *rule = reasons_rule(f->reasons, row->wait);
	bool is_cpu = reason_family(row->reason) == FAMILY_CPU && !row->is_yield;
	bool is_of_reason = is_cpu || row->busy;	/* the text is about the reason, not about a rule */

	json_object_begin(j);
	JSON(j, "reason", reason_name(row->reason), "process", row->process);
	json_member_known(j, "pid", row->pid, row->pid);
	JSON(j, "says", sentence_says(f, row), "advice", sentence_advice(f, row));
	json_member_string(j, "rule", rule && !is_of_reason ? rule->name : NULL);
	JSON(j, "protocol", is_of_reason ? "" : reasons_protocol(f->reasons, row->wait), "time_ns", row->time_ns);
	if (row->looks) {
		JSON(j, "looks", row->looks, "time_se_ns", (uint64_t)llround(row->time_se_ns));
	} else {
		json_member_uint(j, "count", row->count);
	}
	json_member_uint(j, "threads", row->threads_cnt);
	json_percentiles(j, row->hist, row->durations_ns, row->max_ns);
	if (row->longest && profile_wait(f->profile, row->longest - 1)->max_start_unix_ns)
		json_member_uint(j, "max_start_unix_ns", profile_wait(f->profile, row->longest - 1)->max_start_unix_ns);
	write_function(j, f->profile, "function", is_cpu ? -1 : row->frame);
	JSON(j, "lock", o && !is_cpu && object_is_lock(o) ? o->name : NULL, "object", o && !is_cpu ? o->name : NULL);
	json_member_string(j, "object_kind", o && !is_cpu ? object_kind_text(o->kind) : NULL);
	if (row->route) {
		JSON(j, "route", row->route, "route_ns", row->route_ns, "routes", row->routes_cnt);
	}
	if (row->locks_cnt > 1)
		json_member_uint(j, "locks", row->locks_cnt);
	if (row->asked_frame >= 0)
		write_function(j, f->profile, "asked_by", row->asked_frame);
	JSON(j, "poll_loop", row->is_poll_loop, "broadcast", row->is_broadcast, "yield", row->is_yield);
	json_member_bool(j, "deadlock", row->deadlock);
	if (row->busy)
		write_busy(j, row);
	write_limit(j, row);
	json_tcp_shares(j, f, row);
	if (row->loop)
		json_member_string(j, "holds_up_loop", row->loop->name);
	if (row->loop_on_cpu_ns) {
		json_member_uint(j, "loop_on_cpu_ns", row->loop_on_cpu_ns);
		write_function(j, f->profile, "loop_on_cpu_function", row->loop_on_cpu_frame);
	}
	write_by(j, f, row);
	json_object_end(j);
}

void json_process(struct json *j, const struct finding_class *c)
{
	json_object_begin(j);
	json_member_string(j, "process", c->process);
	json_member_known(j, "pid", c->pid, c->pid);
	JSON(j, "processes", c->processes_cnt, "threads", c->threads_cnt, "observed_ns", c->observed_ns);
	JSON(j, "on_cpu_ns", c->on_cpu_ns, "run_queue_ns", c->queue_ns, "throttled_ns", c->throttled_ns);
	JSON(j, "idle_ns", c->idle_ns, "not_listed_ns", c->unlisted_ns);
	json_member_int(j, "residual_ns", c->residual_ns);
	json_member_object(j, "matters_ns");
	for (unsigned i = 0; i < FAMILY_COUNT; i++) {
		if (c->family_ns[i])
			json_member_uint(j, reason_family_name((enum reason_family)i), c->family_ns[i]);
	}
	json_object_end(j);
	json_percentiles(j, c->hist, c->durations_ns, c->max_ns);
	json_object_end(j);
}

void json_task_wait(struct json *j, const struct task_wait *w)
{
	json_object_begin(j);
	JSON(j, "pid", w->pid, "program", w->program, "says", w->says, "state", w->state, "wait_reason", w->reason);
	JSON(j, "call", w->call, "function", w->function, "file", w->file, "line", w->line, "created_by", w->creator);
	JSON(j, "looks", w->looks, "tasks_milli", (uint64_t)(w->tasks * 1000), "task_ns", w->task_ns);
	json_member_string(j, "meanwhile_function", w->meanwhile ? w->meanwhile->function : NULL);
	json_object_end(j);
}

static void write_task_waits(struct json *j, const struct task_findings *tasks)
{
	JSON_ARRAY(j, "task_findings")
		for (guint i = 0; i < MIN(tasks->cnt, FINDINGS_TOLD_MAX); i++)
			json_task_wait(j, &g_array_index(tasks->rows, struct task_wait, i));
}

void json_findings(struct json *j, const struct explanation *e)
{
	const struct findings *f = e->findings;

	json_headlines(j, "headlines", e);
	if (f->profile->tasks->len)
		write_task_waits(j, e->tasks);
	JSON_ARRAY(j, "findings")
		for (guint i = 0; i < MIN(f->rows->len, FINDINGS_TOLD_MAX); i++)
			json_finding(j, f, &g_array_index(f->rows, struct finding, i));
	json_member_object(j, "budget");
	JSON(j, "matters_ns", f->matters_ns, "blocked_ns", f->blocked_ns, "run_queue_ns", f->queue_ns);
	json_member_object(j, "idle_ns");
	for (unsigned i = IDLE_KERNEL; i < IDLE_KIND_COUNT; i++) {
		if (f->idle_ns[i])
			json_member_uint(j, idle_kind_name((enum idle_kind)i), f->idle_ns[i]);
	}
	json_object_end(j);
	JSON_ROWS(j, "processes", const struct finding_class, row, f->classes)
		json_process(j, row);
	json_object_end(j);
}

static void write_reason(struct json *j, const struct top_row *r)
{
	JSON(j, "reason", r->name, "off_cpu_ns", r->off_cpu_ns, "count", r->count, "threads", r->threads_cnt);
	if (r->reason != REASON_CPU_QUEUE || waker_percentile_ns(r->hist, 1))
		json_percentiles(j, r->hist, r->durations_ns, r->max_ns);
}

void json_reasons(struct json *j, const struct top *reasons)
{
	JSON_ARRAY(j, "reasons")
		for (guint i = 0; !reasons->rows_are && i < reasons->rows->len; i++)
			JSON_IN(j, write_reason(j, &g_array_index(reasons->rows, struct top_row, i)));
}
