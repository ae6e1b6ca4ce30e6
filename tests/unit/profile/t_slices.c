/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Slices of the window: every nanosecond is looked up in a history that is known wait by wait. */
#include <glib/gstdio.h>

#include "features/slices/rows.h"
#include "features/slices/rows_build.h"
#include "profile/profile_file.h"

#define MS UINT64_C(1000000)
#define THREADS 7
#define STACKS 4
#define START_NS (UINT64_C(5000) * 1000 * MS)

/* One wait as it was; times are since the window's start. */
struct truth {
	uint32_t thread, row;	/* row: of the profile */
	uint64_t start_ns, blocked_ns, runnable_ns, preempted_ns;
	bool is_open_at_start, is_open_at_end;
};

struct history {
	struct profile *p;
	GArray *waits;		/* struct truth */
	uint64_t window_ns;
	uint64_t lives[THREADS][2];
};

static uint64_t truth_ns(const struct truth *t)
{
	return t->blocked_ns + t->runnable_ns + t->preempted_ns;
}

static uint64_t below(GRand *rand, uint64_t max)
{
	return (uint64_t)(g_rand_double(rand) * (double)max);
}

/* Most are short, some are as long as many slices. */
static uint64_t any_length(GRand *rand)
{
	static const uint64_t most[] = { 2000, 300000, 20 * MS, 150 * MS, 900 * MS };

	return 1 + below(rand, most[g_rand_int_range(rand, 0, G_N_ELEMENTS(most))]);
}

static uint32_t add_thread(struct history *h, unsigned i, GRand *rand)
{
	uint64_t from = i % 3 == 2 ? below(rand, h->window_ns / 2) : 0;
	uint64_t to = i % 3 == 1 ? h->window_ns / 2 + below(rand, h->window_ns / 2) : h->window_ns;
	const struct thread t = {
		.pid = 10, .tid = 10 + i, .comm = profile_string(h->p, "t"), .process = profile_string(h->p, "t"),
		.from_ns = START_NS + from, .to_ns = START_NS + to, .flags = to < h->window_ns ? THREAD_EXITED : 0,
	};

	h->lives[i][0] = from;
	h->lives[i][1] = to;
	return profile_add_thread(h->p, &t);
}

static void add_row(struct history *h, struct truth *t, unsigned stack, const uint32_t *nodes, uint8_t state)
{
	struct wait w = {
		.thread = t->thread, .user = nodes[stack], .state = state, .count = 1, .blocked_ns = t->blocked_ns,
		.runnable_ns = t->runnable_ns, .preempted_ns = t->preempted_ns, .max_ns = truth_ns(t),
		.flags = (t->is_open_at_start ? WAIT_OPEN_AT_START : 0) | (t->is_open_at_end ? WAIT_OPEN_AT_END : 0),
	};

	w.hist[profile_hist_slot(w.max_ns)] = 1;
	t->row = profile_add_wait(h->p, &w);
	g_array_append_vals(h->waits, t, 1);
}

