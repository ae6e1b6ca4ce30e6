/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <inttypes.h>
#include <string.h>

#include "features/wakers/analysis.h"
#include "render/json/write.h"
#include "explain/text.h"

#define STARS 40

struct bucket {
	uint64_t low, high;	/* truncated to whole units */
	uint64_t count;
};

static uint64_t unit_ns(enum hist_unit unit)
{
	return unit == HIST_NS ? 1 : unit == HIST_US ? 1000 : 1000000;
}

static const char *unit_name(enum hist_unit unit)
{
	return unit == HIST_NS ? "nsecs" : unit == HIST_US ? "usecs" : "msecs";
}

/* Fills buckets up to the last that is not empty; returns their number. */
static unsigned fill_buckets(struct bucket *buckets, const uint64_t *slots, enum hist_unit unit)
{
	uint64_t per = unit_ns(unit);
	unsigned cnt = 0, used = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		uint64_t low_ns = UINT64_C(1) << i, high_ns = low_ns * 2 - 1;

		if (cnt == 0 || low_ns >= per) {
			buckets[cnt].low = low_ns < per || i == 0 ? 0 : low_ns / per;
			buckets[cnt].count = 0;
			cnt++;
		}
		struct bucket *b = &buckets[cnt - 1];
		b->high = MAX(high_ns / per, 1);
		b->count += slots[i];
		if (slots[i])
			used = cnt;
	}
	return used;
}

static void append_bar(GString *s, uint64_t count, uint64_t most)
{
	unsigned stars = most ? (unsigned)((double)count * STARS / (double)most) : 0;
	char bar[STARS + 1];

	memset(bar, ' ', STARS);
	memset(bar, '*', MIN(stars, STARS));
	bar[STARS] = '\0';
	g_string_append_printf(s, "|%s|\n", bar);
}

static void append_duration(GString *s, const char *name, uint64_t ns)
{
	g_string_append_printf(s, ", %s %s", name, TEXT_NS(ns));
}

/* "     count 9,123, total 12.3 s, mean 1.35 ms, median 98.1 us, p99 24.0 ms, max 163 ms" */
static void append_sums(GString *s, const struct hist_row *row)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		count += row->slots[i];
	if (!count)
		return;
	g_string_append_printf(s, "     count %s", TEXT_COUNT(count));
	append_duration(s, "total", row->sum_ns);
	append_duration(s, "mean", row->sum_ns / count);
	append_duration(s, "median", wait_percentile_ns(row->slots, 0.5, row->sum_ns, row->max_ns));
	append_duration(s, "p99", wait_percentile_ns(row->slots, 0.99, row->sum_ns, row->max_ns));
	append_duration(s, "max", row->max_ns);
	g_string_append_c(s, '\n');
}

void hist_text(GString *s, const struct hist_row *row, enum hist_unit unit)
{
	struct bucket buckets[PROFILE_HIST_SLOTS];
	unsigned cnt = fill_buckets(buckets, row->slots, unit);
	uint64_t most = 0, widest = cnt ? buckets[cnt - 1].high : 0;
	int width = widest > UINT32_MAX ? 20 : 10;

	if (row->label) {
		g_string_append_c(s, '\n');
		text_safe(s, row->label);
		g_string_append_c(s, '\n');
	}
	for (unsigned i = 0; i < cnt; i++)
		most = MAX(most, buckets[i].count);
	g_string_append_printf(s, "%*s%-*s : count     distribution\n", width - 5, "", 9 + width, unit_name(unit));
	for (unsigned i = 0; i < cnt; i++) {
		g_string_append_printf(s, "%*" PRIu64 " -> %-*" PRIu64 " : %-8" PRIu64 " ", width, buckets[i].low,
				       width, buckets[i].high, buckets[i].count);
		append_bar(s, buckets[i].count, most);
	}
	append_sums(s, row);
}

static void write_id(struct json *j, const char *key, uint32_t id)
{
	json_member_known(j, key, id, id);
}

static void write_row(struct json *j, const struct hist_row *row)
{
	uint64_t count = 0;

	write_id(j, "pid", row->pid);
	write_id(j, "tid", row->tid);
	json_member_string(j, "comm", row->comm);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		count += row->slots[i];
	JSON(j, "count", count, "sum_ns", row->sum_ns, "max_ns", row->max_ns);
	JSON_ARRAY(j, "log2_ns")
		for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
			if (!row->slots[i])
				continue;
			json_array_begin(j);
			json_uint(j, i);
			json_uint(j, row->slots[i]);
			json_array_end(j);
		}
}

void hist_json(GString *s, const char *what, uint64_t start_unix_ns, uint64_t duration_ns,
	       const struct hist_row *rows, unsigned rows_cnt)
{
	struct json j;

	json_begin(&j, s);
	JSON(&j, "schema", 1, "what", what);
	JSON_MEMBER(&j, "interval", "start_unix_ns", start_unix_ns, "duration_ns", duration_ns);
	JSON_ARRAY(&j, "histograms")
		for (unsigned i = 0; i < rows_cnt; i++)
			JSON_IN(&j, write_row(&j, &rows[i]));
	json_end(&j);
}
