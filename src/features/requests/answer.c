/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/analysis_causes.h"
#include "features/requests/text.h"
#include "render/answer/things.h"
#include "render/json/parts.h"

#define FUNCTIONS_MAX 20
#define SPANS_SHORT 3	/* slowest requests in a summary, for all functions */
#define SPANS_MAX 20	/* for one function in detail */
#define SHARES_MAX 8

/* What a function's requests spent time on other than on CPU, most first. */
static void write_shares(struct json *j, const struct things *t, guint at)
{
	g_autoptr(GArray) shares = request_shares(t->p, at);

	JSON_ARRAY(j, "spent")
		for (guint i = 0; i < MIN(shares->len, SHARES_MAX); i++) {
			const struct request_share *share = &g_array_index(shares, struct request_share, i);

			JSON_OBJECT(j, "reason", reason_name(share->reason), "ns", share->ns);
		}
}

/* What differs in the slowest 1%, as lines of text. */
static void write_tail(struct json *j, const struct things *t, guint at)
{
	const struct text_options plain = { .width = 0 };
	g_autoptr(GString) text = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	request_tail_text(text, t->p, at, &plain);
	if (!text->len)
		return;
	lines = g_strsplit(text->str, "\n", -1);
	JSON_ARRAY(j, "tail")
		for (char **line = lines; *line; line++)
			if (**line)
				json_string(j, *line);
}

static void write_members(struct json *j, const struct things *t, guint at)
{
	json_request(j, profile_request(t->p, at));
	write_shares(j, t, at);
	write_tail(j, t, at);
}

static void write_spans(struct answer *a, const struct things *t, gint64 func, guint most, unsigned rank)
{
	g_autoptr(GArray) spans = request_slowest(t->p, func, most);

	EACH_ROW(i, const struct span_top, top, spans) {
		struct json *j = answer_item(a, "slowest");

		json_object_begin(j);
		json_member_string(j, "request", thing_id(t, THING_REQUEST, profile_span(t->p, top->span)->func));
		json_span(j, t->p, top);
		json_object_end(j);
		answer_end(a, rank);
	}
}

static bool has_any(const struct things *t, guint at)
{
	return profile_request(t->p, at)->sum.all.count != 0;
}

static int compare_times(gconstpointer va, gconstpointer vb, gpointer things)
{
	const struct things *t = things;
	guint a = *(const guint *)va, b = *(const guint *)vb;
	uint64_t x = profile_request(t->p, a)->sum.all.wall_ns, y = profile_request(t->p, b)->sum.all.wall_ns;

	return x != y ? (x > y ? -1 : 1) : (a > b) - (a < b);
}

void things_write_requests(struct answer *a, const struct things *t, unsigned rank)
{
	g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(guint));

	for (guint i = 0; i < t->p->requests->len; i++)
		if (has_any(t, i))
			g_array_append_val(order, i);
	g_array_sort_with_data(order, compare_times, (gpointer)(uintptr_t)t);
	for (guint i = 0; i < MIN(order->len, FUNCTIONS_MAX); i++) {
		guint at = g_array_index(order, guint, i);
		struct json *j = answer_item(a, "requests");

		json_object_begin(j);
		json_member_string(j, "id", thing_id(t, THING_REQUEST, at));
		write_members(j, t, at);
		json_object_end(j);
		answer_end(a, rank);
		j = answer_in_short(a);
		json_object_begin(j);
		json_member_string(j, "id", thing_id(t, THING_REQUEST, at));
		json_request(j, profile_request(t->p, at));
		json_object_end(j);
		answer_end(a, rank);
	}
	if (order->len > FUNCTIONS_MAX)
		answer_left_out(a, "requests", order->len - FUNCTIONS_MAX);
	write_spans(a, t, -1, SPANS_SHORT, rank);
}

void things_write_request(struct answer *a, const struct things *t, guint at)
{
	struct json *j = answer_members(a);

	json_object_begin(j);
	write_members(j, t, at);
	json_object_end(j);
	answer_members_end(a, 1);
	write_spans(a, t, at, SPANS_MAX, 1);
}
