/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/activity.h"

#include <string.h>

#include "../fixture.h"

#define MS UINT64_C(1000000)

static const struct activity_row *row_named(const struct activity *a, const char *name, uint32_t tid)
{
	for (guint i = 0; i < a->rows->len; i++) {
		const struct activity_row *r = &g_array_index(a->rows, struct activity_row, i);

		if (strcmp(r->name, name) == 0 && (!tid || r->tid == tid))
			return r;
	}
	g_test_message("no row %s", name);
	g_assert_not_reached();
}

static uint64_t classes_ns(const struct activity_row *r)
{
	return r->on_cpu_ns + r->blocked_ns + r->runnable_ns + r->preempted_ns + r->idle_ns;
}

static enum reason reason_of_name(const char *text)
{
	for (int i = 0; i < REASON_COUNT; i++)
		if (strcmp(reason_text((enum reason)i), text) == 0)
			return (enum reason)i;
	g_assert_not_reached();
}

static void test_by_process(void)
{
	struct profile *p = fixture_new();
	struct reasons *reasons = reasons_new(p, NULL);
	struct activity *a = activity_new(p, reasons, ACTIVITY_BY_PROCESS, NULL);
	const struct activity_row *server = row_named(a, "server", 0), *evil = NULL;

	g_assert_cmpuint(a->rows->len, ==, 3);
	g_assert_cmpuint(server->pid, ==, 100);
	g_assert_cmpuint(server->threads_cnt, ==, 3);
	g_assert_cmpuint(server->observed_ns, ==, 3000 * MS);
	g_assert_cmpuint(server->on_cpu_ns, ==, 210 * MS);
	g_assert_cmpuint(server->blocked_ns + server->idle_ns, ==, 2400 * MS);
	g_assert_cmpuint(server->runnable_ns, ==, 180 * MS);
	g_assert_cmpuint(server->preempted_ns, ==, 200 * MS);
	g_assert_cmpint(server->residual_ns, ==, 10 * MS);
	/* the one that was open at the start did not begin in the window */
	g_assert_cmpuint(server->waits, ==, 76);
	evil = &g_array_index(a->rows, struct activity_row, 0);
	for (guint i = 0; i < a->rows->len; i++) {
		evil = &g_array_index(a->rows, struct activity_row, i);
		g_assert_cmpint((int64_t)classes_ns(evil) + evil->residual_ns, ==, (int64_t)evil->observed_ns);
		if (evil->pid == 200)
			g_assert_cmpuint(evil->unlisted_ns, ==, 120 * MS);
	}
	g_assert_cmpuint(a->total.observed_ns, ==, 4400 * MS);
	g_assert_cmpuint(a->total.threads_cnt, ==, 5);
	g_assert_cmpint((int64_t)classes_ns(&a->total) + a->total.residual_ns, ==, 4400 * (int64_t)MS);
	activity_free(a);
	reasons_free(reasons);
	profile_free(p);
}

/* Whatever the rows are by, they hold what is listed, once. */
static void test_sums(void)
{
	struct profile *p = fixture_new();
	struct reasons *reasons = reasons_new(p, NULL);

	for (int by = ACTIVITY_BY_PROCESS; by < ACTIVITY_BY_COUNT; by++) {
		struct activity *a = activity_new(p, reasons, (enum activity_by)by, NULL);
		bool is_of_waits = by >= ACTIVITY_BY_REASON;
		uint64_t off_cpu_ns = 0, waits = 0;

		for (guint i = 0; i < a->rows->len; i++) {
			const struct activity_row *r = &g_array_index(a->rows, struct activity_row, i);

			off_cpu_ns += r->blocked_ns + r->runnable_ns + r->preempted_ns + r->idle_ns;
			waits += r->waits;
			g_assert_cmpuint(activity_percentile_ns(r, 0.5), <=, activity_percentile_ns(r, 0.99));
			g_assert_cmpuint(activity_percentile_ns(r, 0.99), <=, r->max_ns);
		}
		g_assert_cmpuint(off_cpu_ns, ==, (is_of_waits ? 3960 : 4080) * MS);
		/* by reason 44 of them count twice: where they waited, and in the run queue from the waking on */
		g_assert_cmpuint(waits, ==, by == ACTIVITY_BY_REASON ? 128 : 84);
		activity_free(a);
	}
	reasons_free(reasons);
	profile_free(p);
}

