/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/target.h"

#include <string.h>

#include "base/json_read.h"
#include "push/clickhouse.h"
#include "push/metrics.h"

/* ClickHouse's error codes that concern tables. */
enum { NO_SUCH_COLUMN = 16, UNKNOWN_IDENTIFIER = 47, UNKNOWN_TABLE = 60, UNKNOWN_DATABASE = 81 };

static const char *on_tables(const char *words)
{
	if (!g_str_has_prefix(words, "Code: "))
		return NULL;
	switch (strtoul(words + strlen("Code: "), NULL, 10)) {
	case UNKNOWN_TABLE:
	case UNKNOWN_DATABASE: return "share/offcpu/clickhouse/schema.sql makes its tables";
	case NO_SUCH_COLUMN:
	case UNKNOWN_IDENTIFIER:
		return "its tables are of another version of offcpu: this one's share/offcpu/clickhouse/schema.sql is wanted";
	default: return NULL;
	}
}

/* Whether it is an HTML page, as proxies and log-in pages return.  No engine's answer begins like that. */
static bool advice_is_page(const void *text, gsize len_bytes)
{
	const char *s = text;
	gsize at = 0;

	while (at < len_bytes && g_ascii_isspace(s[at]))
		at++;
	return at < len_bytes && s[at] == '<';
}

/*
 * Advice for the user on a failed request, to append to a sentence; NULL: none.  `words` is the engine's message.
 * Free with g_free().
 */
static char *advice_on(const struct engine *e, const struct http_answer *a, const char *words, bool has_credentials)
{
	const char *tables = e->series ? NULL : on_tables(words);

	if (tables)
		return g_strdup(tables);
	if (a->status >= 300 && a->status < 400)
		return g_strdup("it redirects, which is not followed: the address that it redirects to is wanted");
	switch (a->status) {
	case 401:
	case 403:
		return g_strdup(
			has_credentials
				? "the user, password or token of --credentials is not known there, or may not do that"
				: "a user and a password, or a token, are wanted: --credentials FILE");
	case 404:
		return e->series ? g_strdup_printf("it has no %s: is it %s, of a version that takes profiles?", e->path,
						   e->title)
				 : g_strdup_printf("is it %s, and its port for HTTP?", e->title);
	default: return NULL;
	}
}

#define ANSWER_MAX_BYTES 65536
#define WORDS_MAX_BYTES 300	/* of an engine's message in ours */
#define URL_MAX_BYTES 2048
#define NS_A_SECOND 1000000000
#define METRICS_AGAIN_S 3600	/* before metrics are offered again to an engine that refused them */

/* Minimum server versions for settings; unknown settings are an error. */
#define VERSION_ASYNC_INSERT 2111
#define VERSION_DEDUPLICATION_TOKEN 2202

struct target {
	const struct engine *engine;
	char *url, *name, *database, *tenant;
	struct credentials credentials;
	struct http *http;
	struct services *services;
	gint no_metrics_until_s;	/* atomic; CLOCK_MONOTONIC: it refused metrics */
	/* of ClickHouse */
	unsigned version;	/* year and month, 2111; 0: not known yet */
	struct sent *sent;
	char *tables;		/* uuids of its tables when last asked; NULL: not asked yet */
};

static bool fail_target(GError **error, enum push_error code, char *sentence)
{
	g_set_error_literal(error, PUSH_ERROR, (int)code, sentence);
	g_free(sentence);
	return false;
}

static bool is_header_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			return false;
	return true;
}

struct target *target_open(const struct target_options *o, GError **error)
{
	struct target *t = g_new0(struct target, 1);

	t->engine = &engines[o->engine];
	t->url = http_check_url(o->url, error);
	bool ok = t->url && credentials_read(o->credentials_path, &t->credentials, error);

