/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What of sampled waits is rounded away, what stays exact, and that it comes back from a file as it was written. */
#include "store/pack.h"

#include "history.h"
#include "store/merge.h"
#include "store/pack_part.h"

#define THREADS 6
#define WAITS 400
#define WAKES 3
#define SCALE_NS UINT64_C(25600000)

struct sums {
	uint64_t count, blocked_ns, runnable_ns, preempted_ns;
};

static uint64_t any(GRand *r, unsigned most_bits)
{
	unsigned bits = (unsigned)g_rand_int_range(r, 0, (gint)most_bits + 1);

	return bits ? (UINT64_C(1) << (bits - 1)) | ((((uint64_t)g_rand_int(r) << 32) | g_rand_int(r)) & ((UINT64_C(1) << (bits - 1)) - 1)) : 0;
}

static uint64_t share(GRand *r, uint64_t of)
{
	return (uint64_t)(g_rand_double(r) * (double)of);
}

static void add_wakes(struct profile *p, uint32_t wait, GRand *r, const uint32_t *wakers)
{
	const struct wait *w = profile_wait(p, wait);
	struct sums left = { w->count, w->blocked_ns, w->runnable_ns, 0 };
	bool is_all = g_rand_int(r) % 2;

	for (unsigned i = 0; i < WAKES && left.count; i++) {
		bool is_last = is_all && i + 1 == WAKES;
		struct wake k = { .wait = wait, .waker = wakers[i], .count = is_last ? left.count : share(r, left.count),
				  .blocked_ns = is_last ? left.blocked_ns : share(r, left.blocked_ns),
				  .runnable_ns = is_last ? left.runnable_ns : share(r, left.runnable_ns) };

		if (!k.count)
			continue;
		k.hist[3] = (uint32_t)(k.count - k.count / 3);
		k.hist[20] = (uint32_t)(k.count / 3);
		left = (struct sums){ left.count - k.count, left.blocked_ns - k.blocked_ns, left.runnable_ns - k.runnable_ns, 0 };
		profile_add_wake(p, &k);
	}
}

static void add_wait(struct profile *p, struct thread *t, GRand *r, unsigned i, const uint32_t *wakers)
{
	g_autofree char *name = g_strdup_printf("f%u", i);
	const struct frame f = { .name = name, .kind = FRAME_USER };
	const char state = "SDR"[g_rand_int(r) % 3];
	uint64_t ns = any(r, 36);
	struct wait w = { .thread = (uint32_t)(t - &g_array_index(p->threads, struct thread, 0)),
			  .user = profile_node(p, 0, profile_frame(p, &f)), .state = (uint8_t)state, .count = any(r, 16) + 2, .max_ns = any(r, 30) | 1 };

	if (state == 'R')
		w.preempted_ns = ns;
	else
		w.runnable_ns = share(r, ns), w.blocked_ns = ns - w.runnable_ns;
	if (g_rand_int(r) % 4) {
		w.off_cpu_se_ns = any(r, 34);
		w.count_se = any(r, 12);
	}
	for (uint64_t left = w.count, slot = profile_hist_slot(w.max_ns); left; slot -= slot != 0) {
		uint32_t n = slot ? (uint32_t)(share(r, left) + (slot == profile_hist_slot(w.max_ns))) : (uint32_t)left;

		w.hist[slot] += n;
		left -= n;
	}
	t->blocked_ns += w.blocked_ns;
	t->runnable_ns += w.runnable_ns;
	t->preempted_ns += w.preempted_ns;
	add_wakes(p, profile_add_wait(p, &w), r, wakers);
}

static void add_totals(struct profile *p)
{
	for (uint32_t t = 0; t < THREADS; t++)
		for (const char *state = "SDR"; *state; state++) {
			struct state_total total = { .thread = t, .state = (uint8_t)*state };

			for (guint i = 0; i < p->waits->len; i++) {
				const struct wait *w = profile_wait(p, i);

				if (w->thread != t || w->state != total.state)
					continue;
				total.count += w->count;
				total.blocked_ns += w->blocked_ns;
				total.runnable_ns += w->runnable_ns;
				total.preempted_ns += w->preempted_ns;
			}
			profile_add_state(p, &total);
		}
}

static struct profile *new_window(guint32 seed)
{
	struct profile *p = profile_new();
	g_autoptr(GRand) r = g_rand_new_with_seed(seed);
	uint32_t wakers[WAKES];

	p->info.start_unix_ns = START;
	p->info.start_ns = S;
	p->info.duration_ns = UINT64_C(1) << 44;
	p->info.has_wakers = true;
	p->info.host = p->info.kernel = p->info.command_line = p->info.filters = p->info.version = "";
	p->info.sampling.max_ns = SCALE_NS;
	for (unsigned i = 0; i < WAKES; i++) {
		const struct waker w = { .pid = 1, .tid = i + 1, .comm = "w" };

		wakers[i] = profile_waker(p, &w);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		const struct thread t = { .pid = 1, .tid = i + 1, .comm = profile_string(p, "t"), .process = profile_string(p, "t"),
					  .from_ns = S, .to_ns = S + p->info.duration_ns };

		profile_add_thread(p, &t);
	}
	for (unsigned i = 0; i < WAITS; i++)
		add_wait(p, &g_array_index(p->threads, struct thread, g_rand_int(r) % THREADS), r, i, wakers);
	for (unsigned i = 0; i < THREADS; i++) {
		struct thread *t = &g_array_index(p->threads, struct thread, i);

		t->on_cpu_ns = p->info.duration_ns - thread_off_cpu_ns(t);
	}
	add_totals(p);
	return p;
}

