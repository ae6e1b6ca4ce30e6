/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/top_json.h"

#include "analyse/plumbing.h"
#include "render/json/write.h"

static void write_numbers(struct json *j, const struct activity_row *r)
{
	uint64_t median_ns = activity_percentile_ns(r, 0.5);

	json_member_uint(j, "threads", r->threads_cnt);
	JSON_UINTS(j, r, observed_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns, idle_ns, unlisted_ns);
	json_member_int(j, "residual_ns", r->residual_ns);
	json_member_uint(j, "switches", r->switches);
	json_member_uint(j, "waits", r->waits);
	json_member_known(j, "median_ns", median_ns, median_ns || !r->waits);
	json_member_known(j, "p99_ns", activity_percentile_ns(r, 0.99), median_ns || !r->waits);
	json_member_known(j, "max_ns", r->max_ns, r->max_ns || !r->waits);
}

static void write_row(struct json *j, const struct view *v, const struct activity_row *r)
{
	json_object_begin(j);
	json_member_string(j, "name", r->name);
	json_member_known(j, "pid", r->pid, r->pid);
	json_member_known(j, "tid", r->tid, r->tid);
	write_numbers(j, r);
	json_member_string(j, "reason", r->reason_ns ? reason_name(r->reason) : NULL);
	json_member_uint(j, "reason_ns", r->reason_ns);
	json_member_string(j, "wait",
			   !r->wait ? NULL
				    : plumbing_leaf(reasons_plumbing(v->shown->reasons),
						    profile_wait(v->shown->profile, r->wait - 1)));
	json_object_end(j);
}

static void write_losses(struct json *j, const struct profile *p)
{
	json_member_object(j, "losses");
	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		json_member_uint(j, l->reason, l->count);
	}
	json_object_end(j);
}

void top_json(GString *s, const struct view *v, guint rows_max)
{
	const struct profile_info *info = &v->shown->profile->info;
	struct json j;

	json_init(&j, s);
	json_object_begin(&j);
	json_member_string(&j, "format", "offcpu-top");
	json_member_uint(&j, "version", 1);
	JSON_UINTS(&j, info, start_unix_ns, start_ns, duration_ns, cpus, switches);
	json_member_bool(&j, "sampled", profile_is_sampled(v->shown->profile));
	json_member_uint(&j, "tracer_cpu_ns", profile_running_cpu_ns(info));
	json_member_known(&j, "tracer_bpf_ns", info->tracer_bpf_ns, info->has_bpf_ns);
	write_losses(&j, v->shown->profile);
	json_member_object(&j, "total");
	write_numbers(&j, &v->activity->total);
	json_object_end(&j);
	json_member_string(&j, "by", activity_by_name(v->by));
	json_member_uint(&j, "rows_cnt", v->order->len);
	json_member_array(&j, "rows");
	for (guint i = 0; i < v->order->len && (!rows_max || i < rows_max); i++)
		write_row(&j, v, view_row_at(v, i));
	json_array_end(&j);
	json_object_end(&j);
	g_string_append_c(s, '\n');
}
