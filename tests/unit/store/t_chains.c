/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Chains of wakers in a history: of windows, of their sums, of waits that cuts split, beside windows without any. */
#include <glib.h>

#include "features/wakers/history.h"
#include "history.h"
#include "store/pack.h"
#include "store/store.h"

#define MS UINT64_C(1000000)
#define MONO (UINT64_C(5) * S)
#define STEP (10 * S)

struct window {
	struct profile *p;
	uint32_t thread, stack, feeder, timer;
	uint32_t by_timer, by_feeder;	/* chains: feeder, timer; feeder, feeder, timer */
};

static uint32_t chain(struct profile *p, uint32_t waker, uint32_t next, uint8_t end)
{
	const struct chain_node c = { .waker = waker, .next = next, .end = end };

	return profile_chain(p, &c);
}

static struct window new_window(unsigned no)
{
	struct profile *p = profile_new();
	struct window w = { .p = p };
	const struct frame frame = { .name = "wait_for_it", .kind = FRAME_USER };
	const struct waker feeder = { .pid = 7, .tid = 9, .comm = "feeder" }, timer = { .irq = "timer" };
	const struct thread t = {
		.pid = 7, .tid = 7, .comm = profile_string(p, "eater"), .process = profile_string(p, "eater"),
		.from_ns = MONO + no * STEP, .to_ns = MONO + (no + 1) * STEP, .on_cpu_ns = STEP,
	};

	p->info.start_unix_ns = START + no * STEP;
	p->info.start_ns = MONO + no * STEP;
	p->info.duration_ns = STEP;
	p->info.has_wakers = true;
	p->info.sampling.max_ns = 10 * S;
	w.thread = profile_add_thread(p, &t);
	w.stack = profile_node(p, 0, profile_frame(p, &frame));
	w.feeder = profile_waker(p, &feeder);
	w.timer = profile_waker(p, &timer);
	w.by_timer = chain(p, w.feeder, chain(p, w.timer, 0, CHAIN_INTERRUPT) + 1, CHAIN_GOES_ON);
	w.by_feeder = chain(p, w.feeder, w.by_timer + 1, CHAIN_GOES_ON);
	return w;
}

/* has_waker: the feeder ended them.  Returns that wake. */
static uint32_t add_waits(struct window *w, uint8_t flags, uint64_t count, uint64_t blocked_ns, uint64_t error_ns,
			  bool has_waker)
{
	struct thread *t = &g_array_index(w->p->threads, struct thread, w->thread);
	struct wait wait = { .thread = w->thread, .user = w->stack, .state = 'S', .flags = flags, .count = count,
			     .blocked_ns = blocked_ns, .max_ns = blocked_ns, .off_cpu_se_ns = error_ns };

	wait.hist[profile_hist_slot(blocked_ns)] = (uint32_t)count;
	struct wake wake = {
		.wait = profile_add_wait(w->p, &wait), .waker = w->feeder, .count = count, .blocked_ns = blocked_ns,
	};

	wake.hist[0] = (uint32_t)count;
	t->blocked_ns += blocked_ns;
	t->on_cpu_ns -= blocked_ns;
	return has_waker ? profile_add_wake(w->p, &wake) : 0;
}

static void add_story(struct window *w, uint32_t wake, uint32_t by, uint64_t count, uint64_t blocked_ns,
		      uint64_t ran_ns)
{
	struct story s = { .wake = wake, .chain = by, .count = count, .blocked_ns = blocked_ns,
			   .hop[0] = { .ran_ns = ran_ns, .runnable_ns = 7, .earlier_ns = 11 } };

	s.rest_ns = blocked_ns - ran_ns - 7 - 11;
	profile_add_story(w->p, &s);
}

/* As the agent does by default: digits and chains that say little go. */
static struct store *open_as_agent(const char *dir)
{
	const struct store_options options = { .dir = dir, .preempted_stacks = STORE_PREEMPTED_STACKS };
	struct store *s = store_open(&options, NULL);