/* A thread waits and runs in turns, all its life; in the first nanosecond it may be asleep already. */
static void live(struct history *h, uint32_t thread, const uint32_t *nodes, GRand *rand)
{
	uint64_t at = h->lives[thread][0], to = h->lives[thread][1];
	struct thread *t = &g_array_index(h->p->threads, struct thread, thread);
	struct state_total asleep = { .thread = thread, .state = 'S' }, queued = { .thread = thread, .state = 'R' };

	for (bool is_first = true; at < to; is_first = false) {
		bool is_sleep = g_rand_int_range(rand, 0, 4) > 0;
		struct truth w = { .thread = thread, .start_ns = at, .is_open_at_start = is_first && thread % 2 };
		uint64_t length = any_length(rand), ran = below(rand, 3 * MS);

		length = MIN(length, to - at);
		if (is_sleep) {
			w.runnable_ns = below(rand, length);
			w.blocked_ns = length - w.runnable_ns;
		} else {
			w.preempted_ns = length;
		}
		w.is_open_at_end = at + length == to && to == h->window_ns;
		add_row(h, &w, (unsigned)g_rand_int_range(rand, 0, STACKS), nodes, is_sleep ? 'S' : 'R');
		struct state_total *total = is_sleep ? &asleep : &queued;

		total->count++;
		total->blocked_ns += w.blocked_ns;
		total->runnable_ns += w.runnable_ns;
		total->preempted_ns += w.preempted_ns;
		t->switches += !w.is_open_at_start;
		t->flags |= (w.is_open_at_start ? THREAD_OPEN_AT_START : 0) | (w.is_open_at_end ? THREAD_OPEN_AT_END : 0);
		at += length;
		ran = MIN(ran, to - at);
		t->on_cpu_ns += ran;
		at += ran;
	}
	t->blocked_ns = asleep.blocked_ns;
	t->runnable_ns = asleep.runnable_ns;
	t->preempted_ns = queued.preempted_ns;
	if (asleep.count)
		profile_add_state(h->p, &asleep);
	if (queued.count)
		profile_add_state(h->p, &queued);
}

/* As the kernel tells them, with slices of length_ns: see OFFCPU_KEY_CROSSING. */
static void give(struct slice_builder *b, const struct history *h, uint64_t length_ns, uint32_t *ret_codes)
{
	for (guint i = 0; i < h->waits->len; i++) {
		const struct truth *t = &g_array_index(h->waits, struct truth, i);
		uint64_t end_ns = t->start_ns + truth_ns(t);
		struct slice_cell cell = {
			.row = i, .count_q8 = SLICE_COUNT_Q8, .blocked_ns = t->blocked_ns, .runnable_ns = t->runnable_ns,
			.preempted_ns = t->preempted_ns, .max_ns = truth_ns(t),
		};

		slice_hist_add(&cell.bars, profile_hist_slot(cell.max_ns), SLICE_COUNT_Q8);
		if (t->start_ns < end_ns / length_ns * length_ns)
			slice_builder_add_wait(b, t->start_ns, &cell);
		else
			slice_builder_add(b, end_ns / length_ns * length_ns, &cell);
		ret_codes[i] = slice_code_of_wait(t->row);
	}
}

static struct history *history_new(unsigned seed, uint64_t window_ns, uint64_t length_ns)
{
	struct history *h = g_new0(struct history, 1);
	GRand *rand = g_rand_new_with_seed(seed);
	struct slice_builder *b = slice_builder_new(length_ns);
	uint32_t nodes[STACKS];

	h->p = profile_new();
	h->waits = g_array_new(FALSE, FALSE, sizeof(struct truth));
	h->window_ns = window_ns;
	h->p->info.start_ns = START_NS;
	h->p->info.start_unix_ns = UINT64_C(1700000000) * 1000000000;
	h->p->info.duration_ns = window_ns;
	for (unsigned i = 0; i < STACKS; i++) {
		g_autofree char *name = g_strdup_printf("f%u", i);
		const struct frame f = { .name = name, .module = "/bin/x", .offset = i };

		nodes[i] = profile_node(h->p, 0, profile_frame(h->p, &f));
	}
	for (unsigned i = 0; i < THREADS; i++)
		live(h, add_thread(h, i, rand), nodes, rand);
	g_autofree uint32_t *codes = g_new0(uint32_t, h->waits->len + 1);

	give(b, h, length_ns, codes);
	h->p->slices = slice_builder_finish(b, h->p, codes);
	slice_builder_free(b);
	g_rand_free(rand);
	return h;
}

static void history_free(struct history *h)
{
	profile_free(h->p);
	g_array_unref(h->waits);
	g_free(h);
}

static void assert_sound(const struct profile *p)
{
	g_autoptr(GError) error = NULL;

	profile_check(p, &error);
	g_assert_no_error(error);
}

static uint64_t overlap(uint64_t a, uint64_t b, uint64_t from, uint64_t to)
{
	a = MAX(a, from);
	b = MIN(b, to);
	return a < b ? b - a : 0;
}

