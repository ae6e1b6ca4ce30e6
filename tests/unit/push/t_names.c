/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/clickhouse.h"
#include "push/fleet.h"
#include "push/services.h"

static void test_quoting(void)
{
	g_autoptr(GString) s = g_string_new(NULL);

	clickhouse_name(s, "a`b\\c'd");
	g_assert_cmpstr(s->str, ==, "`a\\`b\\\\c'd`");
	g_string_truncate(s, 0);
	clickhouse_text(s, "it's \\ `x`");
	g_assert_cmpstr(s->str, ==, "'it\\'s \\\\ `x`'");
	g_assert_null(clickhouse_insert("offcpu", "waits; DROP TABLE x"));
	g_autofree char *insert = clickhouse_insert("of`f", "losses");

	g_assert_cmpstr(insert, ==, "INSERT INTO `of\\`f`.losses (host, start, window, row, reason, help, count, time_ns) FORMAT RowBinary");
}

static void test_globs(void)
{
	static const struct { const char *glob, *yes, *no; } cases[] = {
		{ "db*", "db17", "adb" },	 { "db?", "db1", "db12" },     { "a.b", "a.b", "axb" },
		{ "*", "", NULL },		 { "(x|y)$", "(x|y)$", "x" },  { "[a]", "[a]", "a" },
		{ "a\nb*", "a\nb\nc", "ab" },	 { "\\d", "\\d", "1" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) s = g_string_new(NULL);

		fleet_regex(s, cases[i].glob);
		g_assert_true(g_regex_match_simple(s->str, cases[i].yes, G_REGEX_DOLLAR_ENDONLY, 0));
		if (cases[i].no)
			g_assert_false(g_regex_match_simple(s->str, cases[i].no, G_REGEX_DOLLAR_ENDONLY, 0));
	}
}

static void add(struct profile *p, const char *process, const char *service, uint32_t flags, uint64_t ns)
{
	const struct thread t = { .process = profile_string(p, process), .service = profile_string(p, service), .flags = flags,
				  .to_ns = ns, .blocked_ns = ns };

	profile_add_thread(p, &t);
}

static const char *name(const struct services *s, const struct profile *p, guint i)
{
	return services_name(s, profile_thread(p, i));
}

static void test_services(void)
{
	struct profile *p = profile_new();
	struct services *s = services_new(2);

	add(p, "small", NULL, 0, 9);
	add(p, "middle", NULL, 0, 1000);
	add(p, "large", "shop", 0, 2000);
	add(p, "kworker/0:1", NULL, THREAD_KERNEL, 90000);
	add(p, "third", NULL, 0, 900);
	services_learn(s, p);
	g_assert_cmpstr(name(s, p, 0), ==, "other");
	g_assert_cmpstr(name(s, p, 1), ==, "middle");
	g_assert_cmpstr(name(s, p, 2), ==, "shop");
	g_assert_cmpstr(name(s, p, 3), ==, "kernel");
	g_assert_cmpstr(name(s, p, 4), ==, "other");
	profile_empty_rows(p);
	add(p, "third", NULL, 0, 900000);
	services_learn(s, p);	/* who has a name keeps it, and there is no room */
	g_assert_cmpstr(name(s, p, 0), ==, "other");
	services_free(s);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/push/names/quoting", test_quoting);
	g_test_add_func("/push/names/globs", test_globs);
	g_test_add_func("/push/names/services", test_services);
	return g_test_run();
}
