/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_CURL_LIBRARY_H
#define PUSH_CURL_LIBRARY_H

#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>
#include <glib.h>

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