	if (ok && strlen(t->url) > URL_MAX_BYTES)
		ok = fail_target(error, PUSH_ERROR_USAGE, g_strdup("the address is too long"));
	if (ok && o->tenant && (!*o->tenant || !is_header_text(o->tenant)))
		ok = fail_target(error, PUSH_ERROR_USAGE, g_strdup_printf("\"%s\" is no name of a tenant", o->tenant));
	if (ok && o->database && (!*o->database || !is_header_text(o->database)))
		ok = fail_target(error, PUSH_ERROR_USAGE, g_strdup_printf("\"%s\" is no name of a database", o->database));
	if (ok) {
		const struct http_options http = {
			.ca_path = o->ca_path,
			.credentials = credentials_are_there(&t->credentials) ? &t->credentials : NULL,
			.timeout_s = o->timeout_s,
			.until_us = o->until_us,
		};

		t->http = http_new(&http, error);
	}
	if (!t->http) {
		target_close(t);
		return NULL;
	}
	t->name = g_strdup_printf("%s at %s", t->engine->title, t->url);
	t->database = g_strdup(o->database ? o->database : TARGET_DATABASE);
	t->tenant = o->tenant ? g_strdup_printf("X-Scope-OrgID: %s", o->tenant) : NULL;
	t->services = services_new(SERVICES_MAX);
	t->sent = sent_new();
	return t;
}

FREES(target_close, struct target, t, http_free(t->http); credentials_clear(&t->credentials);
      services_free(t->services); sent_free(t->sent); g_free(t->tables); g_free(t->url); g_free(t->name);
      g_free(t->database); g_free(t->tenant))

void target_cancel(struct target *t)
{
	http_cancel(t->http);
}

const char *target_name(const struct target *t)
{
	return t->name;
}

const char *target_database(const struct target *t)
{
	return t->database;
}

bool target_is_clear(const struct target *t)
{
	return credentials_are_there(&t->credentials) && http_is_clear(t->url);
}

bool target_may_repeat(const struct target *t)
{
	return !t->engine->series;
}

static gint now_s(void)
{
	return (gint)(g_get_monotonic_time() / G_USEC_PER_SEC);
}

static bool takes_metrics(struct target *t)
{
	return t->engine->metrics_path && now_s() >= g_atomic_int_get(&t->no_metrics_until_s);
}

GPtrArray *target_units(struct target *t, const struct profile *p, const struct reasons *reasons, GError **error)
{
	GPtrArray *units = t->engine->series ? series_units(p, reasons, t->services, t->engine->series, error)
					     : units_new();
	struct push_unit *u = NULL;

	if (!t->engine->series)
		u = clickhouse_unit(p, reasons, t->sent, error);
	else if (units && takes_metrics(t))
		u = otlp_metrics_unit(p, t->services, units->len);
	if (u)
		g_ptr_array_add(units, u);
	if (u || t->engine->series)
		return units;
	g_ptr_array_unref(units);
	return NULL;
}

/* --- messages in answers --- */