static void add_truth(const struct truth *t, uint64_t from, uint64_t to, uint64_t *ns)
{
	uint64_t woken = t->start_ns + t->blocked_ns, queued = woken + t->runnable_ns;

	ns[0] += overlap(t->start_ns, woken, from, to);
	ns[1] += overlap(woken, queued, from, to);
	ns[2] += overlap(queued, queued + t->preempted_ns, from, to);
}

/* What the slices say of each row. */
struct seen {
	uint64_t *ns;		/* [slice][row][3] */
	uint64_t *counts_q8;	/* [slice][row] */
	guint rows;
};

static void see(uint32_t slice, const struct slice_part *part, void *data)
{
	struct seen *s = data;
	uint64_t *ns = &s->ns[((gsize)slice * s->rows + part->wait) * 3];

	ns[0] += part->blocked_ns;
	ns[1] += part->runnable_ns;
	ns[2] += part->preempted_ns;
	s->counts_q8[(gsize)slice * s->rows + part->wait] += part->count_q8;
}

static void assert_slices(const struct history *h)
{
	const uint64_t length_ns = profile_slice_ns(h->p);
	const guint rows = h->p->waits->len, cnt = profile_slice_cnt(h->p);
	struct seen s = { .ns = g_new0(uint64_t, (gsize)cnt * rows * 3), .counts_q8 = g_new0(uint64_t, (gsize)cnt * rows), .rows = rows };
	struct seen want = { .ns = g_new0(uint64_t, (gsize)cnt * rows * 3), .counts_q8 = g_new0(uint64_t, (gsize)cnt * rows) };

	g_assert_cmpuint(cnt, <=, SLICES_MAX);
	g_assert_cmpuint(cnt, ==, slices_cnt_of(h->window_ns, length_ns));
	profile_slices_visit(h->p, see, &s);
	for (guint i = 0; i < h->waits->len; i++) {
		const struct truth *t = &g_array_index(h->waits, struct truth, i);
		guint last = (guint)MIN((t->start_ns + truth_ns(t)) / length_ns, cnt - 1);

		for (guint k = (guint)MIN(t->start_ns / length_ns, cnt - 1); k <= last; k++)
			add_truth(t, k * length_ns, k + 1 < cnt ? (k + 1) * length_ns : UINT64_MAX, &want.ns[((gsize)k * rows + t->row) * 3]);
		want.counts_q8[(gsize)last * rows + t->row] += SLICE_COUNT_Q8;
	}
	g_assert_cmpmem(s.ns, (gsize)cnt * rows * 24, want.ns, (gsize)cnt * rows * 24);
	g_assert_cmpmem(s.counts_q8, (gsize)cnt * rows * 8, want.counts_q8, (gsize)cnt * rows * 8);
	g_free(s.ns);
	g_free(s.counts_q8);
	g_free(want.ns);
	g_free(want.counts_q8);
}

static void test_every_nanosecond(void)
{
	for (unsigned seed = 1; seed <= 8; seed++) {
		struct history *h = history_new(seed, 3000 * MS + seed * 12345678, 100 * MS);

		assert_sound(h->p);
		g_assert_cmpuint(profile_slice_ns(h->p), ==, 100 * MS);
		assert_slices(h);
		history_free(h);
	}
}

