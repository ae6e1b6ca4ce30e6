/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include "features/requests/analysis.h"
#include "features/requests/findings_latency.h"

static void put_sum(struct json *j, const struct offcpu_request_sum *sum)
{
	bool is_any = sum->all.count != 0;

	json_member_uint(j, "count", sum->all.count);
	json_member_known(j, "p50_ns", request_percentile(sum, 0.5), is_any);
	json_member_known(j, "p90_ns", request_percentile(sum, 0.9), is_any);
	json_member_known(j, "p99_ns", request_percentile(sum, 0.99), is_any);
	json_member_known(j, "max_ns", sum->max_ns, is_any);
	JSON_UINTS(j, &sum->all, wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
}

/* Waits by reason alone. */
static void put_reasons(struct json *j, const struct request_cell *cell)
{
	uint64_t ns[REASON_COUNT] = { 0 };

	EACH_POINTER(i, const struct request_cause_cell, cause, cell->causes)
		ns[cause->reason] += request_cause_from(cause, 0);
	json_member_object(j, "reasons_ns");
	for (unsigned i = 0; i < REASON_COUNT; i++)
		if (ns[i])
			json_member_uint(j, reason_name((enum reason)i), ns[i]);
	json_object_end(j);
}

static void put_step(struct json *j, const struct request_line *l, const struct request_series *series, uint32_t i)
{
	const struct request_cell *cell = series->steps[i];

	JSON(j, "at_unix_ns", l->from_unix_ns + i * l->step_ns, "observed_ns", cell->observed_ns);
	put_sum(j, &cell->sum);
	put_reasons(j, cell);
}

static void put_causes(struct json *j, const struct request_cell *cell, uint32_t from)
{
	g_autoptr(GArray) parts = latency_parts(cell, from);

	JSON_ROWS(j, "causes", const struct latency_part, part, parts) {
		json_object_begin(j);
		json_member_string(j, "reason", part->cause ? reason_name(part->cause->reason) : NULL);
		JSON(j, "where", part->cause ? part->cause->where : NULL, "ns", part->ns);
		json_member_uint(j, "slowest_ns", part->slowest_ns);
		json_object_end(j);
	}
}

static void put_latencies(struct json *j, const struct offcpu_request_sum *sum)
{
	JSON_ARRAY(j, "latency_ns")
		for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++) {
			if (!sum->hist[i])
				continue;
			json_array_begin(j);
			json_uint(j, request_slot_low(i));
			json_uint(j, sum->hist[i]);
			json_array_end(j);
		}
}

static void put_series(struct json *j, const struct request_line *l, const struct request_series *series)
{
	g_autoptr(GString) sentence = g_string_new(NULL);
	uint32_t from = request_cell_slowest(series->all, LATENCY_SLOWEST);

	latency_append_sentence(sentence, l, series);
	JSON(j, "name", series->name, "sentence", sentence->str, "observed_ns", series->all->observed_ns);
	put_sum(j, &series->all->sum);
	put_latencies(j, &series->all->sum);
	json_member_object(j, "slowest");
	json_member_uint(j, "from_ns", from < OFFCPU_REQUEST_RANGES ? request_slot_low(from * OFFCPU_REQUEST_RANGE_SLOTS) : 0);
	json_member_uint(j, "count", request_cell_count_from(series->all, from));
	json_member_uint(j, "wall_ns", request_cell_wall_from(series->all, from));
	json_object_end(j);
	put_causes(j, series->all, from);
	JSON_ARRAY(j, "steps")
		for (uint32_t i = 0; i < l->steps; i++)
			if (series->steps[i])
				JSON_IN(j, put_step(j, l, series, i));
}

void json_latency(GString *out, const struct request_line *l)
{
	struct json j;

	json_begin(&j, out);
	JSON(&j, "schema", "offcpu.requests/1", "from_unix_ns", l->from_unix_ns);
	JSON(&j, "to_unix_ns", l->from_unix_ns + l->steps * l->step_ns, "step_ns", l->step_ns);
	JSON(&j, "handed", l->uncounted.handed, "without_route", l->uncounted.no_route);
	json_member_uint(&j, "not_counted", l->uncounted.others);
	JSON_ROWS(&j, "requests", const struct request_series, row, l->series)
		JSON_IN(&j, put_series(&j, l, row));
	json_end(&j);
}