/* The engine's message, truncated and on one line; untrusted. */
static char *words_of(const void *text, gsize len_bytes)
{
	if (!len_bytes)
		return g_strdup("");	/* text is NULL */
	g_autofree char *raw = g_strndup(text, MIN(len_bytes, WORDS_MAX_BYTES));
	g_autofree char *valid = g_utf8_make_valid(raw, -1);

	for (char *s = valid; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			*s = ' ';
	return g_strdup(g_strstrip(valid));
}

/* "message" in {"code":"...","message":"..."}; NULL: not found. */
static char *message_of_json(const GByteArray *text)
{
	struct json_reader r = json_reader_of((const char *)text->data, text->len);
	g_autoptr(GString) key = g_string_new(NULL);
	g_autoptr(GString) message = g_string_new(NULL);
	bool first = true, is_there = false;

	if (text->len && json_peek(&r) == '{' && json_enter(&r, '{')) {
		while (!is_there && json_next_member(&r, &first, key)) {
			if (strcmp(key->str, "message") == 0 && json_peek(&r) == '"')
				is_there = json_read_string(&r, message);
			else
				json_skip(&r);
		}
	}
	return is_there && !r.bad ? g_strndup(message->str, message->len) : NULL;
}

static char *words_in(const struct target *t, const GByteArray *text)
{
	g_autofree char *message = t->engine->words ? t->engine->words(text->data, text->len)
				   : t->engine->series ? message_of_json(text) : NULL;

	return message ? words_of(message, strlen(message)) : words_of(text->data, text->len);
}

static char *failure_sentence(const struct target *t, const struct http_answer *a)
{
	if (a->outcome != HTTP_ANSWERED)
		return g_strdup_printf("%s %s: %s", t->name,
				       a->outcome == HTTP_UNSURE ? "gave no answer" : "cannot be reached", a->why);
	g_autofree char *words = advice_is_page(a->text->data, a->text->len) ? g_strdup("a web page")
									     : words_in(t, a->text);
	g_autofree char *advice = advice_on(t->engine, a, words, credentials_are_there(&t->credentials));

	return g_strdup_printf("%s answers with status %ld%s%s%s%s", t->name, a->status, *words ? ": " : "", words,
			       advice ? "; " : "", advice ? advice : "");
}

/*
 * For an engine that would count a repeated request twice.  429 and 503 mean that nothing was taken.  A request that
 * does not fit is refused.  Wrong addresses and missing rights can be corrected: try later.  Other failures leave it
 * unsure.
 */
static enum target_outcome outcome_once(const struct http_answer *a)
{
	if (a->outcome != HTTP_ANSWERED)
		return a->outcome == HTTP_NOT_SENT ? TARGET_LATER : TARGET_UNSURE;
	switch (a->status) {
	case 200:
	case 202:
	case 204: return TARGET_TAKEN;
	case 401:
	case 403:
	case 404:
	case 429:
	case 503: return TARGET_LATER;
	default: break;
	}
	return a->status >= 500 ? TARGET_UNSURE : a->status >= 400 ? TARGET_REFUSED : TARGET_LATER;
}

/* --- ClickHouse --- */

static void query_url(const struct target *t, GString *url, const char *sql, const char *settings)
{
	g_autofree char *escaped = sql ? g_uri_escape_string(sql, NULL, FALSE) : NULL;

	g_string_append_printf(url, "%s/?%s", t->url, settings);
	if (escaped)
		g_string_append_printf(url, "%squery=%s", *settings ? "&" : "", escaped);
}

static void query(struct target *t, const char *sql, gsize max_bytes, struct http_answer *ret)
{
	g_autoptr(GString) url = g_string_new(NULL);

	query_url(t, url, NULL, "enable_http_compression=1");
	const struct http_request r = { .url = url->str,
					.body = sql,
					.body_bytes = strlen(sql),
					.content_type = "text/plain",
					.answer_max_bytes = max_bytes };

	http_do(t->http, &r, ret);
}

GByteArray *target_query(struct target *t, const char *sql, gsize max_bytes, GError **error)
{
	struct http_answer a;
	GByteArray *text = NULL;

	query(t, sql, max_bytes, &a);
	if (a.outcome == HTTP_ANSWERED && a.status == 200)
		text = g_steal_pointer(&a.text);
	else
		fail_target(error, PUSH_ERROR_FAILED, failure_sentence(t, &a));
	http_answer_clear(&a);
	return text;
}

unsigned target_keeps_days(struct target *t)
{
	g_autoptr(GString) sql = g_string_new(
		"SELECT extract(create_table_query, 'TTL start \\\\+ toIntervalDay\\\\(([0-9]+)') FROM system.tables "
		"WHERE name = 'windows' AND database = ");

	clickhouse_text(sql, t->database);
	g_autoptr(GByteArray) text = target_query(t, sql->str, ANSWER_MAX_BYTES, NULL);
	g_autofree char *words = words_of(text ? text->data : NULL, text ? text->len : 0);

	return (unsigned)MIN(g_ascii_strtoull(words, NULL, 10), UINT32_MAX);
}

/* "22.8.15.23" becomes 2208. */
static bool ask_version(struct target *t, char **ret_why)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GByteArray) text = target_query(t, "SELECT version()", ANSWER_MAX_BYTES, &error);

	if (!text) {
		*ret_why = g_strdup(error->message);
		return false;
	}
	g_autofree char *words = words_of(text->data, text->len);
	char *end, *last;
	guint64 year = g_ascii_strtoull(words, &end, 10),
		month = *end == '.' ? g_ascii_strtoull(end + 1, &last, 10) : 0;

	if (*end != '.' || last == end + 1 || year < 1 || year > 99 || month > 99) {
		*ret_why = g_strdup_printf("%s does not say its version: is it ClickHouse, and its port for HTTP?", t->name);
		return false;
	}
	t->version = (unsigned)(year * 100 + month);
	return true;
}

