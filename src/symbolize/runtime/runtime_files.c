/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "symbolize/runtime/variables.h"

#include <string.h>

#include "base/module.h"
#include "runtimes/python/find.h"

#define VERSION_MAX 24

/*
 * Files of a runtime, by prefix of their names. After a program's prefix only a version may follow ("ruby3.1", not
 * "rubygems-helper"), after a library's anything.
 */
struct pattern {
	const char *begins;
	enum runtime runtime;
	bool is_library;
};

static const struct pattern patterns[] = {
	{ "libjvm.so", RUNTIME_JAVA, true },
	{ "node", RUNTIME_NODE, false },
	{ "nodejs", RUNTIME_NODE, false },
	{ "libnode.so", RUNTIME_NODE, true },
	{ "libcoreclr.so", RUNTIME_DOTNET, true },
	{ "mono", RUNTIME_MONO, false },
	{ "mono-sgen", RUNTIME_MONO, false },
	{ "libmonosgen-", RUNTIME_MONO, true },
	{ "ruby", RUNTIME_RUBY, false },
	{ "libruby", RUNTIME_RUBY, true },
	{ "php", RUNTIME_PHP, false },
	{ "php-fpm", RUNTIME_PHP, false },
	{ "php-cgi", RUNTIME_PHP, false },
	{ "libphp", RUNTIME_PHP, true },
	{ "perl", RUNTIME_PERL, false },
	{ "libperl.so", RUNTIME_PERL, true },
	{ "beam.smp", RUNTIME_ERLANG, false },
};

const char *runtime_name(enum runtime runtime)
{
	static const char *const names[RUNTIME_CNT] = {
		[RUNTIME_PYTHON] = "CPython", [RUNTIME_JAVA] = "Java (HotSpot)", [RUNTIME_NODE] = "Node.js",
		[RUNTIME_DOTNET] = ".NET",    [RUNTIME_MONO] = "Mono",           [RUNTIME_RUBY] = "Ruby",
		[RUNTIME_PHP] = "PHP",        [RUNTIME_PERL] = "Perl",           [RUNTIME_ERLANG] = "Erlang",
		[RUNTIME_GO] = "Go",
	};

	return names[runtime];
}

static bool is_version(const char *text)
{
	return text[strspn(text, "0123456789.")] == '\0';
}

enum runtime runtime_of_file(const char *path)
{
	const char *name = module_base_name(path);

	if (python_minor_of_file(path))
		return RUNTIME_PYTHON;
	return FIRST(x, patterns,
		     g_str_has_prefix(name, x->begins) && (x->is_library || is_version(name + strlen(x->begins))),
		     x->runtime, RUNTIME_CNT);
}

/* The version at the begin of a text: digits and points, at least one of each. */
static char *version_at(const char *text)
{
	size_t len = strspn(text, "0123456789.");

	while (len && text[len - 1] == '.')
		len--;
	if (!len || len > VERSION_MAX || !g_ascii_isdigit(*text) || !memchr(text, '.', len))
		return NULL;
	return g_strndup(text, len);
}

/* The version after a prefix in the name of a folder of the path: "/usr/lib/erlang/erts-13.1.5/bin". */
static char *version_in_folder(const char *path, const char *begins)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);

	for (guint i = g_strv_length(parts); i > 0; i--) {
		char *version = g_str_has_prefix(parts[i - 1], begins) ? version_at(parts[i - 1] + strlen(begins))
								       : NULL;

		if (version)
			return version;
	}
	return NULL;
}

char *runtime_version_of_file(enum runtime runtime, const char *path)
{
	const char *name = module_base_name(path), *behind = strstr(name, ".so.");

	switch (runtime) {
	case RUNTIME_RUBY:
	case RUNTIME_PERL:
	case RUNTIME_PHP: return version_at(behind ? behind + strlen(".so.") : name + strcspn(name, "0123456789"));
	case RUNTIME_DOTNET:	/* shared/Microsoft.NETCore.App/8.0.1/libcoreclr.so */
		return version_in_folder(path, "");
	case RUNTIME_ERLANG: return version_in_folder(path, "erts-");
	default: return NULL;
	}
}
