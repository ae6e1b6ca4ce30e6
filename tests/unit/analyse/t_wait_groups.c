/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "../fixture.h"
#include "analyse/wait_groups.h"
#include "explain/findings.h"
#include "analyse/top.h"
#include "render/json/parts.h"
#include "render/json/write.h"

#define MS UINT64_C(1000000)

/* Nothing is lost and nothing told twice. */
static void test_sums(void)
{
	struct profile *p = fixture_new();
	struct findings *f = findings_new(p, NULL);
	struct wait_groups *h = wait_groups_new(f->profile, f->reasons, NULL);
	struct top *top = top_new(p, NULL, TOP_BY_STACK, WEIGHT_OFF_CPU);
	uint64_t sum = 0, parts = 0, count = 0, hist = 0, waits_hist = 0, waits_count = 0;

	for (guint i = 0; i < h->rows->len; i++) {
		const struct wait_group *r = &g_array_index(h->rows, struct wait_group, i);

		g_assert_true(!i || (r - 1)->off_cpu_ns >= r->off_cpu_ns);
		g_assert_cmpuint(r->stacks_cnt, >=, 1);
		g_assert_cmpuint(r->threads_cnt, >=, 1);
		sum += r->off_cpu_ns;
		parts += r->blocked_ns + r->runnable_ns + r->preempted_ns;
		count += r->count;
		for (unsigned n = 0; n < PROFILE_HIST_SLOTS; n++)
			hist += r->hist[n];
	}
	for (uint32_t i = 0; i < p->waits->len; i++) {
		waits_count += profile_wait(p, i)->count;
		for (unsigned n = 0; n < PROFILE_HIST_SLOTS; n++)
			waits_hist += profile_wait(p, i)->hist[n];
	}
	g_assert_cmpuint(sum, ==, 3960 * MS);
	g_assert_cmpuint(parts, ==, sum);
	g_assert_cmpuint(h->sum_ns, ==, sum);
	g_assert_cmpuint(count, ==, waits_count);
	g_assert_cmpuint(hist, ==, waits_hist);
	g_assert_cmpuint(h->rows->len, <=, top->rows->len);
	top_free(top);
	wait_groups_free(h);
	findings_free(f);
	profile_free(p);
}

/* Two ways to the same wait are one row, which says so; another thread's name, reason or idle time is another row. */
static void test_together(void)
{
	struct profile *p = fixture_new();
	struct wait w = { .thread = 0, .state = 'S', .count = 3, .blocked_ns = 900 * MS, .max_ns = 300 * MS };
	struct findings *f;
	struct wait_groups *h;
	unsigned found = 0;

	w.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/usr/bin/server other_way@/usr/bin/server do_work@/usr/bin/server "
			       "pthread_cond_wait@@GLIBC_2.3.2@/lib/libc.so.6");
	w.kernel = profile_wait(p, 0)->kernel;
	profile_add_wait(p, &w);
	f = findings_new(p, NULL);
	h = wait_groups_new(f->profile, f->reasons, NULL);
	for (guint i = 0; i < h->rows->len; i++) {
		const struct wait_group *r = &g_array_index(h->rows, struct wait_group, i);
		const struct wait *most = profile_wait(p, r->wait);

		if (strcmp(profile_thread(p, most->thread)->comm, "server") || most->state != 'S' || r->stacks_cnt < 2)
			continue;
		found++;
		g_assert_cmpuint(r->stacks_cnt, ==, 2);
		g_assert_cmpuint(most->user, ==, w.user);
		g_assert_cmpuint(r->threads_cnt, ==, 1);
		g_assert_cmpuint(r->max_ns, ==, 300 * MS);
		g_assert_cmpuint(r->off_cpu_ns, ==, 1450 * MS);
	}
	g_assert_cmpuint(found, ==, 1);
	wait_groups_free(h);
	findings_free(f);
	profile_free(p);
}