/* New tables, or those of another server, have no contents yet. */
static void forget_if_new_tables(struct target *t)
{
	g_autoptr(GString) sql = g_string_new("SELECT uuid FROM system.tables WHERE name = 'stacks' AND database = ");

	clickhouse_text(sql, t->database);
	g_autoptr(GByteArray) text = target_query(t, sql->str, ANSWER_MAX_BYTES, NULL);
	char *tables = words_of(text ? text->data : NULL, text ? text->len : 0);

	if (t->tables && strcmp(t->tables, tables) != 0)
		sent_forget(t->sent);
	g_free(t->tables);
	t->tables = tables;
}

static enum target_outcome insert_rows(struct target *t, const struct push_unit *u, const struct push_request *request,
				       char **ret_why, unsigned *ret_retry_after_s)
{
	g_autofree char *sql = clickhouse_insert(t->database, request->name);
	g_autoptr(GString) url = g_string_new(NULL), settings = g_string_new(NULL);
	struct http_answer a;
	gsize len_bytes;
	const void *body = g_bytes_get_data(request->body, &len_bytes);

	if (!sql) {
		*ret_why = g_strdup_printf("there is no table \"%s\"", request->name);
		return TARGET_REFUSED;
	}
	if (t->version >= VERSION_ASYNC_INSERT)
		g_string_append(settings, "async_insert=1&wait_for_async_insert=1");
	if (t->version >= VERSION_DEDUPLICATION_TOKEN)
		g_string_append_printf(settings, "&insert_deduplication_token=%016" G_GINT64_MODIFIER "x-%s", u->key,
				       request->name);
	query_url(t, url, sql, settings->str);
	const struct http_request r = { .url = url->str, .body = body, .body_bytes = len_bytes,
					.content_type = "application/octet-stream", .is_gzip = request->is_gzip,
					.answer_max_bytes = ANSWER_MAX_BYTES, .is_cut = true };
	bool ok;

	http_do(t->http, &r, &a);
	ok = a.outcome == HTTP_ANSWERED && a.status == 200;
	if (!ok) {
		*ret_why = failure_sentence(t, &a);
		*ret_retry_after_s = a.retry_after_s;
	}
	http_answer_clear(&a);
	return ok ? TARGET_TAKEN : TARGET_LATER;
}

static enum target_outcome send_clickhouse(struct target *t, const struct push_unit *u, char **ret_why,
					   unsigned *ret_retry_after_s)
{
	enum target_outcome outcome = TARGET_TAKEN;

	if (!t->version) {
		if (!ask_version(t, ret_why))
			return TARGET_LATER;
		forget_if_new_tables(t);
	}
	for (guint i = 0; i < u->requests->len && outcome == TARGET_TAKEN; i++)
		outcome = insert_rows(t, u, g_ptr_array_index(u->requests, i), ret_why, ret_retry_after_s);
	if (outcome == TARGET_TAKEN)
		sent_add(t->sent, (const uint64_t *)(const void *)u->contents->data, u->contents->len,
			 u->start_unix_ns / NS_A_SECOND);
	else
		t->version = 0; /* another server may answer next time */
	return outcome;
}

/* --- engines that take one series per request --- */

