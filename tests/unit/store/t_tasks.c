/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks in a history. */
#include <glib/gstdio.h>
#include <math.h>

#include "features/tasks/rows.h"
#include "history.h"

#define LOOKS 50
#define PERIOD_NS (S / 5)

static struct task_row *row_of(struct tasks *t, uint64_t key, const char *state, const char *reason, const struct task_frame *frames, unsigned cnt)
{
	bool is_new;
	struct task_row *row = tasks_row(t, key, &is_new);

	if (!is_new)
		return row;
	row->state = state;
	row->reason = reason;
	row->frames = g_memdup2(frames, cnt * sizeof(*frames));
	row->frame_cnt = cnt;
	row->end = STACK_COMPLETE;
	row->creator = (struct task_frame){ "main.start", "/app/main.go", 20 };
	row->parent = 1;
	row->name = "Task-1";
	return row;
}

/* Ten windows of ten seconds; in each there are 10 senders, and in those of even numbers a locker in every second look. */
static void add_window(struct store *s, const struct sim *sim, unsigned i, uint32_t pid)
{
	static const struct task_frame sends[] = { { "runtime.chansend1", "/go/chan.go", 145 }, { "main.producer", "/app/main.go", 31 } };
	static const struct task_frame locks[] = { { "sync.(*Mutex).Lock", "/go/mutex.go", 80 }, { "main.pay", "/app/pay.go", 12 } };
	struct profile *p = sim_window(sim, i * 10 * S, (i + 1) * 10 * S);
	struct tasks *t = tasks_new(TASKS_GO, pid);
	g_autoptr(GError) error = NULL;

	t->program = "shop";
	t->version = "go1.26.10";
	t->rate_hz = 5;
	for (unsigned look = 0; look < LOOKS; look++) {
		for (unsigned k = 0; k < 10; k++)
			tasks_seen(t, row_of(t, 1, "waiting", "chan send", sends, 2), 1);
		if (i % 2 == 0 && look % 2)
			tasks_seen(t, row_of(t, 2, "waiting", "sync.Mutex.Lock", locks, 2), 1);
		t->stale++;
		tasks_look_done(t, p->info.start_ns + (look + 1) * PERIOD_NS, PERIOD_NS);
	}
	t->looked_at_share = 1;
	t->cpu_ns = 1000;
	tasks_finish(t);
	profile_add_tasks(p, t);
	p->info.has_tasks = true;
	store_add(s, p, NULL, &error);
	g_assert_no_error(error);
	profile_free(p);
}

static const struct task_row *find(const struct tasks *t, const char *reason)
{
	for (guint i = 0; i < t->rows->len; i++)
		if (g_strcmp0(tasks_get(t, i)->reason, reason) == 0)
			return tasks_get(t, i);
	g_assert_not_reached();
}

static void assert_tasks(const char *dir, uint64_t from_ns, uint64_t to_ns, unsigned windows, unsigned with_locker)
{
	struct profile *p = read_range(dir, from_ns, to_ns);
	const struct tasks *t = profile_tasks(p, 0);
	const struct task_row *send = find(t, "chan send"), *lock = find(t, "sync.Mutex.Lock");

	g_assert_true(p->info.has_tasks);
	g_assert_cmpuint(p->tasks->len, ==, 1);
	g_assert_cmpstr(t->program, ==, "shop");
	g_assert_cmpstr(t->version, ==, "go1.26.10");
	g_assert_cmpuint(t->window_ns, ==, windows * 10 * S);
	g_assert_cmpuint(t->looks, ==, windows * LOOKS);
	g_assert_cmpuint(t->stale, ==, windows * LOOKS);
	g_assert_cmpuint(t->cpu_ns, ==, windows * 1000);
	g_assert_cmpfloat(t->looked_at_share, >, 0.999);
	g_assert_cmpuint(t->rows->len, ==, 2);
	g_assert_cmpuint(send->task_ns, ==, windows * 100 * S);
	g_assert_cmpuint(send->seen, ==, windows * 10 * LOOKS);
	g_assert_cmpfloat(fabs(send->tasks - 10), <, 0.001);
	g_assert_cmpuint(lock->task_ns, ==, with_locker * 5 * S);
	/* of independent windows; each of them is at least a period, rounded up by an eighth as it is kept, and summed up twice */
	g_assert_cmpfloat((double)send->task_se_ns, >=, sqrt(windows) * (double)PERIOD_NS * 0.999);
	g_assert_cmpfloat((double)send->task_se_ns, <=, sqrt(windows) * (double)PERIOD_NS * 1.5);
	g_assert_cmpuint(lock->task_se_ns, >, PERIOD_NS);
	g_assert_cmpuint(lock->frame_cnt, ==, 2);
	g_assert_cmpstr(lock->frames[0].name, ==, "sync.(*Mutex).Lock");
	g_assert_cmpstr(lock->frames[1].file, ==, "/app/pay.go");
	g_assert_cmpuint(lock->frames[1].line, ==, 12);
	g_assert_cmpstr(lock->creator.name, ==, "main.start");
	g_assert_cmpuint(lock->creator.line, ==, 20);
	g_assert_cmpstr(lock->name, ==, "Task-1");
	g_assert_cmpuint(lock->parent, ==, 1);
	profile_free(p);
}

/* Windows, and the minute that they become. */
static void tasks_are_kept(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(3, 5, 100 * S);
	struct store *s = open_store(dir);

	for (unsigned i = 0; i < 10; i++)
		add_window(s, sim, i, 7);
	assert_tasks(dir, 0, 10 * S, 1, 1);
	assert_tasks(dir, 0, 100 * S, 10, 5);
	store_close(s);
	g_autofree char *fine = g_build_filename(dir, "2025-11-25.10s.db", NULL);

	g_assert_cmpint(g_unlink(fine), ==, 0);
	assert_tasks(dir, 0, 60 * S, 6, 3);
	sim_free(sim);
	remove_dir(dir);
}

static void processes_are_apart(void)
{
	char *dir = new_dir();
	struct sim *sim = sim_new(3, 5, 100 * S);
	struct store *s = open_store(dir);

	for (unsigned i = 0; i < 4; i++)
		add_window(s, sim, i, 7 + i % 2);
	store_close(s);
	struct profile *p = read_range(dir, 0, 40 * S);

	g_assert_cmpuint(p->tasks->len, ==, 2);
	for (guint i = 0; i < 2; i++) {
		g_assert_cmpuint(profile_tasks(p, i)->window_ns, ==, 20 * S);
		g_assert_cmpuint(find(profile_tasks(p, i), "chan send")->task_ns, ==, 200 * S);
	}
	profile_free(p);
	sim_free(sim);
	remove_dir(dir);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store/tasks/kept", tasks_are_kept);
	g_test_add_func("/store/tasks/processes-are-apart", processes_are_apart);
	return g_test_run();
}
