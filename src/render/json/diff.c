/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include <math.h>

int64_t diff_json_rounded(double v)
{
	return v >= 9e18 ? INT64_MAX : v <= -9e18 ? INT64_MIN : llround(v);
}

void diff_json_milli(struct json *j, const char *key, double v)
{
	json_key(j, key);
	if (isfinite(v))
		json_int(j, diff_json_rounded(1000 * v));
	else
		json_null(j);
}

static void write_amount(struct json *j, const char *key, const struct diff_amount *a)
{
	json_member_object(j, key);
	json_member_uint(j, "off_cpu_ns", a->off_cpu_ns);
	json_member_int(j, "scaled_ns", diff_json_rounded(a->scaled_ns));
	json_member_int(j, "scaled_se_ns", diff_json_rounded(a->scaled_se_ns));
	JSON(j, "count", a->count, "threads", a->threads_cnt, "whole_count", a->whole_cnt);
	json_member_int(j, "mean_ns", diff_json_rounded(a->mean_ns));
	json_member_int(j, "each_ns", diff_json_rounded(a->each_ns));
	json_member_int(j, "p50_ns", diff_json_rounded(diff_quantile(a, 0.5)));
	json_member_int(j, "p90_ns", diff_json_rounded(diff_quantile(a, 0.9)));
	json_member_int(j, "p99_ns", diff_json_rounded(diff_quantile(a, 0.99)));
	json_member_uint(j, "max_ns", a->max_ns);
	json_object_end(j);
}

static void write_change(struct json *j, const char *key, const struct diff_change *c, double percent)
{
	json_member_object(j, key);
	json_member_bool(j, "is_change", c->is_real);
	json_member_int(j, "by_ns", diff_json_rounded(c->by));
	json_member_int(j, "se_ns", diff_json_rounded(c->se));
	diff_json_milli(j, "percent_milli", percent);
	diff_json_milli(j, "z_milli", c->t);
	json_object_end(j);
}

/* The frames, outermost first, without the thread's name. */
static void write_stack(struct json *j, const char *key, const struct tree *t, uint32_t node)
{
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (; node && tree_node(t, node)->parent; node = tree_node(t, node)->parent)
		g_array_append_val(path, node);
	JSON_ARRAY(j, key)
		for (unsigned i = path->len; i-- > 0;)
			json_string(j, tree_node_label(t, g_array_index(path, uint32_t, i))->text);
}

void diff_json_row(struct json *j, const struct diff_row *r)
{
	json_member_string(j, "name", r->name);
	json_member_text(j, "comm", r->comm);
	JSON(j, "fate", r->fate == DIFF_ON_BOTH ? "both" : diff_fate_name(r->fate), "is_tested", r->is_tested);
	write_change(j, "time", &r->time, diff_percent(r));
	write_change(j, "each", &r->each, diff_each_percent(r));
	write_amount(j, "before", &r->side[DIFF_BEFORE]);
	write_amount(j, "after", &r->side[DIFF_AFTER]);
}

static void write_row(struct json *j, const struct diff *d, enum diff_by by, const struct diff_row *r)
{
	diff_json_row(j, r);
	if (by == DIFF_BY_STACK) {
		write_stack(j, "stack", d->tree, r->key);
		if (r->was)
			write_stack(j, "stack_before", d->tree, r->was);
	}
}

static void write_side(struct json *j, const char *key, const struct diff *d, enum diff_side side)
{
	const struct diff_input *in = &d->in[side];
	const struct profile_info *info = &in->profile->info;
	uint64_t lost = 0;

	for (unsigned i = 0; i < in->profile->losses->len; i++)
		lost += g_array_index(in->profile->losses, struct profile_loss, i).count;
	json_member_object(j, key);
	JSON(j, "recording", in->name, "filters", in->filters ? in->filters : "", "host", info->host);
	json_member_string(j, "kernel", info->kernel);
	JSON_UINTS(j, info, cpus, start_unix_ns, duration_ns);
	JSON(j, "threads", d->threads_cnt[side], "observed_ns", d->observed_ns[side]);
	if (d->options.norm == DIFF_PER_REQUEST)
		json_member_uint(j, "requests", in->requests);
	JSON(j, "is_sampled", (bool)profile_is_sampled(in->profile), "lost_events", lost);
	json_member_uint(j, "lost_stacks_ns", d->lost_ns[side]);
	json_object_end(j);
}

static void write_latency(struct json *j, const char *key, const struct diff_latency *l)
{
	json_member_object(j, key);
	json_member_uint(j, "count", l->count);
	json_member_int(j, "mean_ns", diff_json_rounded(l->mean_ns));
	json_member_int(j, "mean_se_ns", diff_json_rounded(l->mean_se_ns));
	JSON_UINTS(j, l, p50_ns, p99_ns, max_ns);
	json_object_end(j);
}

