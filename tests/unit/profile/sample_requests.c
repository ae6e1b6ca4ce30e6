/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sample.h"

#include "features/requests/rows.h"

static struct offcpu_request_times sample_times(uint64_t count)
{
	return (struct offcpu_request_times){ .count = count, .wall_ns = count * 1000, .on_cpu_ns = count * 400, .blocked_ns = count * 300,
					      .runnable_ns = count * 200, .preempted_ns = count * 100 };
}

/* Two functions, the second one of calls only; spans with up to two waits each. */
void sample_add_requests(struct profile *p, const GArray *stacks)
{
	const char *const names[] = { "dispatch_command", "do_\303\244<int>" };

	p->info.has_requests = true;
	p->info.request_slower_ns = 5000;
	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
		struct request_row row = { .name = profile_string(p, names[i]), .file = profile_string(p, "mariadbd"), .calls.all = sample_times(900) };

		row.calls.self = sample_times(0);
		row.calls.self.wall_ns = 1234;
		if (!i) {
			row.sum.all = sample_times(100);
			row.sum.slow = sample_times(7);
			row.sum.unwound_cnt = 3;
			row.sum.max_ns = 99999;
			row.sum.hist[1] = 60;
			row.sum.hist[77] = 39;
			row.sum.hist[OFFCPU_REQUEST_SLOTS - 1] = 1;
		}
		g_array_append_val(p->requests, row);
	}
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t stack = g_array_index(stacks, uint32_t, i % stacks->len);
		const struct request_part part = {
			.func = 0, .range = 3 + i / 2, .requests = 1 + i, .wall_ns = i % 2 ? 0 : 5000, .on_cpu_ns = i % 2 ? 0 : 100,
			.wait = { .thread = i % p->threads->len, .state = i % 2 ? i == 5 ? '?' : 'S' : 0, .user = i % 2 ? stack : 0,
				  .object = i == 1 && p->objects->len, .count = i % 2 ? i : 0, .blocked_ns = 300 + i, .runnable_ns = i, .preempted_ns = 2 },
		};
		struct request_span span = {
			.func = i / 5, .thread = i % p->threads->len, .start_ns = p->info.start_ns + i * 1000, .wall_ns = 2000 + i, .on_cpu_ns = 1000,
			.blocked_ns = 900, .runnable_ns = 50, .preempted_ns = 50 + i, .flags = (uint8_t)(i | (i % 2 ? OFFCPU_SPAN_SLOWEST : 0)),
			.wait = p->span_waits->len, .wait_cnt = i % 3, .context = i % 2 ? stack : 0,
			.trace = i % 2 ? profile_string(p, "0123456789abcdef0123456789abcdef") : NULL,
			.trace_span = i % 2 ? profile_string(p, "0123456789abcdef") : NULL,
		};

		g_array_append_val(p->request_parts, part);
		for (uint32_t k = 0; k < span.wait_cnt; k++) {
			const struct span_wait w = { .user = stack, .kernel = k ? stack : 0, .object = MIN(k, p->objects->len), .state = k ? 'D' : '?', .count = 1 + k,
						     .blocked_ns = 400, .runnable_ns = 20, .preempted_ns = k };

			g_array_append_val(p->span_waits, w);
		}
		if (!span.wait_cnt)
			span.wait = 0;
		g_array_append_val(p->spans, span);
	}
}

static void assert_request_rows_equal(const struct request_row *x, const struct request_row *y)
{
	g_assert_cmpstr(x->name, ==, y->name);
	g_assert_cmpstr(x->file, ==, y->file);
	g_assert_cmpmem(&x->sum, sizeof(x->sum), &y->sum, sizeof(y->sum));
	g_assert_cmpmem(&x->calls, sizeof(x->calls), &y->calls, sizeof(y->calls));
}

static void assert_spans_equal(const struct request_span *x, const struct request_span *y)
{
	g_assert_cmpuint(x->func, ==, y->func);
	g_assert_cmpuint(x->thread, ==, y->thread);
	g_assert_cmpuint(x->start_ns, ==, y->start_ns);
	g_assert_cmpuint(x->wall_ns, ==, y->wall_ns);
	g_assert_cmpuint(x->on_cpu_ns, ==, y->on_cpu_ns);
	g_assert_cmpuint(x->blocked_ns, ==, y->blocked_ns);
	g_assert_cmpuint(x->runnable_ns, ==, y->runnable_ns);
	g_assert_cmpuint(x->preempted_ns, ==, y->preempted_ns);
	g_assert_cmpuint(x->flags, ==, y->flags);
	g_assert_cmpuint(x->wait, ==, y->wait);
	g_assert_cmpuint(x->wait_cnt, ==, y->wait_cnt);
	g_assert_cmpuint(x->context, ==, y->context);
	g_assert_cmpstr(x->trace, ==, y->trace);
	g_assert_cmpstr(x->trace_span, ==, y->trace_span);
}

void assert_requests_equal(const struct profile *a, const struct profile *b)
{
	g_assert_cmpuint(a->requests->len, ==, b->requests->len);
	g_assert_cmpuint(a->request_parts->len, ==, b->request_parts->len);
	g_assert_cmpuint(a->spans->len, ==, b->spans->len);
	g_assert_cmpuint(a->span_waits->len, ==, b->span_waits->len);
	for (guint i = 0; i < a->requests->len; i++)
		assert_request_rows_equal(profile_request(a, i), profile_request(b, i));
	for (guint i = 0; i < a->request_parts->len; i++) {
		const struct request_part *x = profile_request_part(a, i), *y = profile_request_part(b, i);

		g_assert_cmpuint(x->func, ==, y->func);
		g_assert_cmpuint(x->range, ==, y->range);
		g_assert_cmpuint(x->requests, ==, y->requests);
		g_assert_cmpuint(x->wall_ns, ==, y->wall_ns);
		g_assert_cmpuint(x->on_cpu_ns, ==, y->on_cpu_ns);
		g_assert_cmpmem(&x->wait, sizeof(x->wait), &y->wait, sizeof(y->wait));
	}
	for (guint i = 0; i < a->spans->len; i++)
		assert_spans_equal(profile_span(a, i), profile_span(b, i));
	for (guint i = 0; i < a->span_waits->len; i++) {
		const struct span_wait *x = profile_span_wait(a, i), *y = profile_span_wait(b, i);

		g_assert_cmpuint(x->user, ==, y->user);
		g_assert_cmpuint(x->kernel, ==, y->kernel);
		g_assert_cmpuint(x->object, ==, y->object);
		g_assert_cmpuint(x->state, ==, y->state);
		g_assert_cmpuint(x->count, ==, y->count);
		g_assert_cmpuint(x->blocked_ns, ==, y->blocked_ns);
		g_assert_cmpuint(x->runnable_ns, ==, y->runnable_ns);
		g_assert_cmpuint(x->preempted_ns, ==, y->preempted_ns);
	}
}
