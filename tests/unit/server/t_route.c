/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "server/listen.h"
#include "server/recording.h"
#include "server/route.h"
#include "server/readers.h"

#define TOKEN "abcdefghijklmnopqrstuvwxyz012345"
#define HOST "127.0.0.1:4711"
#define VIEWER "https://viewer.example"

static bool answer_nothing(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	return false;
}

static const struct route routes[] = {
	{ "", "text/html", NULL, NULL, answer_nothing, ROUTE_GET },
	{ "api/report", "application/json", NULL, NULL, answer_nothing, ROUTE_GET },
	{ "data.json", "application/json", VIEWER, NULL, answer_nothing, ROUTE_GET },
	SYMBOL_ROUTE,
};
#define TEAM "0123456789-team-token"
#define PROXY "0123456789-proxy-token"
static const struct reader readers[] = {
	{ .name = (char *)"ops", .token = (char *)TOKEN },
	{ .name = (char *)"shop", .token = (char *)TEAM, .services = (char *)"cart*,pay" },
	{ .name = (char *)"sso", .token = (char *)PROXY, .services = (char *)"*.service", .proxy = (char *)"10.0.0.5" },
	{ 0 },
};
static const char *const hosts[] = { HOST, "localhost:4711", NULL };
static const struct gate gate = { .readers = readers, .hosts = hosts, .once = "/open/one-time-code-1234567890" };

static struct verdict ask(struct request r)
{
	if (!r.method)
		r.method = "GET";
	if (!r.host)
		r.host = HOST;
	if (!r.path)
		r.path = "/" TOKEN "/data.json";
	return gate_check(&gate, routes, G_N_ELEMENTS(routes), &r);
}

static void check(unsigned status, struct request r)
{
	struct verdict v = ask(r);

	g_assert_cmpuint(v.status, ==, status);
	g_assert_true(status < SERVER_BAD_REQUEST ? !v.why : v.why && *v.why);
	if (status != SERVER_OK)
		g_assert_true(!v.route && !v.allow_origin);
}

static void test_paths(void)
{
	static const char *const forbidden[] = {
		"", "/", "//", "/data.json", "/" TOKEN, TOKEN "/", "//" TOKEN "/", "/x/" TOKEN "/", "/" TOKEN "x/",
		"/abcdefghijklmnopqrstuvwxyz01234/", "/abcdefghijklmnopqrstuvwxyz012346/", "/ABCDEFGHIJKLMNOPQRSTUVWXYZ012345/",
		"/../" TOKEN "/", "/open/", "/open/one-time-code-123456789", "/open/one-time-code-1234567890/", "*",
	};
	static const char *const missing[] = {
		"/" TOKEN "//", "/" TOKEN "/nope", "/" TOKEN "/data.json/", "/" TOKEN "/../../etc/passwd", "/" TOKEN "/./data.json",
		"/" TOKEN "/api", "/" TOKEN "/DATA.JSON", "/" TOKEN "/data.json ", "/" TOKEN "/api/report/..",
	};

	for (guint i = 0; i < G_N_ELEMENTS(forbidden); i++)
		check(SERVER_FORBIDDEN, (struct request){ .path = forbidden[i] });
	for (guint i = 0; i < G_N_ELEMENTS(missing); i++)
		check(SERVER_NOT_FOUND, (struct request){ .path = missing[i] });
	for (guint i = 0; i < G_N_ELEMENTS(routes); i++) {
		g_autofree char *path = g_strconcat("/" TOKEN "/", routes[i].path, NULL);

		g_assert_true(ask((struct request){ .path = path }).route == &routes[i]);
	}
	check(SERVER_SEE_OTHER, (struct request){ .path = gate.once });
}

