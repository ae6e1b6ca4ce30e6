/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which requests are kept: the slowest of all, and a sample of the others in which each has the same chance. */
#include "features/requests/fold.h"

#include <string.h>

#include "features/requests/rows.h"

#define REQUESTS 40000
#define SLOWEST 200
#define SAMPLED 500
#define RUNS 40

struct fixture {
	struct profile *profile;
	struct symbolizer *symbolizer;
	struct fold *fold;
};

static void set_up(struct fixture *x, gconstpointer data)
{
	const struct offcpu_rec_thread rec = { .type = OFFCPU_REC_THREAD, .tno = 5, .pid = 10, .tid = 15, .from_ns = 1000, .to_ns = 2000,
					       .comm = "worker", .process = "server" };

	x->profile = profile_new();
	x->symbolizer = symbolizer_new();
	x->fold = fold_new(x->profile, x->symbolizer, false);
	fold_thread(x->fold, &rec, sizeof(rec));
}

static void tear_down(struct fixture *x, gconstpointer data)
{
	fold_free(x->fold);
	symbolizer_free(x->symbolizer);
	profile_free(x->profile);
}

/* As the kernel would: all from from_ns on, of the others one in 2^shift. */
static void tell(struct spans *s, uint64_t wall_ns, GRand *rand, uint64_t from_ns, unsigned shift)
{
	struct offcpu_rec_request_span span = { .type = OFFCPU_REC_REQUEST_SPAN, .tno = 5, .start_ns = REQUESTS - wall_ns, .wall_ns = wall_ns,
						.shift = (uint8_t)shift };

	if (wall_ns >= from_ns)
		span.flags = OFFCPU_SPAN_SLOWEST;
	else if (g_rand_int(rand) & ((1U << shift) - 1))
		return;
	spans_add(s, &span, offsetof(struct offcpu_rec_request_span, note));
}

/* Wall times of 1 to REQUESTS in some order; the kernel hears what is wanted only after so many more. */
static void tell_all(struct spans *s, GRand *rand, unsigned late)
{
	g_autofree uint64_t *wall = g_new(uint64_t, REQUESTS);
	uint64_t from_ns = 0;
	unsigned shift = 0;

	for (unsigned i = 0; i < REQUESTS; i++)
		wall[i] = i + 1;
	for (unsigned i = REQUESTS - 1; i > 0; i--) {
		unsigned k = (unsigned)g_rand_int_range(rand, 0, (gint32)i + 1);
		uint64_t at = wall[i];

		wall[i] = wall[k];
		wall[k] = at;
	}
	for (unsigned i = 0; i < REQUESTS; i++) {
		tell(s, wall[i], rand, from_ns, shift);
		if (i % late == 0) {
			from_ns = spans_from_ns(s);
			shift = spans_shift(s);
		}
	}
}

static void test_slowest_and_sample(struct fixture *x, gconstpointer data)
{
	GRand *rand = g_rand_new_with_seed(7);
	struct spans *s = spans_new(SLOWEST, SAMPLED);
	guint others = 0;

	tell_all(s, rand, GPOINTER_TO_UINT(data));
	fold_finish(x->fold);
	spans_finish(s, x->fold, x->profile);
	for (guint i = 0; i < x->profile->spans->len; i++) {
		const struct request_span *span = profile_span(x->profile, i);
		bool is_slowest = span->flags & OFFCPU_SPAN_SLOWEST;

		g_assert_true(is_slowest == (span->wall_ns > REQUESTS - SLOWEST));
		g_assert_cmpuint(profile_thread(x->profile, span->thread)->tid, ==, 15);
		g_assert_true(!i || profile_span(x->profile, i - 1)->start_ns <= span->start_ns);
		others += !is_slowest;
	}
	g_assert_cmpuint(x->profile->spans->len - others, ==, SLOWEST);
	g_assert_cmpuint(others, <=, SAMPLED);
	g_assert_cmpuint(others, >=, SAMPLED / 3);
	spans_free(s);
	g_rand_free(rand);
}

/* Of many runs: the mean of the sampled ones' wall times is that of all the others, and so is their share of each quarter. */
static void test_unbiased(struct fixture *x, gconstpointer data)
{
	GRand *rand = g_rand_new_with_seed(11);
	uint64_t quarter[4] = { 0 }, all = 0;

	for (unsigned run = 0; run < RUNS; run++) {
		struct spans *s = spans_new(SLOWEST, SAMPLED);

		tell_all(s, rand, GPOINTER_TO_UINT(data));
		g_array_set_size(x->profile->spans, 0);
		spans_finish(s, x->fold, x->profile);
		for (guint i = 0; i < x->profile->spans->len; i++) {
			const struct request_span *span = profile_span(x->profile, i);

			if (span->flags & OFFCPU_SPAN_SLOWEST)
				continue;
			quarter[(span->wall_ns - 1) * 4 / (REQUESTS - SLOWEST)]++;
			all++;
		}
		spans_free(s);
	}
	/* some 14,000 in all: 4 standard errors of a quarter are 1.5 % of all */
	for (unsigned i = 0; i < 4; i++) {
		g_assert_cmpfloat((double)quarter[i], >, 0.235 * (double)all);
		g_assert_cmpfloat((double)quarter[i], <, 0.265 * (double)all);
	}
	g_rand_free(rand);
}

