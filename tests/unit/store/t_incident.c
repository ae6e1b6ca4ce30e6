/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/incidents/history.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "history.h"
#include "store/blob.h"

#define MIB (UINT64_C(1) << 20)

static struct incident keep(const char *dir, const char *name, uint64_t from_ns, uint64_t to_ns, uint64_t max_bytes)
{
	const struct incident_options options = { .dir = dir, .max_bytes = max_bytes };
	struct incident about = { .name = (char *)(uintptr_t)name, .said = (char *)"it is 87%\nof all",
				  .headline = (char *)"threads wait" };
	g_autoptr(GError) error = NULL;

	g_assert_true(incident_keep(&options, START + from_ns, START + to_ns, &about, &error));
	g_assert_no_error(error);
	return about;
}

static void refused(const char *dir, const char *name, uint64_t max_bytes, const char *why)
{
	const struct incident_options options = { .dir = dir, .max_bytes = max_bytes };
	struct incident about = { .name = (char *)(uintptr_t)name };
	g_autoptr(GError) error = NULL;

	g_assert_false(incident_keep(&options, START, START + 60 * S, &about, &error));
	g_assert_nonnull(strstr(error->message, why));
}

static GPtrArray *list(const char *dir)
{
	g_autoptr(GError) error = NULL;
	GPtrArray *all = incident_list(dir, &error);

	g_assert_no_error(error);
	return all;
}

static const struct incident *at(const GPtrArray *all, guint i)
{
	g_assert_cmpuint(i, <, all->len);
	return all->pdata[i];
}

static char *filled(struct sim *sim, uint64_t to_ns)
{
	char *dir = new_dir();
	struct store *s = open_store(dir);

	add_windows(s, sim, 0, to_ns, 10 * S);
	store_close(s);
	return dir;
}

static void remove_all(char *dir)
{
	g_autoptr(GPtrArray) all = list(dir);
	g_autofree char *folder = g_build_filename(dir, "incidents", NULL);

	for (guint i = 0; i < all->len; i++)
		remove_dir(incident_dir(dir, at(all, i)->name));
	remove_dir(g_steal_pointer(&folder));
	remove_dir(dir);
}

/* What is read of it is what was there, also once the history has forgotten that. */
static void test_stays(void)
{
	struct sim *sim = sim_new(1, 6, 300 * S);
	char *dir = filled(sim, 240 * S);
	g_autofree char *own = incident_dir(dir, "deploy 17");
	struct incident about = keep(dir, "deploy 17", 60 * S, 120 * S, 100 * MIB);
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	g_assert_cmpuint(about.windows, ==, 6);
	g_assert_cmpuint(about.minutes + about.hours, ==, 0);
	while ((name = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		if (g_str_has_suffix(name, ".db"))
			g_unlink(path);
	}
	g_dir_close(d);
	assert_range(own, sim, 60 * S, 120 * S);

	g_autoptr(GPtrArray) all = list(dir);

	g_assert_cmpuint(all->len, ==, 1);
	g_assert_cmpstr(at(all, 0)->name, ==, "deploy 17");
	g_assert_cmpstr(at(all, 0)->said, ==, "it is 87%\nof all");
	g_assert_cmpstr(at(all, 0)->headline, ==, "threads wait");
	g_assert_cmpuint(at(all, 0)->from_unix_ns, ==, START + 60 * S);
	g_assert_cmpuint(at(all, 0)->to_unix_ns, ==, START + 120 * S);
	remove_all(dir);
	sim_free(sim);
}

/* Windows that are gone are told by their minutes, and so it says. */
static void test_thinned(void)
{
	struct sim *sim = sim_new(2, 6, 300 * S);
	char *dir = filled(sim, 300 * S);
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		if (strstr(name, ".10s."))
			g_unlink(path);
	}
	g_dir_close(d);
	struct incident about = keep(dir, "late", 70 * S, 80 * S, 100 * MIB);

	g_assert_cmpuint(about.windows, ==, 0);
	g_assert_cmpuint(about.minutes, ==, 1);
	remove_all(dir);
	sim_free(sim);
}

/* It goes with the incident, and stays as that is made anew; where the incident is refused its file is not touched. */
static void test_recording(void)
{
	struct sim *sim = sim_new(7, 6, 300 * S);
	char *dir = filled(sim, 120 * S);
	g_autofree char *file = g_build_filename(dir, ".alert-1.offcpu", NULL), *kept = incident_recording(dir, "held");
	struct incident_options options = { .dir = dir, .max_bytes = 10, .may_replace = true, .recording = file };
	struct incident about = { .name = (char *)"held" };

	g_assert_true(g_file_set_contents(file, "recorded", -1, NULL));
	g_assert_false(incident_keep(&options, START, START + 60 * S, &about, NULL));
	g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
	options.max_bytes = 100 * MIB;
	for (int i = 0; i < 3; i++) {
		g_autofree char *text = NULL;

		g_assert_true(incident_keep(&options, START, START + 60 * S, &about, NULL));
		g_assert_false(g_file_test(file, G_FILE_TEST_EXISTS));
		g_assert_true(g_file_get_contents(kept, &text, NULL, NULL));
		g_assert_cmpstr(text, ==, "recorded");
		if (i == 1)
			options.recording = NULL;
	}
	keep(dir, "without", 0, 60 * S, 100 * MIB);

	g_autoptr(GPtrArray) all = list(dir);

	g_assert_true(at(all, 0)->has_recording);
	g_assert_false(at(all, 1)->has_recording);
	remove_all(dir);
	sim_free(sim);
}

