/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_RUNTIME_FILES_H
#define SYMBOLIZE_RUNTIME_FILES_H

#include <glib.h>
#include <stdbool.h>

enum runtime {
	RUNTIME_PYTHON,
	RUNTIME_JAVA,
	RUNTIME_NODE,
	RUNTIME_DOTNET,
	RUNTIME_MONO,
	RUNTIME_RUBY,
	RUNTIME_PHP,
	RUNTIME_PERL,
	RUNTIME_ERLANG,
	RUNTIME_GO,
	RUNTIME_CNT
};

/* "CPython", "Java (HotSpot)", ... */
const char *runtime_name(enum runtime runtime);

/* The runtime that a file of this path is part of; RUNTIME_CNT: of none.  Go is known by a file's contents only. */
enum runtime runtime_of_file(const char *path);

/* Its version as the path tells it ("/usr/lib/libruby-3.1.so.3.1.2": "3.1.2"), to be freed; NULL: it does not. */
char *runtime_version_of_file(enum runtime runtime, const char *path);

#endif
