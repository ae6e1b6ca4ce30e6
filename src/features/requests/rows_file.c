/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Requests in a recording: the parts of their tables that are not covered by the description. */

#include "profile/profile_reader.h"
#include "profile/profile_rows.h"

/* Only with several functions. */
bool next_request_calls(const struct profile *p, struct table_at *at, void *ret_row)
{
	bool has_any = false;

	for (guint i = 0; i < p->requests->len; i++)
		has_any |= profile_request(p, i)->calls.all.count != 0;
	if (!has_any || at->i >= p->requests->len)
		return false;
	*(struct request_row *)ret_row = *profile_request(p, at->i++);
	return true;
}

/* In the order of spans. */
bool next_span_wait(const struct profile *p, struct table_at *at, void *ret_row)
{
	for (; at->i < p->spans->len; at->i++, at->k = 0) {
		const struct request_span *s = profile_span(p, at->i);

		if (at->k < s->wait_cnt) {
			*(struct span_wait_row *)ret_row =
				(struct span_wait_row){ at->i, *profile_span_wait(p, s->wait + at->k++) };
			return true;
		}
	}
	return false;
}

/* Reads a number and skips its terminator. False: there is none. */
static bool take_number(const char **text, uint64_t max, uint64_t *ret_number)
{
	char *end;

	if (!g_ascii_isdigit(**text))
		return false;
	*ret_number = g_ascii_strtoull(*text, &end, 10);
	*text = end;
	return *ret_number <= max;
}

/* Slots ascend, so there cannot be too many. */
void get_latencies(struct reader *r, int column, void *row)
{
	__u64 *hist = ((struct request_row *)row)->sum.hist;
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

uint32_t add_request(struct reader *r, const void *row)
{
	r->p->info.has_requests = true;
	g_array_append_vals(r->p->requests, row, 1);
	return r->p->requests->len - 1;
}

uint32_t add_request_calls(struct reader *r, const void *row)
{
	guint i = r->ids[TABLE_REQUEST_CALLS]->len;

	if (i < r->p->requests->len)
		g_array_index(r->p->requests, struct request_row, i).calls = ((const struct request_row *)row)->calls;
	else
		reader_wrong(r, "id");
	return i;
}

uint32_t add_span_wait(struct reader *r, const void *row)
{
	const struct span_wait_row *w = row;
	struct request_span *s = &g_array_index(r->p->spans, struct request_span, w->span);
	guint cnt = r->p->span_waits->len;

	if (s->wait_cnt == OFFCPU_REQUEST_NOTES_MAX || (s->wait_cnt && s->wait + s->wait_cnt != cnt)) {
		reader_wrong(r, "span_id");
		return 0;
	}
	if (!s->wait_cnt)
		s->wait = cnt;
	s->wait_cnt++;
	g_array_append_val(r->p->span_waits, w->wait);
	return cnt;
}