/* Requests of a fast route, among those of another one: its own slowest are kept, too, however late the kernel hears of it. */
static void test_of_routes(struct fixture *x, gconstpointer data)
{
	enum { FAST = 7, SLOW = 9, FAST_MAX = 1000 };
	const unsigned late = GPOINTER_TO_UINT(data);
	GRand *rand = g_rand_new_with_seed(3);
	struct spans *s = spans_new(SLOWEST, SAMPLED);
	uint64_t from_ns = 0, route_ns[2] = { 0 };
	guint fast = 0;

	for (uint64_t i = 0; i < REQUESTS; i++) {
		/* 7919 is no divisor: each once */
		struct offcpu_rec_request_span span = { .type = OFFCPU_REC_REQUEST_SPAN, .tno = 5, .start_ns = i,
							.wall_ns = 1 + i * 7919 % REQUESTS, .shift = (uint8_t)spans_shift(s) };
		bool is_fast = span.wall_ns <= FAST_MAX;

		span.route = is_fast ? FAST : SLOW;
		if (span.wall_ns >= MIN(from_ns, route_ns[is_fast]))
			span.flags = OFFCPU_SPAN_SLOWEST;
		if (span.flags || !(g_rand_int(rand) & ((1U << span.shift) - 1)))
			spans_add(s, &span, offsetof(struct offcpu_rec_request_span, note));
		if (i % late == 0) {
			from_ns = spans_from_ns(s);
			route_ns[true] = spans_route_from_ns(s, FAST);
			route_ns[false] = spans_route_from_ns(s, SLOW);
		}
	}
	fold_finish(x->fold);
	spans_finish(s, x->fold, x->profile);
	for (guint i = 0; i < x->profile->spans->len; i++) {
		const struct request_span *span = profile_span(x->profile, i);

		if (span->wall_ns > FAST_MAX)
			continue;
		g_assert_true(!(span->flags & OFFCPU_SPAN_SLOWEST) == (span->wall_ns <= FAST_MAX - SPANS_OF_ROUTE));
		fast += (span->flags & OFFCPU_SPAN_SLOWEST) != 0;
	}
	g_assert_cmpuint(fast, ==, SPANS_OF_ROUTE);
	spans_free(s);
	g_rand_free(rand);
}

static void test_traces(struct fixture *x, gconstpointer data)
{
	struct spans *s = spans_new(SLOWEST, SAMPLED);
	struct offcpu_rec_request_span span = { .tno = 5, .wall_ns = 9, .route = 77 /* which never came */ };

	memset(span.trace, 0xab, 16);
	memset((uint8_t *)span.trace + 16, 0x1f, 8);
	spans_add(s, &span, sizeof(span));
	memset(span.trace, 0, sizeof(span.trace));
	span.start_ns = 1;
	spans_add(s, &span, sizeof(span));
	fold_finish(x->fold);
	spans_finish(s, x->fold, x->profile);
	g_assert_cmpstr(profile_span(x->profile, 0)->trace, ==, "abababababababababababababababab");
	g_assert_cmpstr(profile_span(x->profile, 0)->trace_span, ==, "1f1f1f1f1f1f1f1f");
	g_assert_cmpuint(profile_span(x->profile, 0)->context, ==, 0);
	g_assert_null(profile_span(x->profile, 1)->trace);
	spans_free(s);
}

static void test_bad_records(struct fixture *x, gconstpointer data)
{
	struct spans *s = spans_new(SLOWEST, SAMPLED);
	struct offcpu_rec_request_span span = { .tno = 5, .wall_ns = 9, .note_cnt = 1, .flags = OFFCPU_SPAN_SLOWEST };

	spans_add(s, &span, 8);
	spans_add(s, &span, offsetof(struct offcpu_rec_request_span, note));	/* without its note */
	span.note_cnt = OFFCPU_REQUEST_NOTES_MAX + 1;
	spans_add(s, &span, sizeof(span));
	span.note_cnt = 1;
	span.tno = 99;	/* nobody's */
	spans_add(s, &span, sizeof(span));
	span.tno = 5;
	span.note[0] = (struct offcpu_request_note){ .state = 'S', .count = 2, .blocked_ns = 7 };
	spans_add(s, &span, sizeof(span));
	fold_finish(x->fold);
	spans_finish(s, x->fold, x->profile);
	g_assert_cmpuint(x->profile->spans->len, ==, 1);
	g_assert_cmpuint(x->profile->span_waits->len, ==, 1);
	g_assert_cmpuint(profile_span_wait(x->profile, 0)->blocked_ns, ==, 7);
	spans_free(s);
}

#define ADD(path, late, body) g_test_add("/spans/" path, struct fixture, GUINT_TO_POINTER(late), set_up, body, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("slowest-and-sample", 1, test_slowest_and_sample);
	ADD("told-late", 1000, test_slowest_and_sample);
	ADD("unbiased", 1, test_unbiased);
	ADD("unbiased-told-late", 1000, test_unbiased);
	ADD("of-routes", 1, test_of_routes);
	ADD("of-routes-told-late", 1000, test_of_routes);
	ADD("traces", 0, test_traces);
	ADD("bad-records", 0, test_bad_records);
	return g_test_run();
}