static void test_methods(void)
{
	static const char *const methods[] = { "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "" };

	for (guint i = 0; i < G_N_ELEMENTS(methods); i++)
		check(SERVER_METHOD_NOT_ALLOWED, (struct request){ .method = methods[i] });
	check(SERVER_OK, (struct request){ .method = "HEAD" });
	check(SERVER_BAD_REQUEST, (struct request){ .has_body = true });
	/* but for the one that takes a body, from whom it may come */
	check(SERVER_OK, (struct request){ .method = "POST", .has_body = true, .path = "/" TOKEN "/debug/pprof/symbol" });
	check(SERVER_METHOD_NOT_ALLOWED, (struct request){ .method = "PUT", .has_body = true, .path = "/" TOKEN "/debug/pprof/symbol" });
	check(SERVER_FORBIDDEN, (struct request){ .method = "POST", .has_body = true, .path = "/debug/pprof/symbol" });
	check(SERVER_FORBIDDEN, (struct request){ .method = "POST", .path = "/" TOKEN "/debug/pprof/symbol", .origin = "https://evil.example" });
}

static void test_hosts(void)
{
	static const char *const wrong[] = {
		"evil.example", "evil.example:4711", "127.0.0.1", "127.0.0.1:80", "localhost", "", " 127.0.0.1:4711",
		"127.0.0.1:4711.evil.example", "localhost:4711,evil.example", "[::1]:4711", "0.0.0.0:4711",
	};
	struct request none = { .method = "GET", .path = "/" TOKEN "/" };

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
		check(SERVER_FORBIDDEN, (struct request){ .host = wrong[i] });
	g_assert_cmpuint(gate_check(&gate, routes, G_N_ELEMENTS(routes), &none).status, ==, SERVER_FORBIDDEN);
	check(SERVER_OK, (struct request){ .host = "LOCALHOST:4711" });
	/* not even the way in by a link is open to them */
	check(SERVER_FORBIDDEN, (struct request){ .host = "evil.example", .path = gate.once });
}

static void test_origins(void)
{
	static const char *const wrong[] = { "null", "", "https://evil.example", "http://viewer.example", VIEWER ".evil.example",
					     VIEWER ":443", "http://127.0.0.1:4712", "http://localhost:4711", "https://127.0.0.1:4711" };

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
		check(SERVER_FORBIDDEN, (struct request){ .origin = wrong[i] });
	g_assert_cmpstr(ask((struct request){ .origin = VIEWER, .fetch_site = "cross-site", .fetch_mode = "cors" }).allow_origin, ==, VIEWER);
	/* only where the route says so */
	check(SERVER_FORBIDDEN, (struct request){ .path = "/" TOKEN "/api/report", .origin = VIEWER });
	check(SERVER_FORBIDDEN, (struct request){ .path = "/" TOKEN "/", .origin = VIEWER });
	g_assert_null(ask((struct request){ .origin = "http://" HOST }).allow_origin);
	check(SERVER_OK, (struct request){ .origin = "http://" HOST });
	check(SERVER_OK, (struct request){ .host = "localhost:4711", .origin = "http://localhost:4711" });
	check(SERVER_FORBIDDEN, (struct request){ .fetch_site = "cross-site", .fetch_mode = "no-cors" });
	check(SERVER_FORBIDDEN, (struct request){ .fetch_site = "same-site", .fetch_mode = "cors" });
	check(SERVER_FORBIDDEN, (struct request){ .fetch_site = "cross-site" });
	check(SERVER_OK, (struct request){ .fetch_site = "cross-site", .fetch_mode = "navigate" });
	check(SERVER_OK, (struct request){ .fetch_site = "same-origin", .fetch_mode = "cors" });
	check(SERVER_OK, (struct request){ .fetch_site = "none", .fetch_mode = "navigate" });
}

static void test_bearer(void)
{
	static const char *const wrong[] = { "Bearer", "Bearer ", "Bearer x", "Basic " TOKEN, "Bearer " TOKEN "x", "Bearer  " TOKEN, TOKEN, "" };
	const struct request good = { .path = "/api/report", .authorization = "Bearer " TOKEN };

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
		check(SERVER_FORBIDDEN, (struct request){ .path = "/api/report", .authorization = wrong[i] });
	g_assert_true(ask(good).route == &routes[1]);
	check(SERVER_FORBIDDEN, (struct request){ .path = "api/report", .authorization = "Bearer " TOKEN });
	/* one wrong word is enough */
	check(SERVER_FORBIDDEN, (struct request){ .authorization = "Bearer x" });
}

static void test_token(void)
{
	char a[TOKEN_LEN + 1], b[TOKEN_LEN + 1];
	g_autofree char *longest = g_strnfill(TOKEN_MAX_LEN, 'a'), *longer = g_strnfill(TOKEN_MAX_LEN + 1, 'a');

	g_assert_true(token_make(a, NULL) && token_make(b, NULL));
	g_assert_cmpstr(a, !=, b);
	g_assert_true(strlen(a) == TOKEN_LEN && token_is_valid(a) && token_is_valid(longest));
	g_assert_true(token_equal(a, TOKEN_LEN, a));
	g_assert_false(token_equal(a, TOKEN_LEN - 1, a));
	g_assert_false(token_equal(a, TOKEN_LEN, b));
	g_assert_false(token_equal("", 0, a));
	g_assert_false(token_is_valid(longer) || token_is_valid("short") || token_is_valid("with a blank in between") ||
		       token_is_valid("abcdefghijklmnop/qrst") || token_is_valid(""));
}

static void test_query(void)
{
	g_autoptr(GHashTable) query = g_hash_table_new(g_str_hash, g_str_equal);
	const struct request r = { .query = query }, none = { 0 };
	guint64 n = 7;

	g_hash_table_insert(query, (char *)"n", (char *)"42");
	g_hash_table_insert(query, (char *)"bad", (char *)"-1");
	g_hash_table_insert(query, (char *)"empty", (char *)"");
	g_hash_table_insert(query, (char *)"huge", (char *)"18446744073709551616");
	g_assert_true(request_number(&r, "none", 100, &n, NULL) && n == 7);
	g_assert_true(request_number(&none, "n", 100, &n, NULL) && n == 7);
	g_assert_true(request_number(&r, "n", 100, &n, NULL) && n == 42);
	for (const char *const *name = (const char *const[]){ "bad", "empty", "huge", NULL }; *name; name++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(request_number(&r, *name, G_MAXUINT64, &n, &error));
		g_assert_error(error, SERVER_ERROR, SERVER_BAD_REQUEST);
	}
	g_assert_false(request_number(&r, "n", 41, &n, NULL));
	g_assert_cmpstr(request_text(&r, "n"), ==, "42");
	g_assert_null(request_text(&none, "n"));
}

static void test_listen(void)
{
	static const struct {
		const char *text, *address;
		guint16 port;
	} good[] = { { "127.0.0.1:8080", "127.0.0.1", 8080 }, { ":8080", NULL, 8080 }, { "127.0.0.1", "127.0.0.1", 0 },
		     { "[::1]:9", "::1", 9 }, { "[::1]", "::1", 0 }, { "::1", "::1", 0 } };
	static const char *const bad[] = { "", "8080", "localhost:80", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "[::1", "[::1]x:1",
					   "[]", "1.2.3:4", "127.0.0.1:80:80", "[127.0.0.1:80" };

	for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autofree char *address = NULL;
		guint16 port = 1;

		g_assert_true(listen_parse(good[i].text, &address, &port, NULL));
		g_assert_cmpstr(address, ==, good[i].address);
		g_assert_cmpuint(port, ==, good[i].port);
	}
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;
		char *address = NULL;
		guint16 port;

		g_assert_false(listen_parse(bad[i], &address, &port, &error));
		g_assert_nonnull(error);
	}
}

