/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Requests in a history: cells of windows, their sums of minutes and hours, and what is told of them over time. */
#include <string.h>

#include "features/requests/analysis.h"
#include "features/requests/findings_latency.h"
#include "history.h"
#include "store/line.h"

#define MS UINT64_C(1000000)
#define COUNT 200	/* in a window */
#define QUIET 6		/* windows at first */

static unsigned slot_of(uint64_t ns)
{
	return offcpu_request_slot(ns, 63 - (unsigned)__builtin_clzll(ns));
}

static uint32_t stack(struct profile *p, const char *function, enum frame_kind kind)
{
	const struct frame f = { .name = function, .module = kind == FRAME_KERNEL ? "[kernel]" : "/bin/shop",
				 .kind = (uint8_t)kind };

	return profile_node(p, 0, profile_frame(p, &f));
}

/* The requests themselves, which burn 1 ms each and sleep in that function for the rest. */
static void add_part(struct profile *p, uint32_t func, uint64_t cnt, uint64_t wall_ns, const char *function)
{
	struct request_part part = {
		.func = func, .range = slot_of(wall_ns) / OFFCPU_REQUEST_RANGE_SLOTS, .requests = cnt,
		.wall_ns = cnt * wall_ns, .on_cpu_ns = cnt * MS,
		.wait = { .blocked_ns = cnt * (wall_ns - MS) },
	};

	g_array_append_val(p->request_parts, part);
	part.wall_ns = part.on_cpu_ns = 0;
	part.wait.state = 'S';
	part.wait.user = stack(p, function, FRAME_USER);
	part.wait.kernel = stack(p, "hrtimer_nanosleep", FRAME_KERNEL);
	g_array_append_val(p->request_parts, part);
}

static void add_requests(struct profile *p, const char *name, uint64_t cnt, uint64_t slow_cnt, uint64_t slow_ns)
{
	struct request_row row = { .name = profile_string(p, name), .file = profile_string(p, "shop") };
	struct offcpu_request_sum *sum = &row.sum;

	sum->hist[slot_of(10 * MS)] = cnt - slow_cnt;
	sum->all = (struct offcpu_request_times){ .count = cnt, .on_cpu_ns = cnt * MS };
	sum->all.wall_ns = (cnt - slow_cnt) * 10 * MS + slow_cnt * slow_ns;
	sum->all.blocked_ns = sum->all.wall_ns - sum->all.on_cpu_ns;
	sum->max_ns = slow_cnt ? slow_ns : 10 * MS;
	add_part(p, p->requests->len, cnt - slow_cnt, 10 * MS, "usual");
	if (slow_cnt) {
		sum->hist[slot_of(slow_ns)] += slow_cnt;
		add_part(p, p->requests->len, slow_cnt, slow_ns, "reserve_item");
	}
	g_array_append_val(p->requests, row);
}

/* Windows of ten seconds; from `change` on 2% of the requests are slow. */
static void fill(const char *dir, unsigned windows, unsigned change)
{
	struct store *s = open_store(dir);
	struct sim *sim = sim_new(1, 2, (uint64_t)windows * 10 * S);

	for (unsigned i = 0; i < windows; i++) {
		struct profile *p = sim_window(sim, i * 10 * S, (i + 1) * 10 * S);
		g_autoptr(GError) error = NULL;

		if (i < QUIET)
			add_requests(p, "checkout", 0, 0, 0);
		else
			add_requests(p, "checkout", COUNT, i >= change ? COUNT / 50 : 0, 200 * MS);
		add_requests(p, "none", 0, 0, 0);
		profile_add_loss(p, "request_handed", "", 3, 0);
		profile_add_loss(p, "request_no_route", "", 2, 0);
		profile_add_loss(p, "request_left", "", 1, 0);
		profile_add_loss(p, "request_residual", "", 1, 0);	/* which is none */
		store_add(s, p, NULL, &error);
		g_assert_no_error(error);
		profile_free(p);
	}
	sim_free(sim);
	store_close(s);
}

static struct request_line *read_line(const char *dir, uint64_t from_s, uint64_t to_s, uint64_t step_s)
{
	g_autoptr(GError) error = NULL;
	struct request_line *l = request_line_read(dir, START + from_s * S, START + to_s * S, step_s * S, &error);

