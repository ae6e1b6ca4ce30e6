/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "../fixture.h"
#include "server/ranges.h"

static int reads, at_once, most_at_once;

/* Slow enough that others come meanwhile. */
static struct profile *read_slowly(const char *dir, uint64_t from_ns, uint64_t to_ns, GError **error)
{
	int now = g_atomic_int_add(&at_once, 1) + 1;

	g_atomic_int_set(&most_at_once, MAX(g_atomic_int_get(&most_at_once), now));
	g_atomic_int_inc(&reads);
	g_usleep(20000);
	g_atomic_int_dec_and_test(&at_once);
	if (from_ns == to_ns) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s: nothing is there", dir);
		return NULL;
	}
	return fixture_new();
}

static struct profile *read_at_once(const char *dir, uint64_t from_ns, uint64_t to_ns, GError **error)
{
	g_atomic_int_inc(&reads);
	return fixture_new();
}

static void test_hits(void)
{
	struct ranges *r = ranges_new("/x", read_at_once, 1 << 20);
	const struct profile *a = ranges_get(r, 1, 2, RANGE_PLAIN, NULL), *b = ranges_get(r, 1, 2, RANGE_PLAIN, NULL);
	const struct profile *other = ranges_get(r, 1, 3, RANGE_PLAIN, NULL), *form = ranges_get(r, 1, 2, RANGE_WITH_OBJECTS, NULL);
	struct ranges_stats stats;

	g_assert_true(a && a == b && other && other != a && form && form != a);
	ranges_put(r, a);
	ranges_put(r, b);
	ranges_put(r, other);
	ranges_put(r, form);
	ranges_put(r, NULL);
	ranges_stats(r, &stats);
	g_assert_cmpuint(stats.read_cnt, ==, 3);
	g_assert_cmpuint(stats.hit_cnt, ==, 1);
	g_assert_cmpuint(stats.kept, ==, 3);
	ranges_free(r);
	ranges_free(NULL);
}

/* Few are kept, in number and in bytes; one that is used never goes. */
static void test_bounds(void)
{
	struct profile *p = fixture_new();
	gsize one = profile_bytes(p);
	struct ranges *r = ranges_new("/x", read_at_once, 3 * one + one / 2);
	const struct profile *used = ranges_get(r, 1, 2, RANGE_PLAIN, NULL);
	struct ranges_stats stats;

	for (uint64_t i = 0; i < 50; i++)
		ranges_put(r, ranges_get(r, 100 + i, 200, RANGE_PLAIN, NULL));
	ranges_stats(r, &stats);
	g_assert_cmpuint(stats.kept, ==, 3);
	g_assert_cmpuint(stats.bytes, <=, 3 * one + one / 2);
	g_assert_true(ranges_get(r, 1, 2, RANGE_PLAIN, NULL) == used);
	ranges_put(r, used);
	ranges_put(r, used);
	ranges_free(r);

	r = ranges_new("/x", read_at_once, 1000 * one);
	for (uint64_t i = 0; i < 50; i++)
		ranges_put(r, ranges_get(r, 100 + i, 200, RANGE_PLAIN, NULL));
	ranges_stats(r, &stats);
	g_assert_cmpuint(stats.kept, <=, 8);
	ranges_free(r);
	profile_free(p);
}

static gpointer get_good(gpointer data)
{
	const struct profile *p = ranges_get(data, 1, 2, RANGE_PLAIN, NULL);

	g_assert_nonnull(p);
	ranges_put(data, p);
	return NULL;
}

static gpointer get_bad(gpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(ranges_get(data, 5, 5, RANGE_PLAIN, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	return NULL;
}

/* Many ask for the same range at once: it is read once, and who fails fails for all that waited. */
static void test_threads(void)
{
	struct ranges *r = ranges_new("/x", read_slowly, 1 << 20);
	GThread *threads[16];

	reads = most_at_once = 0;
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("get", get_good, r);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
	g_assert_cmpint(reads, ==, 1);
	g_assert_cmpint(most_at_once, ==, 1);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("get", i % 2 ? get_bad : get_good, r);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
	/* a failure is not kept */
	g_assert_cmpint(reads, >=, 2);
	int before = reads;
	get_bad(r);
	g_assert_cmpint(reads, ==, before + 1);
	ranges_free(r);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/server/ranges/hits", test_hits);
	g_test_add_func("/server/ranges/bounds", test_bounds);
	g_test_add_func("/server/ranges/threads", test_threads);
	return g_test_run();
}
