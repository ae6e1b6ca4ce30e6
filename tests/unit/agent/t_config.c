/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/alert.h"
#include "features/requests/agent_rule.h"
#include "agent/config.h"

#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#define S UINT64_C(1000000000)

static struct agent_config *parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	struct agent_config *c = agent_config_new();

	agent_config_take(c, text, strlen(text), "a.conf", &error);
	g_assert_no_error(error);
	return c;
}

static void test_defaults(void)
{
	struct agent_config *c = parse("");

	g_assert_cmpuint(c->window_ns, ==, 10 * S);
	g_assert_cmpuint(c->budget_ppm, ==, 10000);
	g_assert_cmpstr(c->dir, ==, "/var/lib/offcpu");
	g_assert_cmpuint(c->max_bytes, ==, UINT64_C(512) << 20);
	g_assert_cmpuint(c->keep_windows_ns, ==, 24 * 3600 * S);
	g_assert_cmpuint(c->incidents_bytes, ==, UINT64_C(2) << 30);
	g_assert_true(c->objects && c->locks && c->services && c->kernel_threads && c->fold_short_lived);
	g_assert_cmpuint(c->on_cpu_hz, ==, 19);
	g_assert_null(c->comm);
	g_assert_null(c->cgroups);
	agent_config_free(c);
}

static void test_all_keys(void)
{
	struct agent_config *c = parse("# a comment\n; another\r\n"
				       "[agent]\nwindow = 30s\nbudget=0.5%\n memory = off\n"
				       "[store]\ndir = /srv/h\nmax-size = 2G\nkeep-windows = 2d\nkeep-minutes=30d\nkeep-hours = 800d\nincidents = 0\n"
				       "[record]\nobjects=no\nlocks = off\nwakers = false\nrunq-blame = no\nservices = no\nkernel-threads = no\n"
				       "fold-short-lived = no\ncpu-samples = 0\ncomm = my*\ncgroups = a.slice; /b ;\nexclude = secret*\n");

	g_assert_cmpuint(c->window_ns, ==, 30 * S);
	g_assert_cmpuint(c->budget_ppm, ==, 5000);
	g_assert_cmpuint(c->memory_bytes, ==, 0);
	g_assert_cmpstr(c->dir, ==, "/srv/h");
	g_assert_cmpuint(c->max_bytes, ==, UINT64_C(2) << 30);
	g_assert_cmpuint(c->keep_windows_ns, ==, 48 * 3600 * S);
	g_assert_cmpuint(c->incidents_bytes, ==, 0);
	g_assert_cmpuint(c->keep_hours_ns, ==, 800 * 24 * 3600 * S);
	g_assert_false(c->objects || c->locks || c->wakers || c->runq_blame || c->services || c->kernel_threads || c->fold_short_lived);
	g_assert_cmpuint(c->on_cpu_hz, ==, 0);
	g_assert_cmpstr(c->comm, ==, "my*");
	g_assert_cmpuint(g_strv_length(c->cgroups), ==, 2);
	g_assert_cmpstr(c->cgroups[1], ==, "/b");
	g_assert_cmpstr(c->exclude[0], ==, "secret*");
	agent_config_free(c);
}

