/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/short_lived.h"

#include <string.h>

#include "profile/profile.h"

#define MS UINT64_C(1000000)
#define START (100 * 1000 * MS)
#define WINDOW (10 * 1000 * MS)
#define BOOT (7 * 1000 * MS)	/* was asleep for so long since it was booted */

static uint32_t stack_of(struct profile *p, const char *name)
{
	const struct frame f = { .name = name, .module = "/bin/x" };

	return profile_node(p, 0, profile_frame(p, &f));
}

/* A thread that lived from then to then within the window; it was on CPU for a third, and blocked the rest. */
static uint32_t add_thread(struct profile *p, uint32_t pid, uint32_t tid, const char *comm, const char *service, uint64_t from_ns,
			   uint64_t to_ns, uint32_t flags)
{
	uint64_t observed = to_ns - from_ns, on_cpu = observed / 3;
	const struct thread t = {
		.pid = pid, .tid = tid, .start_ns = from_ns + BOOT, .comm = profile_string(p, comm), .process = profile_string(p, comm),
		.service = profile_string(p, service), .flags = flags, .from_ns = from_ns, .to_ns = to_ns, .on_cpu_ns = on_cpu,
		.blocked_ns = observed - on_cpu - 30, .runnable_ns = 10, .preempted_ns = 20, .filtered_ns = 3, .lost_ns = 4, .switches = 5,
	};
	uint32_t thread = profile_add_thread(p, &t);
	const struct state_total sleeping = { .thread = thread, .state = 'S', .count = 2, .blocked_ns = t.blocked_ns, .runnable_ns = 10 },
				 preempted = { .thread = thread, .state = 'R', .count = 1, .preempted_ns = 20 };

	profile_add_state(p, &sleeping);
	profile_add_state(p, &preempted);
	return thread;
}

static uint32_t add_wait(struct profile *p, uint32_t thread, const char *at, uint32_t object)
{
	const struct thread *t = profile_thread(p, thread);
	struct wait w = {
		.thread = thread, .user = stack_of(p, at), .state = 'S', .count = 2, .blocked_ns = t->blocked_ns, .runnable_ns = 10,
		.max_ns = t->blocked_ns, .object = object,
	};

	w.hist[20] = 2;
	return profile_add_wait(p, &w);
}

static void add_sample(struct profile *p, uint32_t thread, const char *at, uint64_t samples)
{
	const struct on_cpu_sample s = { .thread = thread, .user = stack_of(p, at), .samples = samples, .weight_ns = samples * 100 };

	profile_add_on_cpu(p, &s);
}

/* A shell that stays, with a storm of children of two kinds, each waking the shell and waiting for a pipe. */
static struct profile *storm(unsigned cnt)
{
	struct profile *p = profile_new();
	uint32_t shell;

	p->info.start_ns = START;
	p->info.duration_ns = WINDOW;
	p->info.on_cpu_hz = 19;
	shell = add_thread(p, 10, 10, "bash", "job.service", START, START + WINDOW, THREAD_OPEN_AT_END);
	/* One that has lived long, and ends. */
	add_wait(p, add_thread(p, 11, 11, "old", NULL, START, START + 50 * MS, THREAD_EXITED), "read", 0);
	g_array_index(p->threads, struct thread, 1).start_ns = BOOT;
	for (unsigned i = 0; i < cnt; i++) {
		const char *comm = i % 2 ? "true" : "cc1";
		g_autofree char *name = g_strdup_printf("heap 0x%x", 0x5500 + i), *file = g_strdup_printf("/usr/include/%u.h", i);
		const struct object lock = { .kind = LOCK_MUTEX, .name = name, .operation = "FUTEX_WAIT", .place = "[heap]", .pid = 100 + i,
					     .addr = 0x5500 + i };
		const struct object read = { .kind = OBJECT_FILE, .name = file }, child = { .kind = OBJECT_CHILD, .name = comm, .pid = 100 + i };
		uint32_t thread = add_thread(p, 100 + i, 100 + i, comm, "job.service", START + i * MS, START + i * MS + 5 * MS, THREAD_EXITED);
		uint32_t wait = add_wait(p, thread, "futex", profile_object(p, i % 4 < 2 ? &lock : &read) + 1);
		uint32_t shells = add_wait(p, shell, "wait4", profile_object(p, &child) + 1);
		const struct waker who = { .pid = 100 + i, .tid = 100 + i, .start_ns = 1 + i, .comm = profile_string(p, comm), .user = stack_of(p, "exit") };
		const struct wake wake = { .wait = shells, .waker = profile_waker(p, &who), .count = 1, .blocked_ns = 100 };
		const struct waker timer = { .irq = profile_string(p, "timer"), .comm = "" };
		const struct wake by_timer = { .wait = wait, .waker = profile_waker(p, &timer), .count = 1, .blocked_ns = 7 };

		const struct chain_node by_child = { .waker = wake.waker, .end = CHAIN_AWAKE };
		const struct story story = { .wake = profile_add_wake(p, &wake), .chain = profile_chain(p, &by_child), .count = 1,
					     .blocked_ns = 100, .hop[0] = { .ran_ns = 60, .runnable_ns = 40 } };

		profile_add_wake(p, &by_timer);
		profile_add_story(p, &story);
		add_sample(p, thread, "main", 1 + i % 3);
	}
	profile_add_loss(p, "ring_stack", "the ring was full", 3, 0);
	return p;
}

