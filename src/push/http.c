/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/http.h"

#include <string.h>
#include <unistd.h>

#include "base/each.h"
#include "base/refuse.h"
#include "base/version.h"

#define CONNECT_S 10L
#define SLOW_BYTES 100L	/* per second, over SLOW_S: slower means dead */
#define SLOW_S 30L
#define RETRY_AFTER_MAX_S 3600
#define GRPC_MAX_BYTES 4096
#define NAMES_MAX_BYTES 200	/* of a certificate's names in our messages */

G_DEFINE_QUARK(offcpu-push-error, push_error)

struct http {
	const struct curl_library *curl;
	CURL *handle;
	char *ca_path;
	char *user_agent;
	const struct credentials *credentials;
	long timeout_s, slow_s;
	gint64 until_us;	/* 0: never */
	gint is_cancelled;
	char reason[CURL_ERROR_SIZE];
};

/* A single request. */
struct transfer {
	GByteArray *text;
	GString *grpc;
	gsize max_bytes;
	bool is_cut, is_too_long;
};

/*
 * A distribution's libcurl knows where the certificates are.  The static program has to search.  NULL: the library's
 * default.
 */
static const char *system_ca(void)
{
#ifdef OFFCPU_STATIC
	static const char *const paths[] = {
		"/etc/ssl/certs/ca-certificates.crt",	/* Debian, Alpine, Arch, and our image */
		"/etc/pki/tls/certs/ca-bundle.crt",	/* Fedora, RHEL */
		"/etc/ssl/ca-bundle.pem",	/* openSUSE */
	};
	const char *chosen = g_getenv("SSL_CERT_FILE");

	if (chosen)
		return chosen;
	for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
		if (access(paths[i], R_OK) == 0)
			return paths[i];
#endif
	return NULL;
}

struct http *http_new(const struct http_options *options, GError **error)
{
	const struct curl_library *curl = curl_library(error);
	CURL *handle = curl ? curl->easy_init() : NULL;

	if (!handle) {
		if (curl)
			g_set_error_literal(error, PUSH_ERROR, PUSH_ERROR_FAILED, "libcurl gave no client");
		return NULL;
	}
	struct http *h = g_new0(struct http, 1);

	h->curl = curl;
	h->handle = handle;
	h->ca_path = g_strdup(options->ca_path ? options->ca_path : system_ca());
	h->user_agent = g_strdup_printf("offcpu/%s", version_text());
	h->credentials = options->credentials;
	h->timeout_s = options->timeout_s ? options->timeout_s : HTTP_TIMEOUT_S;
	/* A server that works on a long query sends nothing until it has the answer. */
	h->slow_s = options->timeout_s ? options->timeout_s : SLOW_S;
	h->until_us = options->until_us;
	return h;
}

FREES(http_free, struct http, h, h->curl->easy_cleanup(h->handle); g_free(h->ca_path); g_free(h->user_agent))

void http_cancel(struct http *h)
{
	g_atomic_int_set(&h->is_cancelled, 1);
}

static size_t on_bytes(char *bytes, size_t size, size_t cnt, void *data)
{
	struct transfer *t = data;
	gsize len = size * cnt, room = t->max_bytes - t->text->len;

	g_byte_array_append(t->text, (const guint8 *)bytes, (guint)MIN(len, room));
	if (len > room && !t->is_cut) {
		t->is_too_long = true;
		return 0;
	}
	return len;
}

/* A failed gRPC call may have its status in the header, where others have it after the body. */
static size_t on_header(char *bytes, size_t size, size_t cnt, void *data)
{
	struct transfer *t = data;
	gsize len = size * cnt;

	if (len > 5 && g_ascii_strncasecmp(bytes, "grpc-", 5) == 0 && t->grpc->len + len <= GRPC_MAX_BYTES)
		g_string_append_len(t->grpc, bytes, (gssize)len);
	return len;
}

static int on_progress(void *data, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
	return g_atomic_int_get(&((struct http *)data)->is_cancelled);
}

