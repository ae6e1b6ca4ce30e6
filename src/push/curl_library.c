/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/curl_library.h"

#include <dlfcn.h>
#include <string.h>

#include "push/http.h"

#define NAME "libcurl.so.4"
#define NAME_GNUTLS "libcurl-gnutls.so.4"

static struct curl_library library;
static bool is_there;
static char *why;

static bool find(void *handle, const char *name, void *function)
{
	void *found = dlsym(handle, name);

	if (!found) {
		why = g_strdup_printf(NAME " has no %s()", name);
		return false;
	}
	memcpy(function, &found, sizeof(found));
	return true;
}

static bool load(void)
{
	void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
	CURLcode (*global_init)(long flags);

	if (!handle)
		handle = dlopen(NAME_GNUTLS, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		why = g_strdup(NAME " is not installed (the package libcurl4 on Debian): it is what talks HTTP");
		return false;
	}
	const struct { const char *name; void *function; } functions[] = {
		{ "curl_global_init", &global_init },
		{ "curl_easy_init", &library.easy_init },
		{ "curl_easy_cleanup", &library.easy_cleanup },
		{ "curl_easy_reset", &library.easy_reset },
		{ "curl_easy_setopt", &library.setopt },
		{ "curl_easy_perform", &library.perform },
		{ "curl_easy_getinfo", &library.getinfo },
		{ "curl_easy_strerror", &library.strerror },
		{ "curl_slist_append", &library.slist_append },
		{ "curl_slist_free_all", &library.slist_free_all },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(functions); i++)
		if (!find(handle, functions[i].name, functions[i].function))
			return false;
	if (global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		return true;
	why = g_strdup(NAME " cannot be set up");
	return false;
}

const struct curl_library *curl_library(GError **error)
{
	static gsize is_loaded;

	if (g_once_init_enter(&is_loaded)) {
		is_there = load();
		g_once_init_leave(&is_loaded, 1);
	}
	if (is_there)
		return &library;
	g_set_error_literal(error, PUSH_ERROR, PUSH_ERROR_FAILED, why);
	return NULL;
}