static void test_keep(void)
{
	static const struct {
		const char *text;
		uint64_t before_ns, after_ns;	/* both 0: it is refused */
	} cases[] = {
		{ "10m before, 5m after", 600 * S, 300 * S }, { "5m after,10s before", 10 * S, 300 * S },
		{ "1h before", 3600 * S, 0 }, { "0s before, 5s after", 0, 5 * S },
		{ "", 0, 0 }, { "10m", 0, 0 }, { "before", 0, 0 }, { "10m before, 5m before", 0, 0 }, { "25h before", 0, 0 },
		{ "10m before, 5m after, 1m after", 0, 0 }, { "-1m before", 0, 0 }, { "0s before, 0s after", 0, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strdup_printf("[alert a]\nwhen = reason=lock share > 1%%\nkeep = %s\nrecord = 30s\n", cases[i].text);
		struct agent_config *c = agent_config_new();
		bool is_well = agent_config_take(c, text, strlen(text), "a.conf", NULL);

		g_assert_cmpint(is_well, ==, cases[i].before_ns + cases[i].after_ns > 0);
		if (is_well) {
			const struct alert_rule *rule = c->alerts->pdata[0];

			g_assert_cmpuint(rule->keep_before_ns, ==, cases[i].before_ns);
			g_assert_cmpuint(rule->keep_after_ns, ==, cases[i].after_ns);
			g_assert_cmpuint(rule->record_ns, ==, 30 * S);
			g_assert_true(agent_config_records(c));
			c->incidents_bytes = 0;
			g_assert_false(agent_config_records(c));
		}
		agent_config_free(c);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "[agent]\n\nwindw = 1s\n", "a.conf, line 3: [agent] has no key 'windw'" },
		{ "[agents]\n", "a.conf, line 1: there is no group [agents]; there are [agent], [store], [push], [metrics], [record], [request NAME] and [alert NAME]" },
		{ "window = 1s\n", "a.conf, line 1: 'window' stands before any group such as [record]" },
		{ "[agent]\nwindow\n", "a.conf, line 2: 'window' is not KEY = VALUE" },
		{ "[agent\n", "a.conf, line 1: '[agent' is not a group such as [record]" },
		{ "[agent]\nwindow = 1x\n", "a.conf, line 2: window: '1x' is not a time such as 10s, 15m, 24h or 14d" },
		{ "[agent]\nwindow = -1s\n", "a.conf, line 2: window: '-1s' is not a time such as 10s, 15m, 24h or 14d" },
		{ "[agent]\nwindow = 0s\n", "a.conf, line 2: window: '0s' is too little" },
		{ "[agent]\nwindow = 2h\n", "a.conf, line 2: window: '2h' is too much" },
		{ "[agent]\nwindow = 99999999999999999999s\n", "a.conf, line 2: window: '99999999999999999999s' is not a time such as 10s, 15m, 24h or 14d" },
		{ "[agent]\nwindow = 18446744073709551615d\n", "a.conf, line 2: window: '18446744073709551615d' is not a time such as 10s, 15m, 24h or 14d" },
		{ "[agent]\nbudget = 200%\n", "a.conf, line 2: budget: '200%' is not a percentage above 0 and up to 100, or off" },
		{ "[record]\nobjects = maybe\n", "a.conf, line 2: objects: 'maybe' is not yes or no" },
		{ "[record]\ncpu-samples = 10000\n", "a.conf, line 2: cpu-samples: '10000' is too much" },
		{ "[record]\nlocks = no\nlocks = yes\n", "a.conf, line 3: 'locks' stands there twice" },
		{ "[store]\ndir = here\n", "a.conf: [store] dir: 'here' is not an absolute path" },
		{ "[store]\nmax-size = off\n", "a.conf, line 2: max-size: 'off' is not a size such as 512M or 2G, or off" },
		{ "[alert ]\n", "a.conf, line 1: there is no group [alert]; there are [agent], [store], [push], [metrics], [record], [request NAME] and [alert NAME]" },
		{ "[alert a]\nfor = 2\n", "a.conf: [alert a] has no 'when'" },
		{ "[alert a]\nwhen = reason=lock share > 30%\n[alert a]\n", "a.conf, line 3: [alert a] stands there twice" },
		{ "[alert a]\nif = x\n", "a.conf, line 2: [alert a] has no key 'if'; there are when, for, run, keep and record" },
		{ "[alert a]\nwhen = reason=lock share > 1%\nkeep = 1m after\nrecord = 0s\n", "a.conf, line 4: record: '0s' is not a time from 1s to 5m, such as 30s" },
		{ "[alert a]\nwhen = reason=lock share > 1%\nkeep = 1m after\nrecord = 6m\n", "a.conf, line 4: record: '6m' is not a time from 1s to 5m, such as 30s" },
		{ "[alert a]\nwhen = reason=lock share > 1%\nrecord = 30s\n", "a.conf: [alert a]: record is kept with windows: it takes keep, too" },
		{ "[alert a]\nfor = 0\n", "a.conf, line 2: for: '0' is not a number of windows from 1 to 8640" },
		{ "[alert a]\nrun = mail root\n", "a.conf, line 2: run: 'mail': a command is given with its whole path" },
		{ "[alert a]\nrun = /bin/echo 'a\n", "a.conf, line 2: run: '/bin/echo 'a' is no command: Text ended before matching quote was "
						      "found for \'. (The text was \u201c/bin/echo 'a\u201d)" },
		{ "[push]\npyroscope = nowhere\n", "a.conf: [push] pyroscope: \"nowhere\" is no address such as http://HOST:PORT" },
		{ "[push]\nwindows = some\n", "a.conf: [push] windows: 'some' is none of all, findings, alerts" },
		{ "[push]\none-host-in = 0\n", "a.conf, line 2: one-host-in: '0' is too little" },
		{ "[agent]\n\xff = 1\n", "a.conf, line 2: it is not UTF-8" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		struct agent_config *c = agent_config_new();

		g_assert_false(agent_config_take(c, bad[i].text, strlen(bad[i].text), "a.conf", &error));
		agent_config_free(c);
		g_assert_error(error, AGENT_CONFIG_ERROR, 0);
		g_assert_cmpstr(error->message, ==, bad[i].says);
	}
}

static void test_requests(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "[request a]\n", "a.conf: [request a] has none of 'socket', 'function' and 'route'" },
		{ "[request a]\nsocket = 0\n", "a.conf, line 2: socket: '0' is not a port, a number from 1 to 65535" },
		{ "[request a]\nsocket = 1\nfunction = f of g\n",
		  "a.conf, line 3: [request a] has a socket, a function or a route: one of them" },
		{ "[request a]\nfunction = f\n",
		  "a.conf, line 2: function: 'f' is not PATTERN of PROGRAM, such as dispatch_command of mariadbd" },
		{ "[request a]\nport = 1\n", "a.conf, line 2: [request a] has no key 'port'; there are socket, function and route" },
		{ "[request a]\nroute = /x\n",
		  "a.conf, line 2: route: '/x' is not GLOB of SERVICE, such as POST /order/* of orders" },
		{ "[request a]\nsocket = 1\n[request b]\nsocket = 1\n",
		  "a.conf: [request a] and [request b] have the same socket" },
		{ "[request a]\nsocket = 1\n[request b]\nfunction = f of g\n",
		  "a.conf: [request a] is a socket and [request b] a function: an agent has requests by connection or by "
		  "functions, for a thread has one kind at a time" },
		{ "[request b]\nfunction = f of g\n[request a]\nroute = * of y\n",
		  "a.conf: [request a] is a route and [request b] a function: an agent has requests by connection or by "
		  "functions, for a thread has one kind at a time" },
		{ "[record]\nobjects = no\n[request a]\nroute = * of y\n",
		  "a.conf: [request a]: at which ports y serves routes the objects of its waits tell: it needs objects = yes in "
		  "[record]" },
		{ "[request a]\nsocket = 1\n[request a]\n", "a.conf, line 3: [request a] stands there twice" },
		{ "[request a b]\n", "a.conf, line 1: a request's name is a word of 1 to 64 bytes" },
		{ "[alert x]\nwhen = request=a p99 > 1ms\n", "a.conf: [alert x]: there is no [request a]" },
	};
	static const char good[] = "[request a]\nfunction = my of name(int) of mariadbd\n[request b]\nfunction = g*  of /bin/x\n"
				   "[alert x]\nwhen = request=a p99 > 1ms\n";
	struct agent_config *c = agent_config_new();
	g_autoptr(GError) error = NULL;
	const struct request_rule *a, *b;

	g_assert_true(agent_config_take(c, good, strlen(good), "a.conf", &error));
	g_assert_no_error(error);
	a = request_rules_find(c->requests, "a");
	b = request_rules_find(c->requests, "b");
	g_assert_cmpstr(a->pattern, ==, "my of name(int)");
	g_assert_cmpstr(a->program, ==, "mariadbd");
	g_assert_cmpstr(b->pattern, ==, "g*");
	g_assert_cmpstr(b->program, ==, "/bin/x");
	agent_config_free(c);
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) why = NULL;

		c = agent_config_new();
		g_assert_false(agent_config_take(c, bad[i].text, strlen(bad[i].text), "a.conf", &why));
		g_assert_cmpstr(why->message, ==, bad[i].says);
		agent_config_free(c);
	}
}

