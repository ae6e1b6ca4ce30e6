/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_HTTP_H
#define PUSH_HTTP_H

#include <curl/curl.h>
#include <glib.h>
#include <stdbool.h>

/*
 * HTTP by libcurl, which is loaded when the first client is made: the other commands do not pay for it.  https is
 * verified, redirects are not followed, and every answer has a bound in size and time.
 */

/* One client, of one thread at a time; connections are kept. */
struct http;

struct http_options {
	const char *ca_path;	/* certificates to trust; NULL: the system's */
	const struct credentials *credentials;	/* NULL: none; borrowed */
	unsigned timeout_s;	/* of one request, all in all; 0: HTTP_TIMEOUT_S */
	gint64 until_us;	/* g_get_monotonic_time() at which all requests end; 0: never */
};
#define HTTP_TIMEOUT_S 60

struct http *http_new(const struct http_options *options, GError **error);
void http_free(struct http *h);	/* NULL is fine */
/* From another thread, or a signal's: a request that runs ends soon, and so does every later one. */
void http_cancel(struct http *h);

struct http_request {
	const char *url;
	const void *body;	/* NULL: a GET */
	gsize body_bytes;
	const char *content_type;
	bool is_gzip;		/* the body */
	const char *headers[4];	/* more of them, NULL ends them */
	gsize answer_max_bytes;	/* unpacked; the rest of a longer one is cut off, or is a failure */
	bool is_cut;		/* the first of these */
	bool is_once;		/* never sent twice, not even after a connection that was kept turns out to be dead */
};

enum http_outcome {
	HTTP_ANSWERED,		/* status and text are there */
	HTTP_NOT_SENT,		/* nobody can have taken the request as a whole */
	HTTP_UNSURE,		/* it was sent, and there is no answer */
};

struct http_answer {
	enum http_outcome outcome;
	long status;
	unsigned retry_after_s;	/* 0: it did not say */
	GByteArray *text;	/* of anybody's; free with http_answer_clear() */
	GString *grpc;		/* its header lines that begin with "grpc-", of anybody's; "" for none */
	char *why;		/* a sentence, unless it was answered */
};

void http_do(struct http *h, const struct http_request *request, struct http_answer *ret_answer);
void http_answer_clear(struct http_answer *answer);

/*
 * Is it an address that may be used: http or https, with a host, without a password (all users see command lines) and
 * without a query? Its copy without a / at the end; NULL with one sentence.
 */
char *http_check_url(const char *url, GError **error);
/* Does a password to that address cross a network in the clear? */
bool http_is_clear(const char *url);

#define PUSH_ERROR push_error_quark()
GQuark push_error_quark(void);
enum push_error {
	PUSH_ERROR_USAGE,	/* of what was asked for */
	PUSH_ERROR_FAILED,
	PUSH_ERROR_EMPTY,	/* there is no such window */
};

/* Who we are to an engine.  Never from a command line, which all users can read. */
struct credentials {
	char *user, *password;	/* basic authentication; NULL: none */
	char *token;		/* bearer; NULL: none */
};

/*
 * From a file of lines "user NAME", "password SECRET", "token SECRET", which nobody but its owner may read, or where
 * path is NULL from OFFCPU_PUSH_USER, OFFCPU_PUSH_PASSWORD and OFFCPU_PUSH_TOKEN.  False with one sentence, without
 * any of the secrets.
 */
bool credentials_read(const char *path, struct credentials *ret, GError **error);
bool credentials_are_there(const struct credentials *c);
void credentials_clear(struct credentials *c);

#define CURL_DISABLE_TYPECHECK 1

/*
 * libcurl as loaded at run time: with its own libraries it takes longer to load than most of our commands take to run.
 */
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

/*
 * The same each time, for as long as the process lives; NULL with one sentence.  Threads may call it at the same time.
 */
const struct curl_library *curl_library(GError **error);

#endif