struct sums {
	uint64_t observed, on_cpu, blocked, runnable, preempted, filtered, lost, switches;
	uint64_t wait_cnt, wait_blocked, wait_runnable, hist, wake_cnt, wake_blocked, state_cnt, state_ns, samples, weight;
	uint64_t story_cnt, story_ran, chain_wakers;
	int64_t residual;
};

static struct sums sums_of(const struct profile *p)
{
	struct sums s = { 0 };

	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		s.observed += thread_observed_ns(t);
		s.residual += thread_residual_ns(t);
		s.on_cpu += t->on_cpu_ns;
		s.blocked += t->blocked_ns;
		s.runnable += t->runnable_ns;
		s.preempted += t->preempted_ns;
		s.filtered += t->filtered_ns;
		s.lost += t->lost_ns;
		s.switches += t->switches;
	}
	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);

		s.wait_cnt += w->count;
		s.wait_blocked += w->blocked_ns;
		s.wait_runnable += w->runnable_ns;
		for (unsigned k = 0; k < PROFILE_HIST_SLOTS; k++)
			s.hist += w->hist[k];
	}
	for (guint i = 0; i < p->wakes->len; i++) {
		s.wake_cnt += profile_wake(p, i)->count;
		s.wake_blocked += profile_wake(p, i)->blocked_ns;
	}
	for (guint i = 0; i < p->stories->len; i++) {
		s.story_cnt += profile_story(p, i)->count;
		s.story_ran += profile_story(p, i)->hop[0].ran_ns;
		s.chain_wakers += profile_chain_len(p, profile_story(p, i)->chain);
	}
	for (guint i = 0; i < p->states->len; i++) {
		const struct state_total *t = profile_state(p, i);

		s.state_cnt += t->count;
		s.state_ns += t->blocked_ns + t->runnable_ns + t->preempted_ns;
	}
	for (guint i = 0; i < p->on_cpu->len; i++) {
		s.samples += g_array_index(p->on_cpu, struct on_cpu_sample, i).samples;
		s.weight += g_array_index(p->on_cpu, struct on_cpu_sample, i).weight_ns;
	}
	return s;
}

static const struct thread *find(const struct profile *p, uint32_t pid, const char *comm)
{
	for (guint i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == pid && strcmp(profile_thread(p, i)->comm, comm) == 0)
			return profile_thread(p, i);
	return NULL;
}

static const struct short_lived_options folds = { .has_boot_offset = true, .boot_offset_ns = BOOT, .may_fold = true };

static void test_storm(void)
{
	g_autoptr(GError) error = NULL;
	struct profile *p = storm(1000), *folded = short_lived_fold(p, &folds);
	const struct sums before = sums_of(p), after = sums_of(folded);

	g_assert_cmpmem(&before, sizeof(before), &after, sizeof(after));
	profile_check(folded, &error);
	g_assert_no_error(error);
	/* the shell, the one that had lived long, and two rows */
	g_assert_cmpuint(folded->threads->len, ==, 4);
	const struct thread *t = find(folded, 0, "true");
	g_assert_cmpuint(t->tid, ==, 0);
	g_assert_cmpuint(thread_observed_ns(t), ==, 500 * 5 * MS);
	g_assert_cmpstr(t->service, ==, "job.service");
	g_assert_cmpint(thread_residual_ns(t), ==, 0);
	g_assert_nonnull(find(folded, 10, "bash"));
	g_assert_nonnull(find(folded, 11, "old"));
	/* "old"; of each kind its heap and its headers; the shell's for each kind of child */
	g_assert_cmpuint(folded->waits->len, ==, 7);
	g_assert_cmpuint(folded->wakes->len, ==, 6);
	g_assert_cmpuint(folded->on_cpu->len, ==, 2);
	g_assert_cmpuint(folded->states->len, ==, 8);
	for (guint i = 1; i < folded->states->len; i++)
		g_assert_cmpuint(profile_state(folded, i - 1)->thread, <=, profile_state(folded, i)->thread);
	g_assert_cmpuint(folded->losses->len, ==, 1);
	for (guint i = 0; i < folded->waits->len; i++) {
		const struct object *o = profile_wait_object(folded, profile_wait(folded, i));

		if (o && o->kind == LOCK_MUTEX)
			g_assert_cmpstr(o->name, ==, "heap *");
		else if (o && o->kind == OBJECT_FILE)
			g_assert_cmpstr(o->name, ==, "/usr/include/*");
	}
	profile_free_rows(folded);
	profile_free(p);
}

