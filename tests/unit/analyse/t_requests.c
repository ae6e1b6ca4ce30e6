/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <string.h>

#include "features/requests/analysis.h"
#include "features/requests/analysis_routes.h"

/* As the BPF programs do it, with the highest bit sought in another way. */
static unsigned slot_of(uint64_t ns)
{
	unsigned exponent = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;

	return exponent < 4 ? (unsigned)ns : MIN(offcpu_request_slot(ns, exponent), OFFCPU_REQUEST_SLOTS - 1);
}

static void test_slots(void)
{
	for (unsigned i = 0; i + 1 < OFFCPU_REQUEST_SLOTS; i++) {
		uint64_t low = request_slot_low(i), high = request_slot_high(i);

		g_assert_cmpuint(low, <, high);
		g_assert_cmpuint(slot_of(low), ==, i);
		g_assert_cmpuint(slot_of(high - 1), ==, i);
		g_assert_cmpuint(slot_of(high), ==, i + 1);
		/* a sixteenth at most */
		g_assert_cmpuint(high - low, <=, MAX(low / 16, 1));
	}
	g_assert_cmpuint(slot_of(UINT64_MAX / 4), ==, OFFCPU_REQUEST_SLOTS - 1);
}

static void add(struct offcpu_request_sum *sum, uint64_t ns, uint64_t cnt)
{
	sum->hist[slot_of(ns)] += cnt;
	sum->all.count += cnt;
	sum->all.wall_ns += ns * cnt;
	sum->max_ns = MAX(sum->max_ns, ns);
}

static void test_percentiles(void)
{
	g_autofree struct offcpu_request_sum *sum = g_new0(struct offcpu_request_sum, 1);

	g_assert_cmpuint(request_percentile(sum, 0.5), ==, 0);
	for (uint64_t i = 1; i <= 1000; i++)
		add(sum, i * 1000, 1);
	for (double share = 0.01; share <= 1; share += 0.01) {
		double wanted = share * 1000000, got = (double)request_percentile(sum, share);

		g_assert_cmpfloat(got, >=, wanted * 0.93 - 1000);
		g_assert_cmpfloat(got, <=, wanted * 1.07 + 1000);
	}
	g_assert_cmpuint(request_percentile(sum, 1), <=, sum->max_ns);
	/* one request has all percentiles */
	memset(sum, 0, sizeof(*sum));
	add(sum, 1000000, 1);
	g_assert_cmpuint(request_percentile(sum, 0.99), <=, 1000000);
	g_assert_cmpuint(request_percentile(sum, 0.99), >=, 900000);
}

static void test_octaves(void)
{
	g_autofree struct offcpu_request_sum *sum = g_new0(struct offcpu_request_sum, 1);
	uint64_t octaves[REQUEST_OCTAVES], all = 0;

	add(sum, 0, 1);
	add(sum, 1, 2);
	add(sum, 1023, 3);
	add(sum, 1024, 4);
	add(sum, 2047, 5);
	add(sum, UINT64_C(1) << 45, 6);
	request_octaves(sum, octaves);
	g_assert_cmpuint(octaves[0], ==, 3);
	g_assert_cmpuint(octaves[9], ==, 3);
	g_assert_cmpuint(octaves[10], ==, 9);
	for (unsigned i = 0; i < REQUEST_OCTAVES; i++)
		all += octaves[i];
	g_assert_cmpuint(all, ==, 21);
}