static void test_routes(void)
{
	static const char text[] = "[request a]\nroute = POST /order/* of orders\n[request b]\nroute = the list of x of or*s\n"
				   "[request c]\nsocket = 80\n";
	struct agent_config *c = agent_config_new();
	g_autoptr(GError) error = NULL;
	const struct request_rule *a, *b;

	g_assert_true(agent_config_take(c, text, strlen(text), "a.conf", &error));
	g_assert_no_error(error);
	a = request_rules_find(c->requests, "a");
	b = request_rules_find(c->requests, "b");
	g_assert_cmpstr(a->route, ==, "POST /order/*");
	g_assert_cmpstr(a->service, ==, "orders");
	g_assert_cmpstr(b->route, ==, "the list of x");
	g_assert_cmpstr(b->service, ==, "or*s");
	g_autofree char *said = request_rule_text(a);

	g_assert_cmpstr(said, ==, "route POST /order/* of orders");
	agent_config_free(c);
}

static void test_files(void)
{
	g_autofree char *dir = g_dir_make_tmp("config-XXXXXX", NULL), *path = g_build_filename(dir, "c", NULL);
	g_autoptr(GError) error = NULL;
	struct agent_config *c = agent_config_read(path, true, &error);

	g_assert_no_error(error);
	g_assert_nonnull(c);
	agent_config_free(c);
	g_assert_null(agent_config_read(path, false, &error));
	g_assert_nonnull(strstr(error->message, "No such file"));
	g_clear_error(&error);
	c = agent_config_read("/dev/null", false, &error);
	g_assert_no_error(error);
	agent_config_free(c);
	g_assert_null(agent_config_read("/dev/zero", false, &error));
	g_assert_cmpstr(error->message, ==, "/dev/zero: it is not a file");
	g_clear_error(&error);
	g_assert_true(g_file_set_contents(path, "[agent]\nwindow = 2s\0 ", 21, NULL));
	g_assert_null(agent_config_read(path, false, &error));
	g_assert_nonnull(strstr(error->message, "byte 0"));
	g_unlink(path);
	g_rmdir(dir);
}