static void test_names(void)
{
	struct sim *sim = sim_new(3, 6, 300 * S);
	char *dir = filled(sim, 120 * S);
	g_autofree char *safe = incident_name_of("../x\n\xff");
	static const char *const bad[] = { "", ".hidden", "..", "a/b", "a\nb", "\xff" };

	keep(dir, "one", 0, 60 * S, 100 * MIB);
	keep(dir, "two", 30 * S, 90 * S, 100 * MIB);	/* overlaps the other one */
	refused(dir, "one", 100 * MIB, "already");
	refused(dir, "three", 0, "no incidents are kept");
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		refused(dir, bad[i], 100 * MIB, "no name of an incident");
	g_assert_true(incident_check_name(safe, NULL));
	g_autofree char *one = incident_dir(dir, "one"), *two = incident_dir(dir, "two");

	assert_range(one, sim, 0, 60 * S);
	assert_range(two, sim, 30 * S, 90 * S);
	remove_all(dir);
	sim_free(sim);
}

/* The oldest go; what would not fit alone is not kept, and takes no other one away. */
static void test_bound(void)
{
	struct sim *sim = sim_new(4, 6, 300 * S);
	char *dir = filled(sim, 240 * S);
	uint64_t bytes = keep(dir, "a", 0, 60 * S, 100 * MIB).bytes;

	keep(dir, "b", 60 * S, 120 * S, 100 * MIB);
	refused(dir, "c", bytes / 2, "more than all");
	keep(dir, "d", 120 * S, 180 * S, 5 * bytes / 2);
	g_autoptr(GPtrArray) all = list(dir);

	g_assert_cmpuint(all->len, ==, 2);
	g_assert_cmpstr(at(all, 0)->name, ==, "b");
	g_assert_cmpstr(at(all, 1)->name, ==, "d");
	remove_all(dir);
	sim_free(sim);
}

static void write_file(const char *dir, const char *name, const char *bytes, gssize len)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	g_assert_true(g_file_set_contents(path, bytes, len, NULL));
}

/* Others' bytes: listed as damaged, and a half that was left is gone with the next one. */
static void test_hostile(void)
{
	struct sim *sim = sim_new(5, 6, 300 * S);
	char *dir = filled(sim, 120 * S);

	keep(dir, "good", 0, 60 * S, 100 * MIB);
	static const char *const texts[] = {
		"", "[incident]\n", "\xff\0\x01", "[incident]\nfrom_unix_ns=9\nto_unix_ns=3\n",
		"[incident]\nfrom_unix_ns=1\nto_unix_ns=18446744073709551615\n", "[incident]\nfrom_unix_ns=-1\nto_unix_ns=x\n",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *name = g_strdup_printf("bad %zu", i), *own = incident_dir(dir, name);

		g_mkdir(own, 0700);
		write_file(own, "about", texts[i], -1);
	}
	g_autofree char *half = incident_dir(dir, ".making"), *good = incident_dir(dir, "good");
	g_autofree char *link = incident_dir(dir, "link");

	g_mkdir(half, 0700);
	write_file(half, "2026-01-01.10s.db", "half", 4);
	g_assert_cmpint(symlink("/", link), ==, 0);
	keep(dir, "next", 60 * S, 120 * S, 100 * MIB);
	g_assert_false(g_file_test(half, G_FILE_TEST_EXISTS));
	g_autoptr(GPtrArray) all = list(dir);

	g_assert_cmpuint(all->len, ==, 2 + G_N_ELEMENTS(texts));
	for (guint i = 0; i < all->len; i++)
		g_assert_cmpint(at(all, i)->damage != NULL, ==, g_str_has_prefix(at(all, i)->name, "bad"));

	/* a file of windows that ends early */
	GDir *d = g_dir_open(good, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(good, name, NULL);

		if (g_str_has_suffix(name, ".db"))
			g_assert_cmpint(truncate(path, 5000), ==, 0);
	}
	g_dir_close(d);
	g_autoptr(GError) error = NULL;

	g_assert_null(store_read(good, START, START + 60 * S, &error));
	g_assert_nonnull(error);
	g_unlink(link);
	remove_all(dir);
	sim_free(sim);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/incident/stays", test_stays);
	g_test_add_func("/incident/thinned", test_thinned);
	g_test_add_func("/incident/recording", test_recording);
	g_test_add_func("/incident/names", test_names);
	g_test_add_func("/incident/bound", test_bound);
	g_test_add_func("/incident/hostile", test_hostile);
	return g_test_run();
}
