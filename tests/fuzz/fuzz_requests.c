/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Requests to `view` and `serve`, behind the library that reads HTTP: "METHOD PATH" in the first line, fields of the
 * head in the next ones, behind an empty one the members of the query.  Only who has a token gets to a route.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit/fixture.h"
#include "server/ask.h"
#include "server/connections.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "abcdefghijklmnopqrstuvwxyz012345"
#define PROXY "0123456789-proxy-token"
#define START_NS UINT64_C(1790000000000000000)

static bool answer_nothing(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	return false;
}

static const struct route routes[] = {
	{ "", "text/html", NULL, NULL, answer_nothing, false },
	{ "data.json", "application/json", "https://viewer.example", NULL, answer_nothing, false },
	SYMBOL_ROUTE,
};
static const struct reader readers[] = {
	{ .name = (char *)"ops", .token = (char *)TOKEN },
	{ .name = (char *)"sso", .token = (char *)PROXY, .services = (char *)"*", .proxy = (char *)"10.0.0.5" },
	{ 0 },
};
static const char *const hosts[] = { "127.0.0.1:4711", NULL };
static const struct gate gate = { .readers = readers, .hosts = hosts, .once = "/open/one-time-code-1234567890" };

static void take_field(struct request *r, struct fields *f, const char *name, const char *value)
{
	const struct {
		const char *name, **into;
	} known[] = {
		{ "Host", &r->host },
		{ "Origin", &r->origin },
		{ "Authorization", &r->authorization },
		{ "Sec-Fetch-Site", &r->fetch_site },
		{ "Sec-Fetch-Mode", &r->fetch_mode },
		{ "X-Forwarded-User", &r->user },
		{ "X-Offcpu-Services", &r->services },
		{ "Peer", &r->peer },
	};

	fields_take(f, name, value);
	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (g_ascii_strcasecmp(name, known[i].name) == 0)
			*known[i].into = value;
}

/* The text is cut up in place. */
static void parse(char **lines, struct request *r, struct fields *f)
{
	char *path = *lines ? strchr(*lines, ' ') : NULL;
	bool is_head = true;

	r->method = *lines ? *lines : "";
	r->path = path ? path + 1 : "/";
	if (path)
		*path = '\0';
	for (size_t i = 1; *lines && lines[i]; i++) {
		char *value = strchr(lines[i], is_head ? ':' : '=');

		if (!*lines[i]) {
			is_head = false;
			continue;
		}
		if (value)
			*value++ = '\0';
		if (is_head)
			take_field(r, f, lines[i], value ? g_strchug(value) : "");
		else
			g_hash_table_insert(r->query, lines[i], value ? value : "");
	}
	r->has_body = f->lengths || f->codings;
}

static void check_refused(bool is_good, GError *error)
{
	if (is_good != !error || (error && !*error->message))
		abort();
	g_clear_error(&error);
}

static void ask(const struct request *r, const struct profile *p)
{
	const struct store_extent extent = { .from_unix_ns = START_NS,
					    .to_unix_ns = START_NS + 3600 * UINT64_C(1000000000) };
	struct ask_range range;
	struct ask_line line;
	struct ask_filter filter = { 0 };
	GError *error = NULL;
	bool is_good = ask_range(r, "from", "to", &extent, ASK_RANGE_MAX_NS, &range, &error);

	if (is_good &&
	    (range.from_ns > range.to_ns || range.from_ns < extent.from_unix_ns || range.to_ns > extent.to_unix_ns))
		abort();
	check_refused(is_good, g_steal_pointer(&error));
	is_good = ask_last(r, &extent, &range, &error);
	check_refused(is_good, g_steal_pointer(&error));
	is_good = ask_line(r, &extent, &line, &error);
	check_refused(is_good, g_steal_pointer(&error));
	is_good = ask_filter(r, &filter, &error);
	check_refused(is_good, g_steal_pointer(&error));
	if (is_good) {
		struct selection *s = ask_select(&filter, p, &error);

		check_refused(s, error);
		g_free(ask_filter_text(&filter));
		selection_free(s);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profile *p;
	g_autofree char *text = g_strndup((const char *)data, size);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autoptr(GHashTable) query = g_hash_table_new(g_str_hash, g_str_equal);
	struct request r = { .query = query };
	struct fields f = { 0 };
	struct verdict v;

	if (!p)
		p = fixture_new();
	parse(lines, &r, &f);
	fields_refusal(&f);
	v = gate_check(&gate, routes, G_N_ELEMENTS(routes), &r);
	if ((v.status == SERVER_OK) != !!v.route || (v.status >= SERVER_BAD_REQUEST) != !!v.why ||
	    (v.route && !strstr(r.path, TOKEN) && !(r.authorization && strstr(r.authorization, "-proxy-")) &&
	     !(r.authorization && strstr(r.authorization, TOKEN)) && !strstr(r.path, PROXY)))
		abort();
	ask(&r, p);
	return 0;
}