static void put(const char *dir, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* By their names: later values win, an alert of the same name is replaced, and files with other endings do not count. */
static void test_drop_ins(void)
{
	g_autofree char *dir = g_dir_make_tmp("config-XXXXXX", NULL), *path = g_build_filename(dir, "c", NULL),
			*folder = g_strconcat(path, ".d", NULL), *before = NULL;
	static const char *const names[] = { "20-b.conf", "10-a.conf", "30-c.conf.bak", ".40-d.conf" };
	g_autoptr(GError) error = NULL;
	struct agent_config *c;

	put(dir, "c", "[agent]\nwindow = 2s\nbudget = 2%\n[alert one]\nwhen = reason=lock share > 30%\n");
	c = agent_config_read(path, false, &error);
	g_assert_no_error(error);
	before = g_strdup(c->hash);
	g_assert_cmpuint(strlen(before), ==, AGENT_HASH_CHARS);
	agent_config_free(c);
	g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
	put(folder, names[0], "[agent]\nwindow = 4s\n[alert one]\nwhen = reason=disk share > 5%\n");
	put(folder, names[1], "[agent]\nwindow = 3s\n[alert two]\nwhen = reason=cpu share > 5%\n");
	put(folder, names[2], "what an editor left");
	put(folder, names[3], "and what it hides");
	c = agent_config_read(path, false, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(c->window_ns, ==, 4 * S);
	g_assert_cmpuint(c->budget_ppm, ==, 20000);
	g_assert_cmpuint(c->alerts->len, ==, 2);
	g_assert_cmpstr(((struct alert_rule *)c->alerts->pdata[0])->name, ==, "two");
	g_assert_cmpstr(((struct alert_rule *)c->alerts->pdata[1])->when, ==, "reason=disk share > 5%");
	g_assert_cmpstr(c->hash, !=, before);
	agent_config_free(c);
	put(folder, names[0], "[agent]\nwindow = 4s\nwindow = 5s\n");
	g_assert_null(agent_config_read(path, false, &error));
	g_assert_nonnull(strstr(error->message, "20-b.conf, line 3: 'window' stands there twice"));
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *one = g_build_filename(folder, names[i], NULL);

		g_unlink(one);
	}
	g_rmdir(folder);
	g_unlink(path);
	g_rmdir(dir);
}

static void test_alerts(void)
{
	struct agent_config *c = parse("[alert lock]\nwhen = process=my* reason=lock share > 30%\nfor = 5\nrun = /bin/mail -s 'an alert' root\n"
				       "[alert slow disk]\nwhen = reason=disk.sync p99 > 50ms\n");
	const struct alert_rule *r = c->alerts->pdata[0];

	g_assert_cmpuint(c->alerts->len, ==, 2);
	g_assert_cmpstr(r->name, ==, "lock");
	g_assert_cmpstr(r->process, ==, "my*");
	g_assert_cmpuint(r->for_windows, ==, 5);
	g_assert_cmpuint(g_strv_length(r->run), ==, 4);
	g_assert_cmpstr(r->run[2], ==, "an alert");
	r = c->alerts->pdata[1];
	g_assert_cmpstr(r->name, ==, "slow disk");
	g_assert_cmpuint(r->for_windows, ==, 3);
	g_assert_null(r->run);
	agent_config_free(c);
}

static void test_settings(void)
{
	struct agent_config *c = agent_config_new(), *other = agent_config_new();
	g_autoptr(GError) error = NULL;

	g_assert_true(agent_config_records_same(c, other));
	g_assert_true(agent_config_set(c, "agent.window=1s", &error));
	g_assert_true(agent_config_set(c, "store.dir=/tmp/a.b=c", &error));
	g_assert_cmpuint(c->window_ns, ==, S);
	g_assert_cmpstr(c->dir, ==, "/tmp/a.b=c");
	g_assert_true(agent_config_records_same(c, other));
	g_assert_true(agent_config_set(c, "record.comm=x", &error));
	g_assert_false(agent_config_records_same(c, other));
	g_assert_false(agent_config_set(c, "window=1s", &error));
	g_assert_cmpstr(error->message, ==, "--set window=1s: no such key; it is GROUP.KEY=VALUE, as store.dir=/srv/offcpu");
	agent_config_free(c);
	agent_config_free(other);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent-config/defaults", test_defaults);
	g_test_add_func("/agent-config/all-keys", test_all_keys);
	g_test_add_func("/agent-config/keep", test_keep);
	g_test_add_func("/agent-config/refused", test_refused);
	g_test_add_func("/agent-config/alerts", test_alerts);
	g_test_add_func("/agent-config/requests", test_requests);
	g_test_add_func("/agent-config/routes", test_routes);
	g_test_add_func("/agent-config/files", test_files);
	g_test_add_func("/agent-config/drop-ins", test_drop_ins);
	g_test_add_func("/agent-config/settings", test_settings);
	return g_test_run();
}