static void test_links(void)
{
	g_autofree char *speedscope = recording_link_speedscope("http://127.0.0.1:1/T/", "a&b#\303\244 \"");
	g_autofree char *firefox = recording_link_firefox("http://127.0.0.1:1/T/");

	g_assert_cmpstr(speedscope, ==, "https://www.speedscope.app/#profileURL=http%3A%2F%2F127.0.0.1%3A1%2FT%2Foff-cpu.speedscope.json"
		"&title=a%26b%23%C3%A4%20%22");
	g_assert_cmpstr(firefox, ==, "https://profiler.firefox.com/from-url/http%3A%2F%2F127.0.0.1%3A1%2FT%2Foff-cpu.firefox.json/");
}

static void test_readers(void)
{
	struct request r = { .method = "GET", .host = HOST, .path = "/" TEAM "/data.json", .user = "eve", .services = "*" };
	struct verdict v = gate_check(&gate, routes, G_N_ELEMENTS(routes), &r);

	/* headers of who is no proxy say nothing */
	g_assert_cmpuint(v.status, ==, SERVER_OK);
	g_assert_cmpstr(v.who, ==, "shop");
	g_assert_cmpstr(r.only[0], ==, "cart*,pay");
	g_assert_null(r.only[1]);
	r = (struct request){ .method = "GET", .host = HOST, .path = "/api/report", .authorization = "Bearer " PROXY,
			      .user = "alice", .services = "cart*", .peer = "10.0.0.5" };
	v = gate_check(&gate, routes, G_N_ELEMENTS(routes), &r);
	g_assert_cmpuint(v.status, ==, SERVER_OK);
	g_assert_cmpstr(v.who, ==, "alice");
	g_assert_cmpstr(r.only[0], ==, "*.service");
	g_assert_cmpstr(r.only[1], ==, "cart*");
	check(SERVER_FORBIDDEN, (struct request){ .path = "/" PROXY "/", .user = "alice", .peer = "10.0.0.6" });
	check(SERVER_FORBIDDEN, (struct request){ .path = "/" PROXY "/", .user = "alice" });
	check(SERVER_FORBIDDEN, (struct request){ .path = "/" PROXY "/", .peer = "10.0.0.5" });
	check(SERVER_FORBIDDEN, (struct request){ .path = "/" PROXY "/", .peer = "10.0.0.5", .user = "" });
}

