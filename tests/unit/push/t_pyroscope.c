/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "exchange/pprof.h"
#include "exchange/source.h"
#include "base/wire.h"
#include "features/tasks/rows.h"
#include "push/series.h"

#define STACKS 40000
#define NS 1000

/* Of one process, as many stacks, each of `depth` frames of its own. */
static struct profile *large_profile(unsigned depth, guint stacks)
{
	struct profile *p = profile_new();
	const struct thread t = { .pid = 1, .tid = 1, .comm = profile_string(p, "server"), .process = profile_string(p, "server"),
				  .to_ns = (uint64_t)stacks * NS, .blocked_ns = (uint64_t)stacks * NS };

	p->info.host = profile_string(p, "db1");
	p->info.start_unix_ns = UINT64_C(1700000000000000000);
	p->info.duration_ns = (uint64_t)stacks * NS;
	profile_add_thread(p, &t);
	for (guint i = 0; i < stacks; i++) {
		struct wait w = { .state = 'D', .count = 2, .blocked_ns = NS, .max_ns = NS / 2 };

		for (unsigned k = 0; k < depth; k++) {
			g_autofree char *name = g_strdup_printf("a_function_of_that_name_%u_%u", i, k);
			const struct frame f = { .name = name, .module = "/usr/bin/server", .offset = i * 16 + k };

			w.user = profile_node(p, w.user, profile_frame(p, &f));
		}
		profile_add_wait(p, &w);
	}
	return p;
}

/* The pprof that a request holds, unpacked. */
static GByteArray *pprof_in(const struct push_unit *u)
{
	const struct push_request *r = g_ptr_array_index(u->requests, 0);
	gsize len_bytes;
	const uint8_t *body = g_bytes_get_data(r->body, &len_bytes);
	struct cursor c = { .at = body, .end = body + len_bytes };
	struct wire_field f, part;
	GByteArray *found = NULL;

	g_assert_true(wire_next(&c, &f));
	g_assert_cmpuint(f.number, ==, 1);
	g_assert_true(c.at == c.end);	/* one series */
	while (wire_next(&f.bytes, &part)) {
		struct wire_field raw;

		if (part.number != 2)
			continue;
		g_assert_null(found);
		g_assert_true(wire_next(&part.bytes, &raw));
		struct source *s = source_of_bytes(raw.bytes.at, cursor_left(&raw.bytes));

		found = source_all(s, NULL);
		source_free(s);
	}
	g_assert_nonnull(found);
	return found;
}

/* Samples and their off-CPU time; *ret_time_ns is the profile's own. */
static uint64_t sum_of(const GByteArray *pprof, guint *ret_samples, uint64_t *ret_time_ns)
{
	struct cursor c = { .at = pprof->data, .end = pprof->data + pprof->len };
	struct wire_field f, value;
	uint64_t sum = 0, number;

	*ret_samples = 0;
	while (wire_next(&c, &f)) {
		if (f.number == PROFILE_TIME_NS)
			*ret_time_ns = f.value;
		if (f.number != PROFILE_SAMPLE)
			continue;
		++*ret_samples;
		while (wire_next(&f.bytes, &value)) {
			guint at = 0;

			while (value.number == SAMPLE_VALUE && wire_packed_next(&value, &number))
				sum += at++ == 1 ? number : 0;
		}
	}
	g_assert_false(c.bad);
	return sum;
}

static void check(unsigned depth, guint stacks)
{
	struct profile *p = large_profile(depth, stacks);
	struct services *services = services_new(SERVICES_MAX);
	struct reasons *reasons = reasons_new(p, NULL);
	g_autoptr(GPtrArray) units = series_units(p, reasons, services, &pyroscope_series, NULL);
	uint64_t sum_ns = 0, time_ns = 0, last_ns = 0;
	guint all = 0, samples;

	g_assert_cmpuint(units->len, >, 1);
	for (guint i = 0; i < units->len; i++) {
		g_autoptr(GByteArray) pprof = pprof_in(g_ptr_array_index(units, i));

		g_assert_cmpuint(pprof->len, <=, PYROSCOPE_BYTES_MAX);
		sum_ns += sum_of(pprof, &samples, &time_ns);
		g_assert_cmpuint(samples, <=, PYROSCOPE_SAMPLES_MAX);
		g_assert_cmpuint(time_ns, >, last_ns);
		last_ns = time_ns;
		all += samples;
	}
	g_assert_cmpuint(sum_ns, ==, (uint64_t)stacks * NS);
	g_assert_cmpuint(all, ==, stacks);
	reasons_free(reasons);
	services_free(services);
	profile_free(p);
}

