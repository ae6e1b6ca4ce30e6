/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/readers.h"

#include <fnmatch.h>
#include <string.h>

#include "base/each.h"
#include "base/refuse.h"
#include "server/listen.h"

#define NAME_MAX_LEN 64
#define GLOB_MAX_LEN 255

CLEARS(clear, struct reader, r, g_free(r->name); g_free(r->token); g_free(r->services); g_free(r->proxy))

static GArray *readers_new(void)
{
	GArray *all = g_array_new(TRUE, TRUE, sizeof(struct reader));

	g_array_set_clear_func(all, clear);
	return all;
}

GArray *readers_of_token(const char *token)
{
	GArray *all = readers_new();
	const struct reader one = { .name = g_strdup("token"), .token = g_strdup(token) };

	if (token)
		g_array_append_val(all, one);
	else
		g_free(one.name);
	return all;
}

static bool bad_line(GError **error, guint line, const char *why)
{
	return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "line %u: %s", line, why);
}

static bool is_name(const char *name)
{
	gsize len = strlen(name);

	return len && len <= NAME_MAX_LEN &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-") == len;
}

static bool take_option(struct reader *r, const char *word, guint line, GError **error)
{
	guint16 port;

	if (g_str_has_prefix(word, "services=") && !r->services && word[strlen("services=")])
		r->services = g_strdup(word + strlen("services="));
	else if (!g_str_has_prefix(word, "proxy=") || r->proxy)
		return bad_line(error, line, "behind the token may stand services=GLOB,... and proxy=ADDR");
	else if (!listen_parse(word + strlen("proxy="), &r->proxy, &port, NULL) || !r->proxy || port)
		return bad_line(error, line, "proxy= is followed by an IP address");
	return true;
}

static bool take_line(struct reader *r, char **words, guint line, GError **error)
{
	if (!words[1] && line == 1) {
		r->name = g_strdup("token");
		r->token = g_strdup(words[0]);
	} else if (!words[1] || !is_name(words[0])) {
		return bad_line(error, line, "NAME TOKEN is wanted, a name of A-Z, a-z, 0-9, _, ., @ and -");
	} else {
		r->name = g_strdup(words[0]);
		r->token = g_strdup(words[1]);
	}
	if (!token_is_valid(r->token))
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			"line %u: a token has %d to %d characters of A-Z, a-z, 0-9, - and _", line, TOKEN_MIN_LEN,
			TOKEN_MAX_LEN);
	for (guint i = 2; words[1] && words[i]; i++)
		if (!take_option(r, words[i], line, error))
			return false;
	return true;
}

/* With duplicate tokens or names, the audit could not tell who asked. */
static bool is_new(const GArray *all, const struct reader *r, guint line, GError **error)
{
	EACH_ROW(i, const struct reader, other, all)
		if (strcmp(other->token, r->token) == 0 || strcmp(other->name, r->name) == 0)
			return bad_line(error, line, "its name or its token stands in a line before");
	return all->len < READERS_MAX || bad_line(error, line, "that is more readers than can be");
}

GArray *readers_parse(const char *text, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	GArray *all = readers_new();
	bool ok = true;

	for (guint i = 0; ok && lines[i]; i++) {
		g_auto(GStrv) split = g_strsplit_set(g_strstrip(lines[i]), " \t", -1);
		g_autoptr(GPtrArray) words = g_ptr_array_new();
		struct reader r = { 0 };

		for (guint k = 0; split[k]; k++)
			if (*split[k])
				g_ptr_array_add(words, split[k]);
		g_ptr_array_add(words, NULL);
		if (words->len == 1 || *lines[i] == '#')
			continue;
		ok = take_line(&r, (char **)words->pdata, i + 1, error) && is_new(all, &r, i + 1, error);
		if (ok)
			g_array_append_val(all, r);
		else
			clear(&r);
	}
	if (ok && all->len)
		return all;
	if (ok)
		bad_line(error, 1, "no token is there");
	g_array_unref(all);
	return NULL;
}

bool readers_list_has(const char *globs, const char *name)
{
	for (const char *at = globs; at; at = strchr(at, ',')) {
		char glob[GLOB_MAX_LEN + 1];
		gsize len;

		at += *at == ',';
		len = strcspn(at, ",");
		if (len > GLOB_MAX_LEN)
			continue;
		memcpy(glob, at, len);
		glob[len] = '\0';
		if (fnmatch(glob, name, 0) == 0)
			return true;
	}
	return !globs;
}