static void test_selection(void)
{
	struct profile *p = fixture_new();
	struct selection *s = selection_new(p, &(struct query){ .comm = "server" }, NULL), *none = selection_new(p, &(struct query){ .comm = "nobody" }, NULL);
	struct findings *f = findings_new(p, s);
	struct wait_groups *h = wait_groups_new(f->profile, f->reasons, s), *empty = wait_groups_new(f->profile, f->reasons, none);

	g_assert_cmpuint(h->sum_ns, ==, 980 * MS);
	g_assert_true(!empty->sum_ns && !empty->rows->len);
	wait_groups_free(h);
	wait_groups_free(empty);
	wait_groups_free(NULL);
	findings_free(f);
	selection_free(s);
	selection_free(none);
	profile_free(p);
}

/* Processes of one name that each end a few waits are told together, also where they are too many to be told apart. */
static void test_many_processes(void)
{
	enum { CNT = 700 };
	g_autoptr(GString) json = g_string_new(NULL);
	struct json j;
	struct profile *p = profile_new();
	struct wait w = { .thread = fixture_thread(p, 1, 1, "node", "node"), .state = 'S', .count = CNT, .blocked_ns = CNT * MS };

	p->info.has_wakers = true;
	p->info.duration_ns = 2 * CNT * MS;
	w.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/usr/bin/node append@/usr/bin/node read@/lib/libc.so.6");
	w.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "do_syscall_64 ksys_read anon_pipe_read schedule");
	profile_add_wait(p, &w);
	for (uint32_t i = 0; i < CNT; i++) {
		const struct waker by = { .pid = 100 + i, .tid = 100 + i, .comm = i % 7 ? "sleep" : "true" };
		const struct wake wake = { .waker = profile_waker(p, &by), .count = 1, .blocked_ns = MS };

		profile_add_wake(p, &wake);
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct finding_by *by = &g_array_index(e->findings->rows, struct finding, 0).by;

	g_assert_cmpstr(by->comm, ==, "sleep");
	g_assert_cmpuint(by->blocked_ns, ==, CNT / 7 * 6 * MS);
	/* nor does JSON name one of them */
	json_init(&j, json);
	json_object_begin(&j);
	json_findings(&j, e);
	json_object_end(&j);
	g_assert_nonnull(strstr(json->str, "\"comm\":\"sleep\",\"several\":true,\"pid\":null,\"tid\":null,"));
	explanation_free(e);
	profile_free(p);
}

/* What a single look saw is not the first thing to be told, however long the period that it stands for. */
static void test_one_look(void)
{
	struct profile *p = profile_new();
	struct wait w = { .thread = fixture_thread(p, 1, 1, "node", "node"), .state = 'S' };

	p->info.looks.rounds = 10;
	p->info.duration_ns = 1000 * MS;
	p->info.unknown = UNKNOWN_COUNTS | UNKNOWN_DURATIONS;
	w.blocked_ns = 200 * MS;
	w.off_cpu_se_ns = 210 * MS;
	w.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "do_syscall_64 ksys_read anon_pipe_read schedule");
	profile_add_wait(p, &w);
	w.blocked_ns = 100 * MS;
	w.off_cpu_se_ns = 10 * MS;
	w.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "do_syscall_64 ksys_write anon_pipe_write schedule");
	w.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/usr/bin/node append@/usr/bin/node write@/lib/libc.so.6");
	profile_add_wait(p, &w);
	struct findings *f = findings_new(p, NULL);
	const struct finding *sure = &g_array_index(f->rows, struct finding, 0), *doubtful = sure + 1;

	g_assert_cmpuint(f->rows->len, ==, 2);
	g_assert_cmpuint(sure->time_ns, ==, 100 * MS);
	g_assert_false(sure->is_doubtful);
	g_assert_cmpuint(sure->looks, ==, 1);
	g_assert_cmpuint(doubtful->time_ns, ==, 200 * MS);
	g_assert_true(doubtful->is_doubtful);
	g_assert_cmpuint(doubtful->looks, ==, 2);
	findings_free(f);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analyse/headlines/sums", test_sums);
	g_test_add_func("/analyse/headlines/together", test_together);
	g_test_add_func("/analyse/headlines/selection", test_selection);
	g_test_add_func("/analyse/headlines/many-processes", test_many_processes);
	g_test_add_func("/analyse/headlines/one-look", test_one_look);
	return g_test_run();
}
