/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Requests in a recording: their tables written and read. */
#include <inttypes.h>
#include <string.h>

#include "profile/profile_insert.h"
#include "profile/profile_reader.h"
#include "profile/profile_rows.h"
#include "profile/requests.h"

static void put_times(struct insert *in, const struct offcpu_request_times *t)
{
	insert_number(in, t->count);
	insert_number(in, t->wall_ns);
	insert_number(in, t->on_cpu_ns);
	insert_number(in, t->blocked_ns);
	insert_number(in, t->runnable_ns);
	insert_number(in, t->preempted_ns);
}

static void put_or_null(struct insert *in, uint32_t id, uint32_t none)
{
	if (id == none)
		insert_null(in);
	else
		insert_number(in, id);
}

/* [slot,count,slot,count,...] */
static char *latencies_text(const struct offcpu_request_sum *sum)
{
	GString *s = g_string_new("[");

	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++)
		if (sum->hist[i])
			g_string_append_printf(s, "%s%u,%" PRIu64, s->len > 1 ? "," : "", i, (uint64_t)sum->hist[i]);
	g_string_append_c(s, ']');
	return g_string_free(s, FALSE);
}

static int write_requests(sqlite3 *db, const struct profile *p)
{
	struct insert in =
		insert_into(db, "INSERT INTO request VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (guint i = 0; i < p->requests->len; i++) {
		const struct request_row *row = profile_request(p, i);
		g_autofree char *latencies = latencies_text(&row->sum);

		insert_id(&in, i);
		insert_text(&in, row->name);
		insert_text(&in, row->file);
		put_times(&in, &row->sum.all);
		put_times(&in, &row->sum.slow);
		insert_number(&in, row->sum.unwound_cnt);
		insert_number(&in, row->sum.max_ns);
		insert_text(&in, latencies);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

/* Of several functions. */
static int write_calls(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO request_calls VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	bool has_any = false;

	for (guint i = 0; i < p->requests->len; i++)
		has_any |= profile_request(p, i)->calls.all.count != 0;
	for (guint i = 0; has_any && i < p->requests->len; i++) {
		insert_id(&in, i);
		put_times(&in, &profile_request(p, i)->calls.all);
		put_times(&in, &profile_request(p, i)->calls.self);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_parts(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db,
				       "INSERT INTO request_part VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				       p->request_parts->len);

	for (guint i = 0; i < p->request_parts->len; i++) {
		const struct request_part *part = profile_request_part(p, i);
		const struct wait *w = &part->wait;

		insert_id(&in, i);
		insert_number(&in, part->func);
		insert_number(&in, part->range);
		if (w->state)
			insert_letter(&in, &w->state);
		else
			insert_null(&in);
		insert_number(&in, w->thread);
		put_or_null(&in, w->user, 0);
		put_or_null(&in, w->kernel, 0);
		put_or_null(&in, w->object - 1, UINT32_MAX);
		insert_number(&in, part->requests);
		insert_number(&in, w->count);
		insert_number(&in, part->wall_ns);
		insert_number(&in, part->on_cpu_ns);
		insert_number(&in, w->blocked_ns);
		insert_number(&in, w->runnable_ns);
		insert_number(&in, w->preempted_ns);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_spans(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO span VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", p->spans->len);

	for (guint i = 0; i < p->spans->len; i++) {
		const struct request_span *s = profile_span(p, i);

		insert_id(&in, i);
		insert_number(&in, s->func);
		insert_number(&in, s->thread);
		insert_number(&in, s->start_ns);
		insert_number(&in, s->wall_ns);
		insert_number(&in, s->on_cpu_ns);
		insert_number(&in, s->blocked_ns);
		insert_number(&in, s->runnable_ns);
		insert_number(&in, s->preempted_ns);
		insert_number(&in, s->flags);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_span_waits(sqlite3 *db, const struct profile *p)
{
	guint cnt = 0;

	for (guint i = 0; i < p->spans->len; i++)
		cnt += profile_span(p, i)->wait_cnt;
	struct insert in = insert_rows(db, "INSERT INTO span_wait VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", cnt);
	uint64_t id = 0;

	for (guint i = 0; i < p->spans->len; i++) {
		const struct request_span *s = profile_span(p, i);

		for (uint32_t k = 0; k < s->wait_cnt; k++) {
			const struct span_wait *w = profile_span_wait(p, s->wait + k);

			insert_id(&in, id++);
			insert_number(&in, i);
			insert_letter(&in, &w->state);
			put_or_null(&in, w->user, 0);
			put_or_null(&in, w->kernel, 0);
			put_or_null(&in, w->object - 1, UINT32_MAX);
			insert_number(&in, w->count);
			insert_number(&in, w->blocked_ns);
			insert_number(&in, w->runnable_ns);
			insert_number(&in, w->preempted_ns);
			if (!insert_row_done(&in))
				return insert_end(&in);
		}
	}
	return insert_end(&in);
}

int requests_write(sqlite3 *db, const struct profile *p)
{
	int (*const tables[])(sqlite3 * db, const struct profile *p) = { write_requests, write_calls, write_parts,
									 write_spans, write_span_waits };
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < G_N_ELEMENTS(tables); i++)
		rc = tables[i](db, p);
	return rc;
}

static struct offcpu_request_times times_at(struct reader *r, int column)
{
	return (struct offcpu_request_times){
		.count = row_number(r, column, INT64_MAX),
		.wall_ns = row_ns(r, column + 1),
		.on_cpu_ns = row_ns(r, column + 2),
		.blocked_ns = row_ns(r, column + 3),
		.runnable_ns = row_ns(r, column + 4),
		.preempted_ns = row_ns(r, column + 5),
	};
}

/* A number and what ends it, which is skipped; false: there is none. */
static bool take_number(const char **text, uint64_t max, uint64_t *ret_number)
{
	char *end;

	if (!g_ascii_isdigit(**text))
		return false;
	*ret_number = g_ascii_strtoull(*text, &end, 10);
	*text = end;
	return *ret_number <= max;
}

/* Slots go up, so there are no more of them than there can be. */
static void read_latencies(struct reader *r, int column, __u64 *hist)
{
	const char *at = row_text(r, column);
	uint64_t slot, count, next = 0;
	bool is_right = *at++ == '[';

	while (is_right && *at != ']') {
		is_right = (!next || *at++ == ',') && take_number(&at, OFFCPU_REQUEST_SLOTS - 1, &slot) &&
			   slot >= next && *at++ == ',' && take_number(&at, INT64_MAX, &count);
		if (is_right) {
			hist[slot] = count;
			next = slot + 1;
		}
	}
	if (!is_right || at[1])
		row_wrong(r, column);
}

void row_of_request(struct reader *r)
{
	struct request_row row = {
		.name = row_own_text(r, 1),
		.file = row_own_text(r, 2),
		.sum = { .all = times_at(r, 3),
			 .slow = times_at(r, 9),
			 .unwound_cnt = row_number(r, 15, INT64_MAX),
			 .max_ns = row_ns(r, 16) },
	};

	read_latencies(r, 17, row.sum.hist);
	r->p->info.has_requests = true;
	if (!r->wrong)
		g_array_append_val(r->p->requests, row);
}

void row_of_request_calls(struct reader *r)
{
	uint64_t id = (uint64_t)sqlite3_column_int64(r->stmt, 0);

	if (id >= r->p->requests->len) {
		row_wrong(r, 0);
		return;
	}
	struct request_row *row = &g_array_index(r->p->requests, struct request_row, (guint)id);

	row->calls.all = times_at(r, 1);
	row->calls.self = times_at(r, 7);
}

static uint8_t state_at(struct reader *r, int column)
{
	const char *state = row_text(r, column);

	if (!*state || state[1] || !strchr("SDTtPIR?", *state))
		row_wrong(r, column);
	return (uint8_t)*state;
}

static uint32_t index_below(struct reader *r, int column, guint cnt)
{
	uint32_t i = row_u32(r, column);

	if (i >= cnt)
		row_wrong(r, column);
	return i;
}

static uint32_t object_at(struct reader *r, int column)
{
	return row_is_null(r, column) ? 0 : row_id(r, column, r->objects, false) + 1;
}

void row_of_request_part(struct reader *r)
{
	struct request_part part = {
		.func = index_below(r, 1, r->p->requests->len),
		.range = index_below(r, 2, OFFCPU_REQUEST_RANGES),
		.requests = row_number(r, 8, INT64_MAX),
		.wall_ns = row_ns(r, 10),
		.on_cpu_ns = row_ns(r, 11),
		.wait =
			{
				.state = row_is_null(r, 3) ? 0 : state_at(r, 3),
				.thread = index_below(r, 4, r->p->threads->len),
				.user = row_id(r, 5, r->nodes, true),
				.kernel = row_id(r, 6, r->nodes, true),
				.object = object_at(r, 7),
				.count = row_number(r, 9, INT64_MAX),
				.blocked_ns = row_ns(r, 12),
				.runnable_ns = row_ns(r, 13),
				.preempted_ns = row_ns(r, 14),
			},
	};

	if (!r->wrong)
		g_array_append_val(r->p->request_parts, part);
}

void row_of_span(struct reader *r)
{
	struct request_span s = {
		.func = index_below(r, 1, r->p->requests->len),
		.thread = index_below(r, 2, r->p->threads->len),
		.start_ns = row_ns(r, 3),
		.wall_ns = row_ns(r, 4),
		.on_cpu_ns = row_ns(r, 5),
		.blocked_ns = row_ns(r, 6),
		.runnable_ns = row_ns(r, 7),
		.preempted_ns = row_ns(r, 8),
		.flags = (uint8_t)row_number(r, 9, OFFCPU_SPAN_FLAGS),
	};

	if (!r->wrong)
		g_array_append_val(r->p->spans, s);
}

/* In the order of their spans. */
void row_of_span_wait(struct reader *r)
{
	struct span_wait w = {
		.state = state_at(r, 2),
		.user = row_id(r, 3, r->nodes, true),
		.kernel = row_id(r, 4, r->nodes, true),
		.object = object_at(r, 5),
		.count = row_number(r, 6, INT64_MAX),
		.blocked_ns = row_ns(r, 7),
		.runnable_ns = row_ns(r, 8),
		.preempted_ns = row_ns(r, 9),
	};
	uint32_t at = index_below(r, 1, r->p->spans->len), cnt = r->p->span_waits->len;

	if (r->wrong)
		return;
	struct request_span *s = &g_array_index(r->p->spans, struct request_span, at);

	if (s->wait_cnt == OFFCPU_REQUEST_NOTES_MAX || (s->wait_cnt && s->wait + s->wait_cnt != cnt)) {
		row_wrong(r, 1);
		return;
	}
	if (!s->wait_cnt)
		s->wait = cnt;
	s->wait_cnt++;
	g_array_append_val(r->p->span_waits, w);
}
