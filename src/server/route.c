/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/route.h"

#include <string.h>

#include "render/html/html.h"
#include "render/html/web.h"

#define BEARER "Bearer "

G_DEFINE_QUARK(server - error, server_error)

static struct verdict refused_as(unsigned status, const char *why)
{
	return (struct verdict){ .status = status, .why = why };
}

static struct verdict refuse_reader(struct verdict v, unsigned status, const char *why)
{
	return (struct verdict){ .status = status, .why = why, .reader = v.reader, .who = v.who };
}

static struct verdict refuse_method(struct verdict v, bool wants_post)
{
	struct verdict refused = refuse_reader(v, SERVER_METHOD_NOT_ALLOWED,
					       wants_post ? "only POST is answered here" : "only GET and HEAD are answered");

	refused.allow = wants_post ? "POST" : "GET, HEAD";
	return refused;
}

/*
 * Protects against DNS rebinding: another site's page can make its own name resolve to our address, but its requests
 * then have that name as host.
 */
static bool is_our_host(const struct gate *gate, const char *host)
{
	for (unsigned i = 0; host && gate->hosts[i]; i++)
		if (g_ascii_strcasecmp(host, gate->hosts[i]) == 0)
			return true;
	return false;
}

static bool is_own_origin(const struct gate *gate, const struct request *r)
{
	static const char plain[] = "http://", secure[] = "https://";
	const char *scheme = gate->is_proxied && g_str_has_prefix(r->origin, secure) ? secure : plain;

	return g_str_has_prefix(r->origin, scheme) && g_ascii_strcasecmp(r->origin + strlen(scheme), r->host) == 0;
}

/*
 * The owner of the token.  All tokens are compared, so that timing does not reveal a near match.  NULL: unknown token.
 */
static const struct reader *reader_of(const struct gate *gate, const char *given, gsize len)
{
	const struct reader *found = NULL;

	for (const struct reader *one = gate->readers; one->token; one++)
		if (token_equal(given, len, one->token))
			found = one;
	return found;
}

/* The path after the token.  The token is in the path or in the header.  NULL: no valid token. */
static const char *behind_token(const struct gate *gate, const struct request *r, const struct reader **ret_reader)
{
	const char *path = r->path, *end;

	if (r->authorization) {
		if (g_ascii_strncasecmp(r->authorization, BEARER, strlen(BEARER)) != 0)
			return NULL;
		const char *given = r->authorization + strlen(BEARER);

		*ret_reader = reader_of(gate, given, strlen(given));
		return *path == '/' && *ret_reader ? path + 1 : NULL;
	}
	end = *path == '/' ? strchr(path + 1, '/') : NULL;
	*ret_reader = end ? reader_of(gate, path + 1, (gsize)(end - path - 1)) : NULL;
	return *ret_reader ? end + 1 : NULL;
}

/* The name of the reader; also sets what the reader may see.  NULL with *ret_why on error. */
static const char *who_asks(const struct reader *reader, struct request *r, const char **ret_why)
{
	r->only[0] = reader->services;
	if (!reader->proxy)
		return reader->name;
	if (g_strcmp0(reader->proxy, r->peer) != 0) {
		*ret_why = "this token is a proxy's, which has another address";
		return NULL;
	}
	if (!r->user || !*r->user) {
		*ret_why = "the proxy names no user: X-Forwarded-User is wanted";
		return NULL;
	}
	r->only[1] = r->services;
	return r->user;
}

/*
 * Whether another site's page asks, according to Sec-Fetch-Site.  Following a link is allowed: the other site cannot
 * read the answer.
 */
static bool is_foreign(const struct request *r)
{
	return r->fetch_site && strcmp(r->fetch_site, "same-origin") != 0 && strcmp(r->fetch_site, "none") != 0 &&
	       g_strcmp0(r->fetch_mode, "navigate") != 0;
}

struct verdict gate_check(const struct gate *gate, const struct route *routes, gsize routes_cnt,
			  struct request *r)
{
	struct verdict v = { .status = SERVER_OK };
	bool is_post = strcmp(r->method, "POST") == 0;
	const char *path;

	if (!is_post && strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0)
		return refuse_method(v, false);
	if (r->has_body && !is_post)
		return refused_as(SERVER_BAD_REQUEST, "a request has no body here");
	if (!is_our_host(gate, r->host))
		return refused_as(SERVER_FORBIDDEN, "this server is not called by that name");
	if (gate->once && token_equal(r->path, strlen(r->path), gate->once))
		return (struct verdict){ .status = SERVER_SEE_OTHER };
	path = behind_token(gate, r, &v.reader);
	if (!path)
		return refused_as(SERVER_FORBIDDEN, "the address lacks its token: use the link as it was printed");
	v.who = who_asks(v.reader, r, &v.why);
	if (!v.who)
		return refused_as(SERVER_FORBIDDEN, v.why);
	for (gsize i = 0; i < routes_cnt && !v.route; i++)
		if (strcmp(path, routes[i].path) == 0)
			v.route = &routes[i];
	if (!v.route)
		return refuse_reader(v, SERVER_NOT_FOUND, "there is nothing at this address");
	if (is_post ? v.route->takes == ROUTE_GET : v.route->takes == ROUTE_POST)
		return refuse_method(v, !is_post);
	if (r->origin && v.route->cors && strcmp(r->origin, v.route->cors) == 0)
		v.allow_origin = v.route->cors;
	else if (r->origin ? !is_own_origin(gate, r) : is_foreign(r))
		return refuse_reader(v, SERVER_FORBIDDEN, "no page of another site may read this");
	return v;
}

bool answer_no_symbols(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	ret->body = g_bytes_new_static("", 0);
	return true;
}

const char *request_text(const struct request *r, const char *name)
{
	return r->query ? g_hash_table_lookup(r->query, name) : NULL;
}

bool request_number(const struct request *r, const char *name, guint64 max, guint64 *ret_value, GError **error)
{
	const char *text = request_text(r, name);

	if (!text || g_ascii_string_to_unsigned(text, 10, 0, max, ret_value, NULL))
		return true;
	return server_fail(error, SERVER_BAD_REQUEST, "%s is no whole number up to %" G_GUINT64_FORMAT, name,
			   max);
}

const char *route_plain_csp(void)
{
	static char *csp;

	if (g_once_init_enter(&csp))
		g_once_init_leave(&csp, g_strdup_printf("default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; "
							"form-action 'self'; frame-ancestors 'self'",
							web_fleet_css_sha256));
	return csp;
}

const char *route_page_csp(void)
{
	static char *csp;

	if (g_once_init_enter(&csp)) {
		g_autofree char *policy = html_page_policy(HTML_REQUESTS | HTML_DIFFERENCE);

		g_once_init_leave(&csp, g_strconcat(policy, "; frame-ancestors 'self'", NULL));
	}
	return csp;
}