static void test_many_stacks(void)
{
	check(1, STACKS);
}

static void test_large_stacks(void)
{
	check(60, 2000);
}

static struct task_row *row_of(struct tasks *t, uint64_t key, const char *reason)
{
	static const struct task_frame frames[] = { { "runtime.gopark", "/go/proc.go", 363 }, { "main.work", "/app/main.go", 7 } };
	bool is_new;
	struct task_row *row = tasks_row(t, key, &is_new);

	row->state = "waiting";
	row->reason = reason;
	if (is_new)
		row->frames = g_memdup2(frames, sizeof(frames));
	row->frame_cnt = 2;
	row->end = STACK_COMPLETE;
	return row;
}

static bool holds(const struct push_unit *u, const char *text)
{
	const struct push_request *r = g_ptr_array_index(u->requests, 0);
	gsize len_bytes;
	const char *body = g_bytes_get_data(r->body, &len_bytes);

	return memmem(body, len_bytes, text, strlen(text));
}

/* Series of their own beside that of threads: what waits, and what has nothing to do. */
static void test_tasks(void)
{
	struct profile *p = large_profile(1, 2);
	struct services *services = services_new(SERVICES_MAX);
	struct reasons *reasons = reasons_new(p, NULL);
	struct tasks *t = tasks_new(TASKS_GO, 1);
	uint64_t sums[3] = { 0 }, time_ns;
	guint samples;

	t->program = "server";
	for (unsigned look = 0; look < 5; look++) {
		for (unsigned k = 0; k < 10; k++)
			tasks_seen(t, row_of(t, 1, "chan send"), 1);
		tasks_seen(t, row_of(t, 2, "GC sweep wait"), 1);
		tasks_look_done(t, p->info.start_ns + (look + 1) * NS, NS);
	}
	tasks_finish(t);
	profile_add_tasks(p, t);
	p->info.has_tasks = true;
	g_autoptr(GPtrArray) units = series_units(p, reasons, services, &pyroscope_series, NULL);

	g_assert_cmpuint(units->len, ==, 3);
	for (guint i = 0; i < units->len; i++) {
		const struct push_unit *u = g_ptr_array_index(units, i);
		g_autoptr(GByteArray) pprof = pprof_in(u);

		g_assert_cmpuint(u->part, ==, i);
		g_assert_true(holds(u, i ? "tasks" : "off_cpu"));
		g_assert_true(memmem(pprof->data, pprof->len, i ? "task_time" : "off_cpu", i ? 9 : 7));
		sums[i] = sum_of(pprof, &samples, &time_ns);
		g_assert_cmpuint(samples, ==, i ? 1 : 2);
	}
	g_assert_cmpuint(sums[0], ==, 2 * NS);
	g_assert_cmpuint(sums[1], ==, 50 * NS);
	g_assert_cmpuint(sums[2], ==, 5 * NS);
	reasons_free(reasons);
	services_free(services);
	profile_free(p);
}

static void test_imported(void)
{
	struct profile *p = large_profile(1, 2);
	struct services *services = services_new(SERVICES_MAX);
	g_autoptr(GError) error = NULL;

	p->info.imported = profile_string(p, "pprof");
	g_assert_null(series_units(p, NULL, services, &pyroscope_series, &error));
	g_assert_nonnull(strstr(error->message, "only recordings"));
	services_free(services);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/push/pyroscope/many-stacks", test_many_stacks);
	g_test_add_func("/push/pyroscope/large-stacks", test_large_stacks);
	g_test_add_func("/push/pyroscope/imported", test_imported);
	g_test_add_func("/push/pyroscope/tasks", test_tasks);
	return g_test_run();
}