/* What an answer with a 2xx status means. */
static enum target_outcome verdict_of(const struct target *t, const struct http_answer *a, char **ret_why)
{
	g_autofree char *said = NULL;
	enum target_outcome outcome;

	if (advice_is_page(a->text->data, a->text->len)) {
		*ret_why = g_strdup_printf("%s answers with a web page: is it %s, and no proxy or log-in?", t->name, t->engine->title);
		return TARGET_LATER;
	}
	outcome = t->engine->verdict ? t->engine->verdict(a, &said) : TARGET_TAKEN;
	if (outcome == TARGET_TAKEN)
		return outcome;
	g_autofree char *words = words_of(said ? said : "", said ? strlen(said) : 0);

	*ret_why = g_strdup_printf("%s %s%s%s", t->name, outcome == TARGET_REFUSED ? "refuses it" : "does not say that it took it",
				   *words ? ": " : "", words);
	return outcome;
}

/* The collector takes profiles only.  Refused metrics must not hold up profiles. */
static enum target_outcome refuse_metrics(struct target *t, char **ret_why)
{
	g_atomic_int_set(&t->no_metrics_until_s, now_s() + METRICS_AGAIN_S);
	g_free(*ret_why);
	*ret_why = g_strdup_printf("%s takes no metrics (%s: status 404), so it gets no latencies of requests for an hour",
				   t->name, t->engine->metrics_path);
	return TARGET_REFUSED;
}

static enum target_outcome send_series(struct target *t, const struct push_unit *u, char **ret_why,
				       unsigned *ret_retry_after_s)
{
	const struct push_request *request = g_ptr_array_index(u->requests, 0);
	bool is_metrics = strcmp(request->name, OTLP_METRICS) == 0 && t->engine->metrics_path;
	g_autofree char *url = g_strconcat(t->url, is_metrics ? t->engine->metrics_path : t->engine->path, NULL);
	struct http_answer a;
	gsize len_bytes;
	const void *body = g_bytes_get_data(request->body, &len_bytes);
	const struct http_request r = { .url = url,
					.body = body,
					.body_bytes = len_bytes,
					.content_type = t->engine->content_type,
					.is_gzip = request->is_gzip,
					.headers = { t->tenant },
					.answer_max_bytes = ANSWER_MAX_BYTES,
					.is_cut = true,
					.is_once = true };

	http_do(t->http, &r, &a);
	/* The status arrives first; if it means "taken", a lost remainder of the answer does not matter. */
	if (a.outcome == HTTP_UNSURE && a.status == 200)
		a.outcome = HTTP_ANSWERED;
	enum target_outcome outcome = outcome_once(&a);

	if (outcome == TARGET_TAKEN) {
		outcome = verdict_of(t, &a, ret_why);
	} else {
		*ret_why = failure_sentence(t, &a);
		*ret_retry_after_s = a.retry_after_s;
	}
	if (is_metrics && a.outcome == HTTP_ANSWERED && a.status == 404)
		outcome = refuse_metrics(t, ret_why);
	http_answer_clear(&a);
	return outcome;
}

enum target_outcome target_send(struct target *t, const struct push_unit *u, char **ret_why,
				unsigned *ret_retry_after_s)
{
	*ret_why = NULL;
	*ret_retry_after_s = 0;
	return (t->engine->series ? send_series : send_clickhouse)(t, u, ret_why, ret_retry_after_s);
}

bool target_is_there(struct target *t, char **ret_why)
{
	g_autofree char *url = g_strconcat(t->url, t->engine->alive_path, NULL);
	const struct http_request r = { .url = url,
					.headers = { t->tenant },
					.answer_max_bytes = ANSWER_MAX_BYTES,
					.is_cut = true };
	struct http_answer a;
	bool ok;

	http_do(t->http, &r, &a);
	ok = a.outcome == HTTP_ANSWERED && a.status < 500;
	*ret_why = ok ? NULL : failure_sentence(t, &a);
	http_answer_clear(&a);
	return ok;
}