/* A thread counts once in a row, wherever its waits stand among those of others. */
static void test_threads(void)
{
	struct profile *p = fixture_new();
	const guint cnt = p->waits->len;

	for (guint i = 0; i < cnt; i++) {
		struct wait w = *profile_wait(p, i);

		profile_add_wait(p, &w);
	}
	struct reasons *reasons = reasons_new(p, NULL);
	struct activity *a = activity_new(p, reasons, ACTIVITY_BY_REASON, NULL);

	for (guint i = 0; i < a->rows->len; i++) {
		const struct activity_row *r = &g_array_index(a->rows, struct activity_row, i);
		const bool is_queue = strcmp(r->name, reason_text(REASON_CPU_QUEUE)) == 0;
		uint64_t threads = 0;

		for (guint k = 0; k < cnt; k++) {
			const struct wait *w = profile_wait(p, k);
			const bool is_queued = w->runnable_ns + w->preempted_ns;

			if (is_queue ? is_queued : reasons_of(reasons, k) == reason_of_name(r->name) && w->state != 'R')
				threads |= UINT64_C(1) << w->thread;
		}
		g_assert_cmpuint(r->threads_cnt, ==, (guint)__builtin_popcountll(threads));
	}
	activity_free(a);
	reasons_free(reasons);
	profile_free(p);
}

/* Of two sets of attributes that make one route one row is made. */
static void test_routes(void)
{
	static const char *const tenants[] = { NULL, "a", "b" };
	struct profile *p = profile_new();
	uint32_t thread = fixture_thread(p, 1, 1, "a", "a");

	for (unsigned i = 0; i < G_N_ELEMENTS(tenants); i++) {
		const struct frame tenant = { .name = tenants[i], .module = "[tenant]", .kind = FRAME_CONTEXT },
				   route = { .name = "/a", .module = "[http.route]", .kind = FRAME_CONTEXT };
		uint32_t node = tenants[i] ? profile_node(p, 0, profile_frame(p, &route)) : 0;
		struct wait w = { .thread = thread, .state = 'S', .count = 1, .blocked_ns = 5 * MS, .max_ns = 5 * MS };

		w.user = node ? profile_node(p, node, profile_frame(p, &tenant)) : 0;
		profile_add_wait(p, &w);
	}
	struct reasons *reasons = reasons_new(p, NULL);
	struct activity *a = activity_new(p, reasons, ACTIVITY_BY_ROUTE, NULL), *b = NULL;

	g_assert_cmpuint(a->rows->len, ==, 2);
	for (guint i = 0; i < a->rows->len; i++) {
		const struct activity_row *r = &g_array_index(a->rows, struct activity_row, i);
		const struct activity_scope scope = { .route = r->key.word[0] };
		bool is_route = strcmp(r->name, "/a") == 0;

		g_assert_true(is_route || strcmp(r->name, "(no request)") == 0);
		g_assert_cmpuint(r->observed_ns, ==, (is_route ? 10 : 5) * MS);
		b = activity_new(p, reasons, ACTIVITY_BY_STACK, &scope);
		g_assert_cmpuint(b->rows->len, ==, is_route ? 2 : 1);
		activity_free(b);
	}
	activity_free(a);
	reasons_free(reasons);
	profile_free(p);
}

static void test_scopes(void)
{
	struct profile *p = fixture_new();
	struct reasons *reasons = reasons_new(p, NULL);
	const struct activity_scope thread = { .pid = 100, .tid = 101 }, queue = { .reason = REASON_CPU_QUEUE + 1 };
	struct activity *a = activity_new(p, reasons, ACTIVITY_BY_STACK, &thread), *b = NULL;
	uint64_t ns = 0;

	g_assert_cmpuint(a->rows->len, ==, 3);
	g_assert_cmpuint(a->total.observed_ns, ==, 1000 * MS);
	activity_free(a);
	b = activity_new(p, reasons, ACTIVITY_BY_STACK, &queue);
	for (guint i = 0; i < b->rows->len; i++) {
		const struct activity_row *r = &g_array_index(b->rows, struct activity_row, i);

		g_assert_cmpuint(r->blocked_ns + r->idle_ns, ==, 0);
		ns += activity_queue_ns(r);
	}
	g_assert_cmpuint(ns, ==, (50 + 30 + 80 + 200 + 20 + 30 + 5) * MS);
	activity_free(b);
	reasons_free(reasons);
	profile_free(p);
}

static void test_names(void)
{
	enum activity_by by = ACTIVITY_BY_PROCESS;

	g_assert_true(activity_by_parse("object", &by));
	g_assert_cmpint(by, ==, ACTIVITY_BY_OBJECT);
	g_assert_false(activity_by_parse("objects", &by));
	g_assert_false(activity_by_parse("", &by));
	g_assert_cmpint(by, ==, ACTIVITY_BY_OBJECT);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/activity/by-process", test_by_process);
	g_test_add_func("/activity/sums", test_sums);
	g_test_add_func("/activity/threads", test_threads);
	g_test_add_func("/activity/scopes", test_scopes);
	g_test_add_func("/activity/routes", test_routes);
	g_test_add_func("/activity/names", test_names);
	return g_test_run();
}