static void set_times(struct http *h)
{
	const struct curl_library *c = h->curl;
	gint64 left_ms = h->timeout_s * 1000;

	if (h->until_us) {
		left_ms = MIN(left_ms, (h->until_us - g_get_monotonic_time()) / 1000);
#if LIBCURL_VERSION_NUM >= 0x075700
		/* Do not wait for a name that is still being resolved. */
		c->setopt(h->handle, CURLOPT_QUICK_EXIT, 1L);
#endif
	}
	c->setopt(h->handle, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	c->setopt(h->handle, CURLOPT_TIMEOUT_MS, (long)MAX(left_ms, 1));	/* 0 would mean no limit */
	c->setopt(h->handle, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
	c->setopt(h->handle, CURLOPT_LOW_SPEED_TIME, h->slow_s);
}

static void set_up(struct http *h, const struct http_request *r)
{
	const struct curl_library *c = h->curl;

	c->easy_reset(h->handle);
	c->setopt(h->handle, CURLOPT_URL, r->url);
	c->setopt(h->handle, CURLOPT_NOSIGNAL, 1L);
	c->setopt(h->handle, CURLOPT_USERAGENT, h->user_agent);
	c->setopt(h->handle, CURLOPT_ERRORBUFFER, h->reason);
	set_times(h);
	c->setopt(h->handle, CURLOPT_CERTINFO, 1L);
	c->setopt(h->handle, CURLOPT_TCP_KEEPALIVE, 1L);
	c->setopt(h->handle, CURLOPT_NOPROGRESS, 0L);
	c->setopt(h->handle, CURLOPT_XFERINFOFUNCTION, on_progress);
	c->setopt(h->handle, CURLOPT_XFERINFODATA, h);
	c->setopt(h->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
#if LIBCURL_VERSION_NUM >= 0x075500
	c->setopt(h->handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	c->setopt(h->handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	if (h->ca_path)
		c->setopt(h->handle, CURLOPT_CAINFO, h->ca_path);
	if (r->is_once) {
		/* libcurl sends a request again if a reused connection ends without an answer. */
		c->setopt(h->handle, CURLOPT_FRESH_CONNECT, 1L);
		c->setopt(h->handle, CURLOPT_FORBID_REUSE, 1L);
	}
	if (h->credentials && h->credentials->user) {
		c->setopt(h->handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		c->setopt(h->handle, CURLOPT_USERNAME, h->credentials->user);
		c->setopt(h->handle, CURLOPT_PASSWORD, h->credentials->password ? h->credentials->password : "");
	}
	if (r->body) {
		c->setopt(h->handle, CURLOPT_POST, 1L);
		c->setopt(h->handle, CURLOPT_POSTFIELDS, r->body);
		c->setopt(h->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_bytes);
	}
}

static struct curl_slist *headers_of(struct http *h, const struct http_request *r)
{
	/* do not wait for "100 Continue", which some proxies never send */
	struct curl_slist *list = h->curl->slist_append(NULL, "Expect:");

	if (r->content_type) {
		g_autofree char *type = g_strdup_printf("Content-Type: %s", r->content_type);

		list = h->curl->slist_append(list, type);
	}
	if (r->is_gzip)
		list = h->curl->slist_append(list, "Content-Encoding: gzip");
	if (h->credentials && h->credentials->token) {
		char *token = g_strdup_printf("Authorization: Bearer %s", h->credentials->token);

		list = h->curl->slist_append(list, token);
		explicit_bzero(token, strlen(token));
		g_free(token);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(r->headers) && r->headers[i]; i++)
		list = h->curl->slist_append(list, r->headers[i]);
	return list;
}

/* A request that did not leave this machine completely cannot have been taken. */
static enum http_outcome outcome_of_failure(struct http *h, const struct http_request *r, CURLcode code)
{
	curl_off_t sent_bytes = 0;

	switch (code) {
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE: return HTTP_NOT_SENT;
	default: break;
	}
	if (h->curl->getinfo(h->handle, CURLINFO_SIZE_UPLOAD_T, &sent_bytes) != CURLE_OK)
		return HTTP_UNSURE;
	return r->body && (gsize)sent_bytes < r->body_bytes ? HTTP_NOT_SENT : HTTP_UNSURE;
}

/* The certificate's names, "DNS:a, DNS:b"; NULL: the library does not say. */
static char *names_of_certificate(const struct http *h)
{
	static const char label[] = "X509v3 Subject Alternative Name:";
	struct curl_certinfo *info = NULL;

	if (h->curl->getinfo(h->handle, CURLINFO_CERTINFO, &info) != CURLE_OK || !info || !info->num_of_certs)
		return NULL;
	for (struct curl_slist *line = info->certinfo[0]; line; line = line->next) {
		if (!g_str_has_prefix(line->data, label))
			continue;
		g_autofree char *cut = g_strndup(line->data + strlen(label), NAMES_MAX_BYTES);
		char *names = g_utf8_make_valid(g_strstrip(cut), -1);

		for (char *s = names; *s; s++)
			if ((unsigned char)*s < ' ' || *s == 127)
				*s = ' ';
		return names;
	}
	return NULL;
}

/* libcurl has one error for an untrusted certificate and for a wrong name; only its message differs. */
static char *why_not_trusted(const struct http *h, const char *reason)
{
	if (!strstr(reason, "match"))
		return g_strconcat(reason, "; --ca FILE names certificates to trust", NULL);
	g_autofree char *names = names_of_certificate(h);

	return g_strdup_printf("%s; its certificate is for %s: the address must have a name that it is for", reason,
			       names && *names ? names : "another name");
}

/* libcurl's message, and advice if there is one known cause. */
static char *why_not(const struct http *h, CURLcode code)
{
	const char *reason = h->reason[0] ? h->reason : h->curl->strerror(code), *advice = NULL;

	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION: return why_not_trusted(h, reason);
	case CURLE_SSL_CONNECT_ERROR: advice = "is it http:// there?"; break;
	case CURLE_SSL_CACERT_BADFILE:
		advice = h->ca_path ? "--ca wants a file of certificates in PEM"
				    : "this system has no certificates to trust: --ca FILE names some";
		break;
	case CURLE_UNSUPPORTED_PROTOCOL:	/* not HTTP: "Received HTTP/0.9 when not allowed" */
	case CURLE_WEIRD_SERVER_REPLY: advice = "is it https:// there, or another port?"; break;
	default: break;
	}
	return g_strconcat(reason, advice ? "; " : NULL, advice, NULL);
}

static unsigned retry_after_s(struct http *h)
{
	curl_off_t s = 0;

	if (h->curl->getinfo(h->handle, CURLINFO_RETRY_AFTER, &s) != CURLE_OK || s < 0)
		return 0;
	return (unsigned)MIN(s, RETRY_AFTER_MAX_S);
}

void http_do(struct http *h, const struct http_request *r, struct http_answer *ret)
{
	struct transfer t = { .text = g_byte_array_new(),
			      .grpc = g_string_new(NULL),
			      .max_bytes = r->answer_max_bytes,
			      .is_cut = r->is_cut };
	struct curl_slist *headers;

	*ret = (struct http_answer){ .text = t.text, .grpc = t.grpc };
	set_up(h, r);
	headers = headers_of(h, r);
	h->reason[0] = '\0';
	h->curl->setopt(h->handle, CURLOPT_HTTPHEADER, headers);
	h->curl->setopt(h->handle, CURLOPT_WRITEFUNCTION, on_bytes);
	h->curl->setopt(h->handle, CURLOPT_WRITEDATA, &t);
	h->curl->setopt(h->handle, CURLOPT_HEADERFUNCTION, on_header);
	h->curl->setopt(h->handle, CURLOPT_HEADERDATA, &t);
	if (!r->is_cut)
		h->curl->setopt(h->handle, CURLOPT_ACCEPT_ENCODING, "gzip");
	CURLcode code = h->curl->perform(h->handle);

	h->curl->getinfo(h->handle, CURLINFO_RESPONSE_CODE, &ret->status);
	ret->retry_after_s = retry_after_s(h);
	if (code != CURLE_OK) {
		ret->outcome = outcome_of_failure(h, r, code);
		ret->why = t.is_too_long
				   ? g_strdup_printf("its answer is above %" G_GSIZE_FORMAT " MiB", t.max_bytes >> 20)
				   : why_not(h, code);
	}
	h->curl->slist_free_all(headers);
}

void http_answer_clear(struct http_answer *answer)
{
	if (answer->text)
		g_byte_array_unref(answer->text);
	if (answer->grpc)
		g_string_free(answer->grpc, TRUE);
	g_free(answer->why);
	*answer = (struct http_answer){ 0 };
}

char *http_check_url(const char *url, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_HAS_PASSWORD | G_URI_FLAGS_ENCODED, &cause);
	const char *scheme = uri ? g_uri_get_scheme(uri) : NULL, *host = uri ? g_uri_get_host(uri) : NULL;

	if (!uri || !host || !*host || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		return refuse_null(error, PUSH_ERROR, PUSH_ERROR_USAGE,
			"\"%s\" is no address such as http://HOST:PORT", url);
	if (g_uri_get_userinfo(uri)) {
		g_set_error(
			error, PUSH_ERROR, PUSH_ERROR_USAGE,
			"the address has a user or a password in it, which all users can read: --credentials FILE is wanted");
		return NULL;
	}
	if (g_uri_get_query(uri) || g_uri_get_fragment(uri))
		return refuse_null(error, PUSH_ERROR, PUSH_ERROR_USAGE, "\"%s\": an address without a query is wanted",
			url);
	char *own = g_uri_to_string(uri);

	while (g_str_has_suffix(own, "/"))
		own[strlen(own) - 1] = '\0';
	return own;
}

bool http_is_clear(const char *url)
{
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *host = uri ? g_uri_get_host(uri) : "";

	return uri && strcmp(g_uri_get_scheme(uri), "http") == 0 && strcmp(host, "localhost") != 0 &&
	       strcmp(host, "::1") != 0 && !g_str_has_prefix(host, "127.");
}