	g_assert_nonnull(s);
	return s;
}

static void add(struct store *s, struct window *w)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(profile_check(w->p, &error));
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

static uint64_t told_ns(const struct profile *p)
{
	uint64_t ns = 0;

	for (guint i = 0; i < p->stories->len; i++)
		ns += profile_story(p, i)->blocked_ns;
	return ns;
}

static const struct story *story_of(const struct profile *p, unsigned wakers, uint8_t end)
{
	for (guint i = 0; i < p->stories->len; i++) {
		const struct story *s = profile_story(p, i);
		const struct chain_node *c = profile_get_chain(p, s->chain);

		while (c->next)
			c = profile_get_chain(p, c->next - 1);
		if (profile_chain_len(p, s->chain) == wakers && c->end == end)
			return s;
	}
	g_assert_not_reached();
}

/* Most of the time in one chain, half a millisecond in another one: of windows, and of what becomes minutes. */
static void kept(gconstpointer data)
{
	const unsigned windows = GPOINTER_TO_UINT(data);
	char *dir = new_dir();
	struct store *s = open_as_agent(dir);

	for (unsigned i = 0; i < windows; i++) {
		struct window w = new_window(i);
		uint32_t wake = add_waits(&w, 0, 12, 900 * MS + 123, 0, true);

		add_story(&w, wake, w.by_timer, 11, 900 * MS + 123 - MS / 2, 300 * MS + 77);
		add_story(&w, wake, w.by_feeder, 1, MS / 2, 1000);
		add(s, &w);
	}
	store_close(s);
	struct profile *p = read_all(dir, windows);
	const struct story *most = story_of(p, 2, CHAIN_INTERRUPT), *little = story_of(p, 1, CHAIN_CUT);

	g_assert_cmpuint(p->wakes->len, ==, 1);
	g_assert_cmpuint(p->stories->len, ==, 2);
	g_assert_cmpuint(told_ns(p), ==, windows * (900 * MS + 123));
	g_assert_cmpuint(told_ns(p), ==, profile_wake(p, 0)->blocked_ns);
	g_assert_cmpuint(most->count, ==, 11 * windows);
	g_assert_cmpuint(little->count, ==, windows);
	g_assert_cmpuint(most->hop[0].ran_ns, >, windows * 297 * MS);
	g_assert_cmpuint(most->hop[0].ran_ns, <=, windows * (300 * MS + 77));
	g_assert_cmpuint(most->hop[0].runnable_ns, ==, windows * 7);
	g_assert_cmpuint(most->hop[0].earlier_ns, ==, windows * 11);
	g_assert_cmpuint(little->blocked_ns, >, windows * (MS / 2) * 98 / 100);
	g_assert_cmpstr(profile_get_waker(p, profile_get_chain(p, little->chain)->waker)->comm, ==, "feeder");
	profile_free(p);
	remove_dir(dir);
}

/* A sleep of three windows: what chains tell is of its last part, and the rest is told as earlier. */
static void through_cuts(void)
{
	char *dir = new_dir();
	struct store *s = open_store(dir);

	for (unsigned i = 0; i < 3; i++) {
		const uint8_t flags[] = { WAIT_OPEN_AT_END, WAIT_OPEN_AT_START | WAIT_OPEN_AT_END, WAIT_OPEN_AT_START };
		const uint64_t parts_ns[] = { 3 * S, STEP, 4 * S };
		struct window w = new_window(i);
		uint32_t wake = add_waits(&w, flags[i], 1, parts_ns[i], 0, i == 2);

		if (i == 2)
			add_story(&w, wake, w.by_timer, 1, 4 * S, S);
		add(s, &w);
	}
	store_close(s);
	struct profile *p = read_all(dir, 3);
	const struct story *whole = story_of(p, 2, CHAIN_INTERRUPT);

	g_assert_cmpuint(p->stories->len, ==, 1);
	g_assert_cmpuint(whole->count, ==, 1);
	g_assert_cmpuint(whole->blocked_ns, ==, 17 * S);
	g_assert_cmpuint(whole->hop[0].earlier_ns, ==, 13 * S + 11);
	profile_free(p);
	remove_dir(dir);
}