/* Writes an array of objects; `one` writes the members of each. */
static void write_objects(struct json *j, const char *key, const GArray *rows,
			  void (*one)(struct json *j, const GArray *rows, guint at))
{
	JSON_ARRAY(j, key)
		for (guint i = 0; i < rows->len; i++) {
			json_object_begin(j);
			one(j, rows, i);
			json_object_end(j);
		}
}

void diff_json_request(struct json *j, const GArray *rows, guint at)
{
	const struct diff_request *r = &g_array_index(rows, struct diff_request, at);

	json_member_string(j, "name", r->name);
	write_latency(j, "before", &r->side[DIFF_BEFORE]);
	write_latency(j, "after", &r->side[DIFF_AFTER]);
}

void diff_json_task(struct json *j, const GArray *rows, guint at)
{
	const struct diff_task *t = &g_array_index(rows, struct diff_task, at);

	JSON(j, "program", t->program, "kind", tasks_kind_name(t->kind), "state", t->state, "reason", t->reason);
	JSON(j, "own", t->at, "call", t->call, "creator", t->creator);
	diff_json_milli(j, "before_tasks_milli", t->tasks[DIFF_BEFORE]);
	diff_json_milli(j, "after_tasks_milli", t->tasks[DIFF_AFTER]);
	diff_json_milli(j, "change_se_milli", sqrt(t->variance[DIFF_BEFORE] + t->variance[DIFF_AFTER]));
	json_member_bool(j, "is_change", t->is_real);
}

static void write_table(struct json *j, struct diff *d, enum diff_by by, unsigned top)
{
	const struct diff_table *t = diff_table(d, by);
	unsigned cnt = top ? MIN(top, t->rows->len) : t->rows->len;

	json_member_object(j, diff_by_name(by));
	JSON(j, "rows_total", t->rows->len, "tested", t->tested_cnt, "changed", t->real_cnt);
	JSON_ARRAY(j, "rows")
		for (unsigned i = 0; i < cnt; i++)
			JSON_IN(j, write_row(j, d, by, &g_array_index(t->rows, struct diff_row, i)));
	json_object_end(j);
}

void diff_json_condition(struct json *j, const struct condition *c, const struct condition_result *r)
{
	bool is_count = c->metric == CONDITION_COUNT;

	json_object_begin(j);
	JSON(j, "condition", c->text, "metric", condition_metric_name(c->metric), "is_true", r->is_true);
	JSON(j, "has_waits", r->has_waits, "is_beyond_threshold", r->is_beyond, "is_change", r->change.is_real);
	diff_json_milli(j, "percent_milli", r->percent);
	if (is_count) {	/* normalised, so not whole numbers */
		diff_json_milli(j, "before_milli", r->value[DIFF_BEFORE]);
		diff_json_milli(j, "after_milli", r->value[DIFF_AFTER]);
	} else {
		json_member_int(j, "before_ns", diff_json_rounded(r->value[DIFF_BEFORE]));
		json_member_int(j, "after_ns", diff_json_rounded(r->value[DIFF_AFTER]));
	}
	json_object_end(j);
}

const char *diff_json_norm(const struct diff *d)
{
	static const char *const norms[] = { "thread_minutes", "requests", "none", "whole_runs" };

	return norms[d->options.norm];
}

void diff_json(GString *out, struct diff *d, const struct diff_json_options *options)
{
	g_autoptr(GArray) requests = diff_requests(d), tasks = diff_tasks(d);
	struct json j;

	json_begin(&j, out);
	JSON(&j, "schema", "offcpu.diff/1", "finding", options->finding, "scaled_per", diff_json_norm(d));
	diff_json_milli(&j, "noise_percent_milli", 100 * d->options.noise);
	write_side(&j, "before", d, DIFF_BEFORE);
	write_side(&j, "after", d, DIFF_AFTER);
	if (requests->len)	/* if both recordings have requests */
		write_objects(&j, "requests", requests, diff_json_request);
	if (tasks)	/* if both recordings have tasks */
		write_objects(&j, "tasks", tasks, diff_json_task);
	json_key(&j, "total");
	JSON_IN(&j, write_row(&j, d, DIFF_BY_TOTAL, &d->total));
	json_key(&j, "idle");
	JSON_IN(&j, write_row(&j, d, DIFF_BY_TOTAL, &d->idle));
	json_member_object(&j, "by");
	for (unsigned i = 0; i < options->tables_cnt; i++)
		write_table(&j, d, options->tables[i], options->top);
	json_object_end(&j);
	JSON_ARRAY(&j, "conditions")
		for (unsigned i = 0; i < options->conditions_cnt; i++)
			diff_json_condition(&j, options->conditions[i], &options->results[i]);
	json_end(&j);
}
