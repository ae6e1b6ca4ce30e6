/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When the longest waits began, and who ended them: kept by stack and window, through cuts and sums. */
#include <glib.h>
#include <sqlite3.h>

#include "history.h"
#include "store/blob.h"
#include "store/store.h"

#define MS UINT64_C(1000000)
#define MONO (UINT64_C(5) * S)
#define STEP (10 * S)

struct window {
	struct profile *p;
	uint32_t thread[2], stack, waker;
	uint64_t from_unix_ns;
};

/* Two threads of one process, one stack, one waker; `no` counts windows of 10 s. */
static struct window new_window(unsigned no)
{
	struct profile *p = profile_new();
	struct window w = { .p = p, .from_unix_ns = START + no * STEP };
	const struct frame frame = { .name = "wait_for_it", .kind = FRAME_USER };
	const struct waker waker = { .pid = 7, .tid = 9, .comm = "feeder" };

	p->info.start_unix_ns = w.from_unix_ns;
	p->info.start_ns = MONO + no * STEP;
	p->info.duration_ns = STEP;
	p->info.has_wakers = true;
	for (unsigned i = 0; i < 2; i++) {
		const struct thread t = {
			.pid = 7, .tid = 7 + i, .comm = profile_string(p, "eater"), .process = profile_string(p, "eater"),
			.from_ns = p->info.start_ns, .to_ns = p->info.start_ns + STEP, .on_cpu_ns = STEP,
		};

		w.thread[i] = profile_add_thread(p, &t);
	}
	w.stack = profile_node(p, 0, profile_frame(p, &frame));
	w.waker = profile_waker(p, &waker);
	return w;
}

/* That many waits, the longest of which began so long after the window. */
static void add_waits(struct window *w, unsigned thread, uint8_t flags, uint64_t count, uint64_t max_ns, uint64_t began_ns)
{
	struct thread *t = &g_array_index(w->p->threads, struct thread, w->thread[thread]);
	struct wait wait = {
		.thread = w->thread[thread], .user = w->stack, .state = 'S', .flags = flags, .count = count, .blocked_ns = max_ns + count - 1,
		.max_ns = max_ns, .max_start_unix_ns = w->from_unix_ns + began_ns, .max_waker = w->waker + 1,
	};

	wait.hist[profile_hist_slot(max_ns)] += 1;
	wait.hist[0] += (uint32_t)count - 1;
	struct wake wake = { .wait = profile_add_wait(w->p, &wait), .waker = w->waker, .count = count, .blocked_ns = wait.blocked_ns };

	wake.hist[0] = (uint32_t)count;
	profile_add_wake(w->p, &wake);
	t->blocked_ns += wait.blocked_ns;
	t->on_cpu_ns -= wait.blocked_ns;
}

static void add(struct store *s, struct window *w)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(store_add(s, w->p, NULL, &error));
	g_assert_no_error(error);
	profile_free(w->p);
}

static struct profile *read_all(const char *dir, unsigned windows)
{
	g_autoptr(GError) error = NULL;
	struct profile *p = store_read(dir, START, START + windows * STEP, &error);

	g_assert_no_error(error);
	g_assert_true(profile_check(p, &error));
	return p;
}

static const struct wait *wait_of(const struct profile *p, uint32_t tid, uint8_t flags)
{
	for (guint i = 0; i < p->waits->len; i++)
		if (profile_thread(p, profile_wait(p, i)->thread)->tid == tid && profile_wait(p, i)->flags == flags)
			return profile_wait(p, i);
	g_assert_not_reached();
}

static void assert_longest(const struct wait *w, uint64_t max_ns, uint64_t began_ns, const struct profile *p)
{
	g_assert_cmpuint(w->max_ns, ==, max_ns);
	g_assert_cmpuint(w->max_start_unix_ns, ==, START + began_ns);
	g_assert_cmpuint(w->max_waker, >, 0);
	g_assert_cmpstr(profile_get_waker(p, w->max_waker - 1)->comm, ==, "feeder");
}

/* One of each stack of a process and window, to the millisecond; of several windows that of the longest. */
static void one_a_stack(void)
{
	char *dir = new_dir();
	struct store *s = open_store(dir);
	const uint64_t longest_ns[] = { 40 * MS, 900 * MS, 30 * MS };

	for (unsigned i = 0; i < 3; i++) {
		struct window w = new_window(i);

		add_waits(&w, 0, 0, 12, longest_ns[i], 1234 * MS + 567);
		add_waits(&w, 1, 0, 12, 20 * MS, 2 * S);
		add(s, &w);
	}
	store_close(s);
	struct profile *p = read_all(dir, 3);

	assert_longest(wait_of(p, 7, 0), 900 * MS, STEP + 1234 * MS, p);
	g_assert_cmpuint(wait_of(p, 8, 0)->max_ns, ==, 20 * MS);
	g_assert_cmpuint(wait_of(p, 8, 0)->max_start_unix_ns, ==, 0);
	profile_free(p);
	remove_dir(dir);
}

/* What a cut has split began in the window before, though another one was the longest there. */
static void through_cuts(void)
{
	char *dir = new_dir();
	struct store *s = open_store(dir);

	for (unsigned i = 0; i < 9; i++) {
		struct window w = new_window(i);

		add_waits(&w, 0, 0, 2, 5 * S, S);
		if (i == 0)
			add_waits(&w, 1, WAIT_OPEN_AT_END, 1, 3 * S, STEP - 3 * S);
		else if (i < 7)
			add_waits(&w, 1, WAIT_OPEN_AT_START | WAIT_OPEN_AT_END, 1, STEP, 0);
		else if (i == 7)
			add_waits(&w, 1, WAIT_OPEN_AT_START, 1, 4 * S, 0);
		add(s, &w);
	}
	store_close(s);
	struct profile *p = read_all(dir, 9);

	assert_longest(wait_of(p, 8, 0), 67 * S, 7 * S, p);
	profile_free(p);
	remove_dir(dir);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/longest/one_a_stack", one_a_stack);
	g_test_add_func("/longest/through_cuts", through_cuts);
	return g_test_run();
}