static void test_readers_file(void)
{
	static const char *const wrong[] = {
		"", "\n# nobody\n", "short", "ops short", "o ps " TOKEN, "ops " TOKEN " services=", "ops " TOKEN " proxy=here",
		"ops " TOKEN " proxy=1.2.3.4:80", "ops " TOKEN " rights=all", "a " TOKEN "\nb " TOKEN, "a " TOKEN "\na " TEAM,
		"a " TOKEN "\n" TEAM, "e\x1b[31m " TOKEN,
	};
	g_autoptr(GArray) all = readers_parse("# who\nops " TOKEN "\n\n shop\t" TEAM "  services=cart*,pay\nsso " PROXY " proxy=::1\n", NULL);

	g_assert_nonnull(all);
	g_assert_cmpuint(all->len, ==, 3);
	const struct reader *r = (const struct reader *)(void *)all->data;

	g_assert_cmpstr(r[0].name, ==, "ops");
	g_assert_null(r[0].services);
	g_assert_cmpstr(r[1].services, ==, "cart*,pay");
	g_assert_cmpstr(r[2].proxy, ==, "::1");
	g_assert_null(r[3].token);
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(readers_parse(wrong[i], &error));
		g_assert_true(error && !strstr(error->message, TOKEN) && !strchr(error->message, '\x1b'));
	}
	g_autoptr(GArray) alone = readers_parse(TOKEN "\n", NULL);

	g_assert_true(alone && alone->len == 1);
	g_assert_true(readers_list_has(NULL, "x") && readers_list_has("a,b*", "bc") && readers_list_has("a,b*", "a"));
	g_assert_false(readers_list_has("a,b*", "c") || readers_list_has("a,b*", "") || readers_list_has("", "c"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/server/route/paths", test_paths);
	g_test_add_func("/server/route/methods", test_methods);
	g_test_add_func("/server/route/hosts", test_hosts);
	g_test_add_func("/server/route/origins", test_origins);
	g_test_add_func("/server/route/bearer", test_bearer);
	g_test_add_func("/server/route/token", test_token);
	g_test_add_func("/server/route/query", test_query);
	g_test_add_func("/server/route/listen", test_listen);
	g_test_add_func("/server/route/links", test_links);
	g_test_add_func("/server/route/readers", test_readers);
	g_test_add_func("/server/route/readers_file", test_readers_file);
	return g_test_run();
}