static void test_since(void)
{
	struct offcpu_request_sum *then = g_new0(struct offcpu_request_sum, 1), *now = g_new0(struct offcpu_request_sum, 1),
				  *diff = g_new0(struct offcpu_request_sum, 1);

	add(then, 5000000, 10);
	*now = *then;
	add(now, 2000, 3);
	now->unwound_cnt = 1;
	request_since(now, then, diff);
	g_assert_cmpuint(diff->all.count, ==, 3);
	g_assert_cmpuint(diff->all.wall_ns, ==, 6000);
	g_assert_cmpuint(diff->unwound_cnt, ==, 1);
	/* the longest one was before */
	g_assert_cmpuint(diff->max_ns, >=, 2000);
	g_assert_cmpuint(diff->max_ns, <=, 2200);
	request_since(now, now, diff);
	g_assert_cmpuint(diff->max_ns, ==, 0);
	g_free(then);
	g_free(now);
	g_free(diff);
}

/* A stack below a route. */
static uint32_t stack_for(struct profile *p, const char *route)
{
	const struct frame outer = { .name = route, .module = "[http.route]", .kind = FRAME_CONTEXT };
	const struct frame inner = { .name = "read", .module = "libc.so.6", .kind = FRAME_USER };
	uint32_t node = route ? profile_node(p, 0, profile_frame(p, &outer)) : 0;

	return profile_node(p, node, profile_frame(p, &inner));
}

static void add_request(struct profile *p, uint64_t wall_ns, uint8_t flags, const char *route, const char *other)
{
	const struct span_wait waits[] = { { .user = stack_for(p, other), .state = 'S', .count = 1, .blocked_ns = 10 },
					   { .user = stack_for(p, route), .state = 'S', .count = 1, .blocked_ns = 20 } };
	const struct request_span span = { .start_ns = 1000 + 100 * p->spans->len, .wall_ns = wall_ns, .blocked_ns = 30,
					   .wait = p->span_waits->len, .wait_cnt = 2, .flags = flags };

	g_array_append_vals(p->span_waits, waits, 2);
	g_array_append_val(p->spans, span);
}

/* The route of most of its waits' time; the slowest count once, the sampled others for those that were not kept. */
static void test_routes(void)
{
	struct profile *p = profile_new();
	struct request_row row = { .name = "serve", .file = "shop" };
	struct request_routes *routes;

	row.sum.all.count = 11;
	g_array_append_val(p->requests, row);
	add_request(p, 1000, OFFCPU_SPAN_SLOWEST, "/a", "/b");
	add_request(p, 5000, OFFCPU_SPAN_SLOWEST, "/a", NULL);
	add_request(p, 9000, OFFCPU_SPAN_SLOWEST, "/b", "/b");
	add_request(p, 400, 0, "/a", NULL);	/* each of these stands for two and two thirds */
	add_request(p, 300, 0, NULL, NULL);
	add_request(p, 200, 0, NULL, NULL);
	routes = request_routes_new(p, 2);
	g_assert_true(routes->has_any);
	g_assert_cmpuint(routes->rows->len, ==, 3);

	const struct request_route *b = routes->rows->pdata[0], *a = routes->rows->pdata[1], *none = routes->rows->pdata[2];

	g_assert_cmpstr(a->name, ==, "/a");
	g_assert_cmpstr(b->name, ==, "/b");
	g_assert_null(none->name);
	g_assert_true(b->is_exact && !a->is_exact && !none->is_exact);
	g_assert_cmpuint(b->sum.all.count, ==, 1);
	g_assert_cmpuint(a->sum.all.count, ==, 5);
	g_assert_cmpuint(none->sum.all.count, ==, 5);
	g_assert_cmpuint(a->sum.max_ns, ==, 5000);
	g_assert_cmpuint(a->slowest->len, ==, 2);
	g_assert_cmpuint(g_array_index(a->slowest, uint32_t, 0), ==, 1);
	g_assert_cmpuint(g_array_index(a->slowest, uint32_t, 1), ==, 0);
	request_routes_free(routes);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/requests/slots", test_slots);
	g_test_add_func("/requests/percentiles", test_percentiles);
	g_test_add_func("/requests/octaves", test_octaves);
	g_test_add_func("/requests/since", test_since);
	g_test_add_func("/requests/routes", test_routes);
	return g_test_run();
}