/* A process that stays keeps its number; only its threads of a moment are one row. */
static void test_threads_of_a_process(void)
{
	struct profile *p = storm(0), *folded;

	for (unsigned i = 0; i < 20; i++)
		add_thread(p, 10, 200 + i, "helper", "job.service", START + i * MS, START + i * MS + MS, THREAD_EXITED);
	folded = short_lived_fold(p, &folds);
	g_assert_cmpuint(folded->threads->len, ==, 3);
	g_assert_cmpuint(thread_observed_ns(find(folded, 10, "helper")), ==, 20 * MS);
	g_assert_cmpuint(find(folded, 10, "helper")->tid, ==, 0);
	profile_free_rows(folded);
	profile_free(p);
}

/* Nothing to fold: one alone keeps its number, as does a thread that lives on or has lived long. */
static void test_nothing(void)
{
	static const struct short_lived_options off = { .has_boot_offset = true, .boot_offset_ns = BOOT };
	struct profile *p = storm(1), *more = storm(10);

	g_assert_null(short_lived_fold(p, &folds));
	g_assert_null(short_lived_fold(more, &off));
	profile_free(p);
	profile_free(more);
}

/* However many names there are. */
static void test_bound(void)
{
	struct profile *p = storm(0), *folded;
	struct sums before, after;

	for (unsigned i = 0; i < 2 * (SHORT_LIVED_ROWS_MAX + 500); i++) {
		g_autofree char *comm = g_strdup_printf("job-%u", i / 2);

		add_wait(p, add_thread(p, 1000 + i, 1000 + i, comm, NULL, START + MS, START + 3 * MS, THREAD_EXITED), "read", 0);
	}
	folded = short_lived_fold(p, &folds);
	before = sums_of(p);
	after = sums_of(folded);
	g_assert_cmpmem(&before, sizeof(before), &after, sizeof(after));
	g_assert_cmpuint(folded->threads->len, ==, SHORT_LIVED_ROWS_MAX + 3);
	g_assert_cmpuint(thread_observed_ns(find(folded, 0, "(others)")), ==, 2 * 500 * 2 * MS);
	profile_free_rows(folded);
	profile_free(p);
}

/*
 * What was not seen up to the end is gone, whenever it began, and though nobody saw it end.  A thread that is there now
 * may have the number of one that woke somebody before.
 */
static void test_gone(void)
{
	static const struct short_lived_options gone = { .may_fold = true, .even_gone = true };
	struct profile *p = storm(0), *folded;

	for (unsigned i = 0; i < 20; i++)
		add_wait(p, add_thread(p, 1000 + i, 1000 + i, "worker", NULL, START, START + 3 * MS, 0), "read", 0);
	const struct waker before_it = { .pid = 2000, .tid = 2000, .start_ns = 1, .comm = profile_string(p, "worker") };
	uint32_t wait = add_wait(p, add_thread(p, 2000, 2000, "worker", NULL, START, START + WINDOW, THREAD_OPEN_AT_END),
				 "read", 0);
	const struct wake wake = { .wait = wait, .waker = profile_waker(p, &before_it), .count = 1 };

	profile_add_wake(p, &wake);
	g_assert_null(short_lived_fold(p, &folds));
	folded = short_lived_fold(p, &gone);
	const struct sums before = sums_of(p), after = sums_of(folded);

	g_assert_cmpmem(&before, sizeof(before), &after, sizeof(after));
	g_assert_cmpuint(thread_observed_ns(find(folded, 0, "worker")), ==, 20 * 3 * MS);
	g_assert_cmpuint(find(folded, 2000, "worker")->tid, ==, 2000);
	for (guint i = 0; i < folded->wakes->len; i++)
		g_assert_cmpuint(profile_get_waker(folded, profile_wake(folded, i)->waker)->tid, !=, 2000);
	profile_free_rows(folded);
	profile_free(p);
}

static bool is_bash(const struct thread *t, void *data)
{
	return strcmp(t->comm, data) == 0;
}

static void test_excluded(void)
{
	const struct short_lived_options options = { .has_boot_offset = true, .boot_offset_ns = BOOT, .is_excluded = is_bash, .data = (char *)"bash" };
	struct profile *p = storm(2), *folded = short_lived_fold(p, &options);
	const struct sums before = sums_of(p), after = sums_of(folded);

	g_assert_cmpuint(after.observed, ==, before.observed);
	g_assert_cmpuint(after.wait_blocked, ==, before.wait_blocked);
	g_assert_null(find(folded, 10, "bash"));
	g_assert_nonnull(find(folded, 0, "(excluded)"));
	g_assert_null(find(folded, 0, "(excluded)")->service);
	for (guint i = 0; i < folded->waits->len; i++) {
		const struct wait *w = profile_wait(folded, i);

		if (strcmp(profile_thread(folded, w->thread)->comm, "(excluded)") == 0)
			g_assert_true(!w->user && !w->kernel && !w->object);
	}
	g_assert_nonnull(find(folded, 100, "cc1"));
	profile_free_rows(folded);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/short-lived/storm", test_storm);
	g_test_add_func("/short-lived/threads-of-a-process", test_threads_of_a_process);
	g_test_add_func("/short-lived/nothing", test_nothing);
	g_test_add_func("/short-lived/bound", test_bound);
	g_test_add_func("/short-lived/gone", test_gone);
	g_test_add_func("/short-lived/excluded", test_excluded);
	return g_test_run();
}
