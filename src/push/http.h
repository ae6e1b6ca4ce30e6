/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_HTTP_H
#define PUSH_HTTP_H

#include <curl/curl.h>
#include <glib.h>
#include <stdbool.h>

/*
 * HTTP by libcurl, which is loaded with the first client, so that other commands do not pay for it.  TLS is verified,
 * redirects are not followed, and answers are bounded in size and time.
 */

/* A client for one thread at a time; connections are reused. */
struct http;

struct http_options {
	const char *ca_path;	/* certificates to trust; NULL: the system's */
	const struct credentials *credentials;	/* NULL: none; borrowed */
	unsigned timeout_s;	/* total per request; 0: HTTP_TIMEOUT_S */
	gint64 until_us;	/* g_get_monotonic_time() at which all requests end; 0: never */
};
#define HTTP_TIMEOUT_S 60

struct http *http_new(const struct http_options *options, GError **error);
void http_free(struct http *h);	/* NULL is fine */
/* May be called from another thread or a signal handler: the current request and all later ones fail soon. */
void http_cancel(struct http *h);

struct http_request {
	const char *url;
	const void *body;	/* NULL: a GET */
	gsize body_bytes;
	const char *content_type;
	bool is_gzip;		/* the body */
	const char *headers[4];	/* further headers, ended by NULL */
	gsize answer_max_bytes;	/* uncompressed; a longer answer is cut off, or fails */
	bool is_cut;		/* cut it off */
	bool is_once;		/* never send it again, even if a reused connection turns out to be dead */
};

enum http_outcome {
	HTTP_ANSWERED,		/* status and text are set */
	HTTP_NOT_SENT,		/* nobody can have received the whole request */
	HTTP_UNSURE,		/* sent, but no answer */
};

struct http_answer {
	enum http_outcome outcome;
	long status;
	unsigned retry_after_s;	/* 0: not given */
	GByteArray *text;	/* untrusted; free with http_answer_clear() */
	GString *grpc;		/* header lines that begin with "grpc-", untrusted; "": none */
	char *why;		/* error message, unless there was an answer */
};

void http_do(struct http *h, const struct http_request *request, struct http_answer *ret_answer);
void http_answer_clear(struct http_answer *answer);

/*
 * Accepts http and https addresses with a host, without a password (all users can see command lines) and without a
 * query. Returns a copy without trailing /; NULL on error.
 */
char *http_check_url(const char *url, GError **error);
/* Whether a password for that address would cross a network unencrypted. */
bool http_is_clear(const char *url);

#define PUSH_ERROR push_error_quark()
GQuark push_error_quark(void);
enum push_error {
	PUSH_ERROR_USAGE,	/* bad options */
	PUSH_ERROR_FAILED,
	PUSH_ERROR_EMPTY,	/* no such window */
};

/* How we authenticate to an engine.  Never taken from a command line, which all users can read. */
struct credentials {
	char *user, *password;	/* basic authentication; NULL: none */
	char *token;		/* bearer; NULL: none */
};

/*
 * Reads lines "user NAME", "password SECRET", "token SECRET" from a file that only its owner may read.  path NULL:
 * reads OFFCPU_PUSH_USER, OFFCPU_PUSH_PASSWORD and OFFCPU_PUSH_TOKEN.  False on error; messages contain no secrets.
 */
bool credentials_read(const char *path, struct credentials *ret, GError **error);
bool credentials_are_there(const struct credentials *c);
void credentials_clear(struct credentials *c);

#define CURL_DISABLE_TYPECHECK 1

/* libcurl, loaded at run time: with its dependencies it takes longer to load than most of our commands run. */
struct curl_library {
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *h);
	void (*easy_reset)(CURL *h);
	CURLcode (*setopt)(CURL *h, CURLoption option, ...);
	CURLcode (*perform)(CURL *h);
	CURLcode (*getinfo)(CURL *h, CURLINFO info, ...);
	const char *(*strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

/* Loaded once per process; NULL on error.  Thread-safe. */
const struct curl_library *curl_library(GError **error);

#endif