/* Too many slices become half as many, twice as long, until they fit; a minute and a bit are 600. */
static void test_doubling(void)
{
	const struct { uint64_t window_ns, want_ns; uint32_t want_cnt; } cases[] = {
		{ 6000 * MS, 10 * MS, 600 }, { 6009 * MS, 10 * MS, 600 }, { 6010 * MS, 10 * MS, 600 }, { 6011 * MS, 20 * MS, 301 },
		{ 13000 * MS + 7, 40 * MS, 326 }, { 1, 10 * MS, 1 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct history *h = history_new(70 + i, cases[i].window_ns, 10 * MS);

		assert_sound(h->p);
		g_assert_cmpuint(profile_slice_ns(h->p), ==, cases[i].want_ns);
		g_assert_cmpuint(profile_slice_cnt(h->p), ==, cases[i].want_cnt);
		assert_slices(h);
		history_free(h);
	}
}

/* Where cells would take too much memory slices become longer, and still say the same. */
static void test_bound(void)
{
	struct slice_builder *b = slice_builder_new(10 * MS);
	struct slice_cell cell = { .count_q8 = SLICE_COUNT_Q8, .blocked_ns = 1000, .max_ns = 1000 };
	struct profile *p = profile_new();
	uint32_t codes[2000];
	const struct thread t = { .pid = 1, .tid = 1, .to_ns = 6000 * MS };

	slice_hist_add(&cell.bars, 9, SLICE_COUNT_Q8);
	profile_add_thread(p, &t);
	p->info.duration_ns = 6000 * MS;
	for (uint32_t round = 0; round < 600; round++) {
		for (uint32_t i = 0; i < 2000; i++) {
			cell.row = i;
			slice_builder_add(b, round * 10 * MS, &cell);
			slice_builder_add(b, round * 10 * MS, &cell);
		}
		slice_builder_bound(b, round * 10 * MS, 2000);
	}
	g_assert_cmpuint(slice_builder_length_ns(b), >, 10 * MS);
	for (uint32_t i = 0; i < 2000; i++) {
		struct wait w = { .state = 'S', .user = 0, .count = 1200, .blocked_ns = 1200 * 1000, .max_ns = 1000, .object = 0 };
		const struct object o = { .addr = i };

		w.hist[9] = 1200;
		w.object = profile_object(p, &o) + 1;
		codes[i] = slice_code_of_wait(profile_add_wait(p, &w));
	}
	p->slices = slice_builder_finish(b, p, codes);
	assert_sound(p);
	slice_builder_free(b);
	profile_free(p);
}

static void assert_thread_is(const struct history *h, const struct thread *t, uint64_t from, uint64_t to)
{
	uint32_t i = t->tid - 10;
	uint64_t ns[3] = { 0 }, lived = overlap(h->lives[i][0], h->lives[i][1], from, to);

	for (guint k = 0; k < h->waits->len; k++)
		if (g_array_index(h->waits, struct truth, k).thread == i)
			add_truth(&g_array_index(h->waits, struct truth, k), from, to, ns);
	g_assert_cmpuint(thread_observed_ns(t), ==, lived);
	g_assert_cmpuint(t->blocked_ns, ==, ns[0]);
	g_assert_cmpuint(t->runnable_ns, ==, ns[1]);
	g_assert_cmpuint(t->preempted_ns, ==, ns[2]);
	g_assert_cmpuint(t->on_cpu_ns, ==, lived - ns[0] - ns[1] - ns[2]);
	g_assert_cmpuint(t->filtered_ns + t->lost_ns, ==, 0);
	g_assert_cmpuint(!!(t->flags & THREAD_EXITED), ==, h->lives[i][1] <= to && h->lives[i][1] < h->window_ns);
}

/* The waits of the range: each that has time in it or ends in it, as it would be had only that been recorded. */
static uint64_t waits_within(const struct history *h, uint64_t from, uint64_t to, bool is_last)
{
	uint64_t cnt = 0;

	for (guint i = 0; i < h->waits->len; i++) {
		const struct truth *t = &g_array_index(h->waits, struct truth, i);
		uint64_t end = t->start_ns + truth_ns(t);

		cnt += overlap(t->start_ns, end, from, to) > 0 || (end >= from && (end < to || is_last));
	}
	return cnt;
}

static void assert_cut(unsigned seed, uint64_t from, uint64_t to, uint64_t want_from, uint64_t want_to)
{
	struct history *h = history_new(seed, 2345 * MS, 100 * MS);
	g_autoptr(GError) error = NULL;
	uint64_t count = 0;

	profile_cut(h->p, from, to, &error);
	g_assert_no_error(error);
	assert_sound(h->p);
	g_assert_true(h->p->info.range.is_cut);
	g_assert_false(h->p->info.range.is_estimated);
	g_assert_cmpuint(h->p->info.range.from_ns, ==, want_from);
	g_assert_cmpuint(h->p->info.range.to_ns, ==, want_to);
	g_assert_cmpuint(h->p->info.range.window_ns, ==, 2345 * MS);
	g_assert_cmpuint(h->p->info.duration_ns, ==, want_to - want_from);
	g_assert_cmpuint(h->p->info.start_ns, ==, START_NS + want_from);
	for (guint i = 0; i < h->p->threads->len; i++)
		assert_thread_is(h, profile_thread(h->p, i), want_from, want_to);
	for (guint i = 0; i < h->p->waits->len; i++)
		count += profile_wait(h->p, i)->count;
	g_assert_cmpuint(count, ==, waits_within(h, want_from, want_to, want_to == 2345 * MS));
	history_free(h);
}

static void test_cut(void)
{
	for (unsigned seed = 20; seed < 26; seed++) {
		assert_cut(seed, 0, 1000 * MS, 0, 1000 * MS);
		assert_cut(seed, 0, 2345 * MS, 0, 2345 * MS);
		assert_cut(seed, 950 * MS, 1001 * MS, 900 * MS, 1100 * MS);
		assert_cut(seed, 1300 * MS, 1301 * MS, 1300 * MS, 1400 * MS);
		assert_cut(seed, 2344 * MS, UINT64_MAX, 2300 * MS, 2345 * MS);
	}
}

/* A range of a range is that of the whole. */
static void test_cut_again(void)
{
	struct history *h = history_new(33, 2345 * MS, 100 * MS), *twice = history_new(33, 2345 * MS, 100 * MS);
	g_autofree struct slice_total *a = NULL, *b = NULL;

	g_assert_true(profile_cut(h->p, 700 * MS, 1200 * MS, NULL));
	g_assert_true(profile_cut(twice->p, 500 * MS, 2000 * MS, NULL));
	g_assert_true(profile_cut(twice->p, 200 * MS, 700 * MS, NULL));
	assert_sound(twice->p);
	g_assert_cmpuint(twice->p->info.range.from_ns, ==, 700 * MS);
	g_assert_cmpuint(twice->p->info.range.to_ns, ==, 1200 * MS);
	g_assert_cmpuint(twice->p->info.range.window_ns, ==, 2345 * MS);
	g_assert_cmpuint(twice->p->threads->len, ==, h->p->threads->len);
	for (guint i = 0; i < h->p->threads->len; i++)
		assert_thread_is(h, profile_thread(twice->p, i), 700 * MS, 1200 * MS);
	a = profile_slice_totals(h->p, NULL);
	b = profile_slice_totals(twice->p, NULL);
	g_assert_cmpmem(a, 5 * sizeof(*a), b, 5 * sizeof(*b));
	history_free(h);
	history_free(twice);
}

static void test_bad_ranges(void)
{
	struct history *h = history_new(4, 2345 * MS, 100 * MS);
	const uint64_t ranges[][2] = { { 5, 5 }, { 7, 3 }, { 2345 * MS, UINT64_MAX } };

	for (guint i = 0; i < G_N_ELEMENTS(ranges); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(profile_cut(h->p, ranges[i][0], ranges[i][1], &error));
		g_assert_nonnull(error);
	}
	assert_slices(h);	/* as it was */
	g_autoptr(GError) error = NULL;
	struct profile *p = profile_new();

	g_assert_false(profile_cut(p, 0, 1, &error));
	g_assert_nonnull(error);
	profile_free(p);
	history_free(h);
}

/*
 * Where waits are not all listed, what is not lies in the time that the listed ones leave, evenly: adjoining ranges
 * add up to the whole to the nanosecond, and each is closed.
 */
static void test_estimates(void)
{
	const uint64_t edges[] = { 0, 400 * MS, 500 * MS, 1700 * MS, 2345 * MS };
	uint64_t sums[6] = { 0 };
	struct history *h;
	struct thread whole;

	for (guint i = 0; i + 1 < G_N_ELEMENTS(edges); i++) {
		h = history_new(9, 2345 * MS, 100 * MS);
		struct thread *t = &g_array_index(h->p->threads, struct thread, 0);

		t->on_cpu_ns -= 1001;
		t->blocked_ns += 501;
		t->filtered_ns += 501;
		t->runnable_ns += 300;
		t->lost_ns += 300;
		g_array_index(h->p->states, struct state_total, 0).runnable_ns += 300;
		whole = *t;
		g_assert_true(profile_cut(h->p, edges[i], edges[i + 1], NULL));
		assert_sound(h->p);
		g_assert_true(h->p->info.range.is_estimated);
		t = &g_array_index(h->p->threads, struct thread, 0);
		const uint64_t of[] = { t->on_cpu_ns, t->blocked_ns, t->runnable_ns, t->filtered_ns, t->lost_ns, thread_observed_ns(t) };

		for (guint k = 0; k < G_N_ELEMENTS(of); k++)
			sums[k] += of[k];
		g_assert_cmpuint(t->on_cpu_ns + thread_off_cpu_ns(t), <=, thread_observed_ns(t));
		history_free(h);
	}
	g_assert_cmpuint(sums[0], ==, whole.on_cpu_ns);
	g_assert_cmpuint(sums[1], ==, whole.blocked_ns);
	g_assert_cmpuint(sums[2], ==, whole.runnable_ns);
	g_assert_cmpuint(sums[3], ==, 501);
	g_assert_cmpuint(sums[4], ==, 300);
	g_assert_cmpuint(sums[5], ==, thread_observed_ns(&whole));
}

/* What the profile's rows were scaled by, as for sampled waits, the slices are, too, and add up. */
static void test_scaled_rows(void)
{
	struct history *h = history_new(5, 2345 * MS, 100 * MS);
	struct slice_builder *b = slice_builder_new(100 * MS);
	g_autofree uint32_t *codes = g_new0(uint32_t, h->waits->len + 1);

	h->p->info.sampling.max_ns = 1;
	for (guint i = 0; i < h->p->waits->len; i++) {
		struct wait *w = &g_array_index(h->p->waits, struct wait, i);

		w->blocked_ns = w->blocked_ns / 7 * 9 + 13 * (w->blocked_ns > 0);
		w->runnable_ns = w->runnable_ns / 3;
	}
	slices_free(h->p->slices);
	give(b, h, 100 * MS, codes);
	h->p->slices = slice_builder_finish(b, h->p, codes);
	assert_sound(h->p);
	slice_builder_free(b);
	history_free(h);
}

static struct profile *through_file(const struct profile *p, GError **error)
{
	g_autofree char *dir = g_dir_make_tmp("slices-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "x.offcpu", NULL);
	struct profile *back = profile_file_write(p, path, error) ? profile_file_read(path, error) : NULL;

	g_remove(path);
	g_rmdir(dir);
	return back;
}

static void test_file(void)
{
	struct history *h = history_new(6, 2345 * MS, 100 * MS);
	g_autoptr(GError) error = NULL;
	struct profile *back = through_file(h->p, &error);

	g_assert_no_error(error);
	profile_free(h->p);
	h->p = back;
	g_assert_cmpuint(profile_slice_ns(h->p), ==, 100 * MS);
	assert_slices(h);
	g_assert_true(profile_cut(h->p, 500 * MS, 900 * MS, NULL));
	for (guint i = 0; i < h->p->threads->len; i++)
		assert_thread_is(h, profile_thread(h->p, i), 500 * MS, 900 * MS);
	history_free(h);
}

static uint64_t blocked_within(const struct truth *t, uint64_t from_ns, uint64_t to_ns)
{
	const uint64_t begin = MAX(t->start_ns, from_ns), end = MIN(t->start_ns + t->blocked_ns, to_ns);

	return end > begin ? end - begin : 0;
}

/* Every tenth wait is for the network, the others for the peer: of a range no more is told than there is, and of nearly all of it most. */
static void test_tcp_waits(void)
{
	static const uint64_t ranges[][2] = { { 0, 2400 }, { 100, 2400 }, { 0, 1200 }, { 1000, 1100 } };

	for (gsize i = 0; i < G_N_ELEMENTS(ranges); i++) {
		struct history *h = history_new(6, 2345 * MS, 100 * MS);
		const uint64_t from_ns = ranges[i][0] * MS, to_ns = ranges[i][1] * MS;
		const struct object o = { .kind = OBJECT_SOCKET, .name = "10.0.0.5:80" };
		struct tcp_wait all = { .object = profile_object(h->p, &o) }, here = { 0 };

		for (guint k = 0; k < h->p->waits->len; k++)
			g_array_index(h->p->waits, struct wait, k).object = 1;
		for (guint k = 0; k < h->waits->len; k++) {
			const struct truth *t = &g_array_index(h->waits, struct truth, k);
			const uint64_t ns = blocked_within(t, from_ns, to_ns);

			*(k % 10 ? &all.peer_ns : &all.network_ns) += t->blocked_ns;
			*(k % 10 ? &here.peer_ns : &here.network_ns) += ns;
			all.blocked_ns += t->blocked_ns;
			here.blocked_ns += ns;
			all.count++;
		}
		profile_add_tcp_wait(h->p, &all);
		g_assert_true(profile_cut(h->p, from_ns, to_ns, NULL));
		const struct tcp_wait *told = h->p->tcp_waits->len ? profile_tcp_wait(h->p, 0) : NULL;

		g_assert_nonnull(told);
		g_assert_cmpuint(told->blocked_ns, ==, here.blocked_ns);
		g_assert_cmpuint(told->peer_ns, <=, here.peer_ns);
		g_assert_cmpuint(told->network_ns, <=, here.network_ns);
		g_assert_cmpuint(told->peer_ns + (all.blocked_ns - here.blocked_ns), >=, here.peer_ns);
		if (i < 2)
			g_assert_cmpuint(told->peer_ns, >, here.blocked_ns / 2);
		history_free(h);
	}
}

/* Bytes that are no cells, or of rows that there are not, or do not add up. */
static void test_forged(void)
{
	for (int kind = 0; kind < 4; kind++) {
		struct history *h = history_new(6, 2345 * MS, 100 * MS);
		GByteArray *cells = h->p->slices->cells->pdata[3];
		g_autoptr(GError) error = NULL;

		if (kind == 0)
			g_byte_array_set_size(cells, cells->len - 1);
		else if (kind == 1)
			g_byte_array_append(cells, (const uint8_t *)"\xff\xff\xff\x0f\x20", 5);
		else if (kind == 2)
			g_byte_array_append(cells, (const uint8_t *)"\0\1\5", 3);
		else
			g_ptr_array_set_size(h->p->slices->cells, 5);
		g_assert_false(profile_check(h->p, &error));
		g_assert_error(error, PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_DAMAGED);
		history_free(h);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/slices/every-nanosecond", test_every_nanosecond);
	g_test_add_func("/slices/doubling", test_doubling);
	g_test_add_func("/slices/bound", test_bound);
	g_test_add_func("/slices/scaled-rows", test_scaled_rows);
	g_test_add_func("/slices/cut", test_cut);
	g_test_add_func("/slices/cut-again", test_cut_again);
	g_test_add_func("/slices/bad-ranges", test_bad_ranges);
	g_test_add_func("/slices/estimates", test_estimates);
	g_test_add_func("/slices/file", test_file);
	g_test_add_func("/slices/tcp-waits", test_tcp_waits);
	g_test_add_func("/slices/forged", test_forged);
	return g_test_run();
}
