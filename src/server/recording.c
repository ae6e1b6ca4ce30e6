/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/recording.h"

#include <string.h>

#define SPEEDSCOPE_PATH "off-cpu.speedscope.json"
#define FIREFOX_PATH "off-cpu.firefox.json"
#define PPROF_PATH "debug/pprof/off_cpu"

enum made { MADE_PAGE = 0, MADE_SPEEDSCOPE, MADE_FIREFOX, MADE_PPROF };

static GBytes *export_bytes(const struct format *format, const struct profile *p, const struct export_plan *plan,
			    GError **error)
{
	GString *out = g_string_new(NULL);
	const struct sink sink = sink_of_string(out);

	if (format_write(format, p, plan, &sink, error))
		return g_string_free_to_bytes(out);
	g_string_free(out, TRUE);
	return NULL;
}

static bool give_made(struct recording_ctx *c, enum made what, GBytes *made, struct answer *ret)
{
	c->made[what] = made;
	ret->body = made ? g_bytes_ref(made) : NULL;
	return made != NULL;
}

static bool answer_page(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	struct recording_ctx *c = ctx;

	if (!c->made[MADE_PAGE]) {
		GString *out = g_string_sized_new(1 << 20);

		html_page(c->profile, c->page, out);
		return give_made(c, MADE_PAGE, g_string_free_to_bytes(out), ret);
	}
	return give_made(c, MADE_PAGE, c->made[MADE_PAGE], ret);
}

static bool answer_export(struct recording_ctx *c, enum made what, const char *name, struct answer *ret, GError **error)
{
	GBytes *made = c->made[what];

	return give_made(c, what, made ? made : export_bytes(format_by_name(name), c->profile, c->plan, error), ret);
}

static bool answer_speedscope(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	return answer_export(ctx, MADE_SPEEDSCOPE, "speedscope", ret, error);
}

static bool answer_firefox(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	ret->is_gzip = true;
	return answer_export(ctx, MADE_FIREFOX, "firefox", ret, error);
}

static bool answer_pprof(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	return answer_export(ctx, MADE_PPROF, "pprof", ret, error);
}

const struct route recording_routes[] = {
	{ "", "text/html; charset=utf-8", NULL, route_page_csp, answer_page, ROUTE_GET },
	{ SPEEDSCOPE_PATH, "application/json", SPEEDSCOPE_ORIGIN, NULL, answer_speedscope, false },
	{ FIREFOX_PATH, "application/json", FIREFOX_ORIGIN, NULL, answer_firefox, false },
	{ PPROF_PATH, "application/octet-stream", NULL, NULL, answer_pprof, false },
	SYMBOL_ROUTE,
};
const gsize recording_routes_cnt = G_N_ELEMENTS(recording_routes);

void recording_ctx_clear(struct recording_ctx *ctx)
{
	for (guint i = 0; i < G_N_ELEMENTS(ctx->made); i++)
		g_clear_pointer(&ctx->made[i], g_bytes_unref);
}

char *recording_link_speedscope(const char *url, const char *title)
{
	g_autofree char *whole = g_strconcat(url, SPEEDSCOPE_PATH, NULL);
	g_autofree char *escaped = g_uri_escape_string(whole, NULL, FALSE);
	g_autofree char *escaped_title = g_uri_escape_bytes((const guint8 *)title, strlen(title), NULL);

	return g_strdup_printf(SPEEDSCOPE_ORIGIN "/#profileURL=%s&title=%s", escaped, escaped_title);
}

char *recording_link_firefox(const char *url)
{
	g_autofree char *whole = g_strconcat(url, FIREFOX_PATH, NULL);
	g_autofree char *escaped = g_uri_escape_string(whole, NULL, FALSE);

	return g_strdup_printf(FIREFOX_ORIGIN "/from-url/%s/", escaped);
}

char *recording_link_pprof(const char *url)
{
	return g_strconcat(url, PPROF_PATH, NULL);
}
