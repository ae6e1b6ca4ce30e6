/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#ifdef OFFCPU_STATIC
#include <netdb.h>
#include <nss.h>
#endif

#include "base/late_library.h"
#include "base/refuse.h"
#include "push/http.h"

static struct curl_library library;
static bool is_there;
static char *why;

#define CURL_FUNCTIONS(X)                                                                                      \
	X(easy_init, curl_easy_init) X(easy_cleanup, curl_easy_cleanup) X(easy_reset, curl_easy_reset)         \
	X(setopt, curl_easy_setopt) X(perform, curl_easy_perform) X(getinfo, curl_easy_getinfo)                \
	X(strerror, curl_easy_strerror) X(slist_append, curl_slist_append) X(slist_free_all, curl_slist_free_all)

#ifdef OFFCPU_STATIC
/*
 * Linked statically.  Names are resolved only by /etc/hosts and DNS: other services in nsswitch.conf are libraries of
 * this host, which would load this host's libc.
 */
static bool load(void)
{
#define X(member, function) library.member = function;
	CURL_FUNCTIONS(X)
#undef X
	if (__nss_configure_lookup("hosts", "files dns") != 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		why = g_strdup("libcurl cannot be set up");
	return !why;
}
#else
static bool load(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", NULL };
	CURLcode (*global_init)(long flags);
	const struct late_function functions[] = {
		{ "curl_global_init", &global_init },
#define X(member, function) { #function, &library.member },
		CURL_FUNCTIONS(X)
#undef X
	};
	g_autofree char *lack = late_library(names, functions, G_N_ELEMENTS(functions));

	if (lack)
		why = g_strdup_printf("%s: it is what talks HTTP (the package libcurl4 on Debian)", lack);
	else if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		why = g_strdup("libcurl cannot be set up");
	return !why;
}
#endif

const struct curl_library *curl_library(GError **error)
{
	static gsize is_loaded;

	if (g_once_init_enter(&is_loaded)) {
		is_there = load();
		g_once_init_leave(&is_loaded, 1);
	}
	if (is_there)
		return &library;
	return refuse_null(error, PUSH_ERROR, PUSH_ERROR_FAILED, "%s", why);
}