/* Of windows without chains nothing is told, and nothing is made up. */
static void beside_others(void)
{
	char *dir = new_dir();
	struct store *s = open_store(dir);

	for (unsigned i = 0; i < 3; i++) {
		struct window w = new_window(i);
		uint32_t wake = add_waits(&w, 0, 4, 2 * S, 0, true);

		if (i == 1)
			add_story(&w, wake, w.by_timer, 4, 2 * S, S);
		add(s, &w);
	}
	store_close(s);
	struct profile *p = read_all(dir, 3);

	g_assert_cmpuint(profile_wake(p, 0)->blocked_ns, ==, 6 * S);
	g_assert_cmpuint(told_ns(p), ==, 2 * S);
	profile_free(p);
	remove_dir(dir);
}

/* Waits that were sampled are rounded in the store, and their stories with them. */
static void sampled(void)
{
	char *dir = new_dir();
	struct store *s = open_as_agent(dir);
	struct window w = new_window(0);
	uint32_t wake = add_waits(&w, 0, 100, 987654321, 100 * MS, true);

	w.p->info.sampling.start_ns = w.p->info.sampling.end_ns = MS;
	add_story(&w, wake, w.by_timer, 60, 600000001, 123456789);
	add_story(&w, wake, w.by_feeder, 40, 387654320, 1234567);
	add(s, &w);
	store_close(s);
	struct profile *p = read_all(dir, 1);

	g_assert_cmpuint(told_ns(p), ==, profile_wake(p, 0)->blocked_ns);
	g_assert_cmpuint(p->stories->len, ==, 2);
	profile_free(p);
	remove_dir(dir);
}

/* Whatever stands in their bytes, what is read is refused, or holds together. */
static void damaged(void)
{
	struct window w = new_window(0);
	uint32_t wake = add_waits(&w, 0, 12, 900 * MS, 0, true);
	g_autoptr(GByteArray) plain = g_byte_array_new(), with = g_byte_array_new();
	struct dict_writer *writer = dict_writer_new(dict_new(), NULL);
	unsigned sound = 0;

	dict_writer_begin(writer, w.p);
	g_assert_true(pack_rows(writer, w.p, plain, NULL));
	add_story(&w, wake, w.by_timer, 11, 800 * MS, 300 * MS);
	add_story(&w, wake, w.by_feeder, 1, 100 * MS, 1000);
	g_assert_true(pack_rows(writer, w.p, with, NULL));
	g_autoptr(GByteArray) piece = dict_writer_end(writer);
	struct dict *d = dict_new();

	g_assert_true(dict_decode(d, g_memdup2(piece->data, piece->len), piece->len));
	for (guint at = plain->len; at < with->len; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct profile *to = profile_new(), *rows = profile_new_rows(to);
			struct dict_map *map = dict_map_new(d, to);

			with->data[at] ^= (guint8)(1u << bit);
			sound += unpack_rows(map, with->data, with->len, rows) && profile_check(rows, NULL);
			with->data[at] ^= (guint8)(1u << bit);
			dict_map_free(map);
			profile_free_rows(rows);
			profile_free(to);
		}
	g_assert_cmpuint(sound, <, (with->len - plain->len) * 8 / 2);
	dict_free(d);
	dict_writer_free(writer);
	profile_free(w.p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/chains/of_windows", GUINT_TO_POINTER(2), kept);
	g_test_add_data_func("/chains/of_minutes", GUINT_TO_POINTER(15), kept);
	g_test_add_func("/chains/through_cuts", through_cuts);
	g_test_add_func("/chains/beside_others", beside_others);
	g_test_add_func("/chains/sampled", sampled);
	g_test_add_func("/chains/damaged", damaged);
	return g_test_run();
}