	g_assert_no_error(error);
	return l;
}

static uint64_t cause_ns(const struct request_cell *cell, enum reason reason, const char *where)
{
	for (guint i = 0; i < cell->causes->len; i++) {
		const struct request_cause_cell *cause = cell->causes->pdata[i];

		if (cause->reason == reason && strcmp(cause->where, where) == 0)
			return request_cause_from(cause, 0);
	}
	return 0;
}

/* Windows, minutes and hours of the same time are the same sum, to the nanosecond. */
static void test_sums(void)
{
	char *dir = new_dir();

	fill(dir, 910, 0);
	for (uint64_t step_s = 10; step_s <= 3600; step_s *= step_s == 10 ? 6 : 60) {
		struct request_line *l = read_line(dir, 1800, 9000, step_s);
		const struct request_series *series = request_line_find(l, "checkout");
		const struct request_cell *all = series->all;

		g_assert_cmpuint(l->series->len, ==, 2);
		g_assert_cmpuint(all->observed_ns, ==, 7200 * S);
		g_assert_cmpuint(all->sum.all.count, ==, 720 * COUNT);
		g_assert_cmpuint(l->uncounted.handed, ==, 720 * 3);
		g_assert_cmpuint(l->uncounted.no_route, ==, 720 * 2);
		g_assert_cmpuint(l->uncounted.others, ==, 720);
		g_assert_cmpuint(all->sum.all.on_cpu_ns, ==, 720 * COUNT * MS);
		g_assert_cmpuint(all->sum.all.wall_ns, ==, 720 * (196 * 10 + 4 * 200) * MS);
		g_assert_cmpuint(all->sum.hist[slot_of(200 * MS)], ==, 720 * 4);
		g_assert_cmpuint(all->sum.max_ns, ==, 200 * MS);
		g_assert_cmpuint(cause_ns(all, REASON_SLEEP, "in reserve_item"), ==, 720 * 4 * 199 * MS);
		g_assert_cmpuint(cause_ns(all, REASON_SLEEP, "in usual"), ==, 720 * 196 * 9 * MS);
		g_assert_cmpuint(cause_ns(all, REASON_ON_CPU, ""), ==, 720 * COUNT * MS);
		g_assert_cmpuint(request_cell_count_from(all, request_cell_slowest(all, LATENCY_SLOWEST)), ==, 720 * 4);
		for (uint32_t i = 0; i < l->steps; i++)
			g_assert_cmpuint(series->steps[i]->sum.all.count, ==, step_s / 10 * COUNT);
		request_line_free(l);
	}
	remove_dir(dir);
}

static char *sentence(const char *dir, uint64_t to_s)
{
	struct request_line *l = read_line(dir, 0, to_s, 60);
	GString *s = g_string_new(NULL);

	latency_append_sentence(s, l, request_line_find(l, "checkout"));
	request_line_free(l);
	return g_string_free(s, FALSE);
}

static void assert_uncounted(const char *dir, uint64_t to_s, const char *says)
{
	struct request_line *l = read_line(dir, 0, to_s, 60);
	g_autoptr(GString) s = g_string_new(NULL);

	latency_append_uncounted(s, l);
	g_assert_cmpstr(s->str, ==, says);
	request_line_free(l);
}

static void assert_says(const char *said, const char *part)
{
	if (!strstr(said, part))
		g_error("'%s' is not in: %s", part, said);
}

static void test_sentences(void)
{
	char *dir = new_dir(), *said;

	fill(dir, 120, 60);
	assert_uncounted(dir, 600, "360 requests more (3% of all) are in no number: 180 were answered by another thread than the one that "
				   "received them, so take a function of the program in place of its socket; 120 were answered while no "
				   "trace context told their route; 60 were left, their end was not seen, or their route was not known yet.");
	said = sentence(dir, 1200);
	assert_says(said, "p99 of checkout was 10.0 ms until ");
	assert_says(said, " after it; what grew is sleep in reserve_item, of each of the slowest 1% from 0 to 199 ms.");
	g_free(said);
	/* nothing changes before that: the slowest of requests that are all alike are all of them */
	said = sentence(dir, 600);
	assert_says(said, "p99 of checkout was 10.");
	assert_says(said, "; of the slowest 1% 90% is sleep in usual.");
	g_assert_null(strstr(said, "until"));
	g_free(said);
	remove_dir(dir);
}