static struct sums sums_of(const struct profile *p, uint32_t thread, char state)
{
	struct sums s = { 0 };

	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);

		if (w->thread != thread || w->state != state)
			continue;
		s.count += w->count;
		s.blocked_ns += w->blocked_ns;
		s.runnable_ns += w->runnable_ns;
		s.preempted_ns += w->preempted_ns;
	}
	return s;
}

/* Of a row without the one that takes what the others leave. */
static bool is_near(uint64_t before, uint64_t after, uint64_t error)
{
	uint64_t off = before > after ? before - after : after - before;

	return off <= error / 4 || off <= before / 8;
}

static void assert_hist(const uint32_t *hist, uint64_t count)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		all += hist[i];
	g_assert_cmpuint(all, ==, count);
}

static void assert_rounded(const struct profile *p, const struct profile *old)
{
	unsigned far = 0;

	for (uint32_t t = 0; t < THREADS; t++)
		for (const char *state = "SDR"; *state; state++) {
			const struct sums a = sums_of(p, t, *state), b = sums_of(old, t, *state);

			g_assert_cmpmem(&a, sizeof(a), &b, sizeof(b));
		}
	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i), *was = profile_wait(old, i);

		if (!was->off_cpu_se_ns && !was->count_se) {
			g_assert_cmpmem(w, sizeof(*w), was, sizeof(*was));
			continue;
		}
		far += !is_near(was->blocked_ns, w->blocked_ns, w->off_cpu_se_ns) || !is_near(was->runnable_ns, w->runnable_ns, w->off_cpu_se_ns) ||
		       !is_near(was->preempted_ns, w->preempted_ns, w->off_cpu_se_ns) || !is_near(was->count, w->count, w->count_se);
		g_assert_cmpuint(w->off_cpu_se_ns, >=, was->off_cpu_se_ns);
		g_assert_cmpuint(w->off_cpu_se_ns, <=, was->off_cpu_se_ns + was->off_cpu_se_ns / 8 + 1);
		g_assert_cmpuint(profile_hist_slot(w->max_ns), ==, profile_hist_slot(was->max_ns));
		assert_hist(w->hist, w->count);
		g_assert_cmpuint(w->hist[profile_hist_slot(w->max_ns)], >, 0);
	}
	g_assert_cmpuint(far, <=, THREADS * 3);	/* those that take */
}

static void assert_wakes(const struct profile *p, const struct profile *old)
{
	g_autofree struct sums *all = g_new0(struct sums, p->waits->len), *were = g_new0(struct sums, p->waits->len);

	for (guint i = 0; i < p->wakes->len; i++) {
		const struct wake *k = profile_wake(p, i), *was = profile_wake(old, i);
		struct sums *a = &all[k->wait], *b = &were[k->wait];

		g_assert_cmpuint(k->count, >, 0);
		assert_hist(k->hist, k->count);
		*a = (struct sums){ a->count + k->count, a->blocked_ns + k->blocked_ns, a->runnable_ns + k->runnable_ns, 0 };
		*b = (struct sums){ b->count + was->count, b->blocked_ns + was->blocked_ns, b->runnable_ns + was->runnable_ns, 0 };
	}
	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i), *was = profile_wait(old, i);

		if (were[i].count == was->count)
			g_assert_cmpuint(all[i].count, ==, w->count);
		if (were[i].blocked_ns == was->blocked_ns)
			g_assert_cmpuint(all[i].blocked_ns, ==, w->blocked_ns);
		if (were[i].runnable_ns == was->runnable_ns)
			g_assert_cmpuint(all[i].runnable_ns, ==, w->runnable_ns);
	}
}

static void rounds(void)
{
	for (guint32 seed = 1; seed <= 50; seed++) {
		struct profile *p = new_window(seed), *old = new_window(seed);
		g_autoptr(GError) error = NULL;

		digits_round(p);
		g_assert_true(profile_check(p, &error));
		g_assert_no_error(error);
		assert_rounded(p, old);
		assert_wakes(p, old);
		profile_free(p);
		profile_free(old);
	}
}

/* Written with all digits, or rounded: what is read is what was written, to the nanosecond. */
static void comes_back(gconstpointer is_rounded)
{
	for (guint32 seed = 1; seed <= 20; seed++) {
		const struct store_options options = { .dir = new_dir(), .preempted_stacks = is_rounded ? WAITS : 0 };
		g_autoptr(GError) error = NULL;
		struct store *s = store_open(&options, &error);
		struct profile *whole = new_window(seed), *p = is_rounded ? merge_coarse(whole, WAITS, NULL) : merge_copy(whole, NULL), *read;

		g_assert_true(store_add(s, whole, NULL, &error));
		store_close(s);
		read = store_read(options.dir, START, START + S, &error);
		g_assert_no_error(error);
		if (is_rounded)
			digits_round(p);
		for (guint i = 0; i < p->waits->len; i++) {	/* an error keeps four bits in any case */
			struct wait *w = &g_array_index(p->waits, struct wait, i);

			w->off_cpu_se_ns = pack_error_value(pack_error(w->off_cpu_se_ns));
			w->count_se = pack_error_value(pack_error(w->count_se));
		}
		sim_assert_same(read, p);
		profile_free(whole);
		profile_free(p);
		profile_free(read);
		remove_dir((char *)(uintptr_t)options.dir);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/digits/rounds", rounds);
	g_test_add_data_func("/digits/comes_back", NULL, comes_back);
	g_test_add_data_func("/digits/comes_back_rounded", "", comes_back);
	return g_test_run();
}