static struct profile *window_new(void)
{
	struct profile *p = profile_new();
	const struct thread t = { .pid = 1, .tid = 1, .comm = "shop", .process = "shop", .to_ns = 10 * S };

	profile_add_thread(p, &t);
	p->info.duration_ns = 10 * S;
	return p;
}

/* Steps that differ by themselves, by a third or so, are no change. */
static void test_noise(void)
{
	struct request_line *l = request_line_new(START, 10 * S, 20);
	uint32_t from, to;

	for (uint32_t i = 0; i < 20; i++) {
		struct profile *p = window_new();
		struct request_cells *cells;

		add_requests(p, "noisy", COUNT, COUNT / 50, (20 + 7 * (i * 7919 % 5)) * MS);
		cells = request_cells_of(p);
		request_line_add(l, START + i * 10 * S, 10 * S, cells);
		request_cells_free(cells);
		profile_free(p);
	}
	g_assert_false(latency_change(l, request_line_find(l, "noisy"), &from, &to));
	request_line_free(l);
}

/* What waits took, told thrice or by a third, is what requests were blocked; without sampling a third is a third. */
static void assert_calibrated(uint64_t times, uint64_t by, bool is_sampled, uint64_t expected_ns)
{
	struct profile *p = window_new();
	struct request_cells *cells;

	p->info.sampling.max_ns = is_sampled ? 50 * MS : 0;
	add_requests(p, "a", COUNT, 0, 0);
	for (guint i = 0; i < p->request_parts->len; i++) {
		struct request_part *part = &g_array_index(p->request_parts, struct request_part, i);

		if (part->wait.state)
			part->wait.blocked_ns = part->wait.blocked_ns * times / by;
	}
	cells = request_cells_of(p);
	g_assert_cmpuint(cause_ns(request_cells_get(cells, "a"), REASON_SLEEP, "in usual"), ==, expected_ns);
	request_cells_free(cells);
	profile_free(p);
}

static void test_sampled(void)
{
	assert_calibrated(3, 1, false, COUNT * 9 * MS);
	assert_calibrated(3, 1, true, COUNT * 9 * MS);
	assert_calibrated(1, 3, true, COUNT * 9 * MS);
	assert_calibrated(1, 3, false, COUNT * 3 * MS);
}

static uint64_t number_of(void *ctx, const char *name)
{
	GPtrArray *names = ctx;

	if (!*name)
		return 0;
	g_ptr_array_add(names, g_strdup(name));
	return names->len;
}

/* Bytes that are cut off or changed are refused, or are some cells; nothing is read beyond them. */
static void test_damage(void)
{
	struct profile *p = window_new();
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	struct request_cells *cells;

	add_requests(p, "a", COUNT, 4, 200 * MS);
	cells = request_cells_of(p);
	g_assert_true(request_cells_encode(cells, number_of, names, bytes));
	request_cells_free(cells);
	profile_free(p);
	for (guint len = 0; len <= bytes->len; len++) {
		g_autofree uint8_t *part = g_memdup2(bytes->data, MAX(len, 1));

		cells = request_cells_new();
		g_assert_true(request_cells_add_bytes(cells, part, len, names) == (len == bytes->len));
		request_cells_free(cells);
		for (unsigned flip = 1; len && flip < 256; flip *= 2) {
			part[len - 1] ^= (uint8_t)flip;
			cells = request_cells_new();
			request_cells_add_bytes(cells, part, len, names);
			request_cells_free(cells);
			part[len - 1] ^= (uint8_t)flip;
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store/requests/sums", test_sums);
	g_test_add_func("/store/requests/sentences", test_sentences);
	g_test_add_func("/store/requests/noise", test_noise);
	g_test_add_func("/store/requests/sampled", test_sampled);
	g_test_add_func("/store/requests/damage", test_damage);
	return g_test_run();
}
