/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_VARIABLES_H
#define SYMBOLIZE_VARIABLES_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/process/maps.h"

/* A variable that is sought by its symbol. */
struct variable {
	const char *name;
	uint64_t addr;	/* in the process; 0: not found */
};

/*
 * Finds variables of the file of a mapping (64 bits, x86-64 or arm64) in its symbol tables.  False where the file
 * cannot be read; true does not say that each was found.  The file is not trusted: an address may lie anywhere.  It is
 * parsed by a process without rights where there is one (base/opener/parser.h).
 */
bool variables_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *variables,
		    size_t cnt);
/* The same of variables and functions. */
bool symbols_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *symbols,
		  size_t cnt);

/*
 * A variable that each thread has one of, and addresses of what the dynamic linker has left for who looks for it; 0:
 * there is no such.
 */
struct local_variable {
	uint64_t offset;	/* in the file's block of such variables */
	uint64_t module_at;	/* the number by which a thread finds that block */
	uint64_t offset_at;	/* the variable's place, from the thread pointer */
	uint64_t descriptor_at;	/* two words: a function, and its argument */
	int64_t thread_offset;	/* its place from the thread pointer, if has_thread_offset: of a program's own */
	bool has_thread_offset;
};
/* False: it was not found. */
bool variables_find_local(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name,
			  struct local_variable *ret);
/* Where a section of the file lies in the process; 0: it has none of that name. */
uint64_t variables_find_section(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name);

/* For parser_start(): what that process answers. */
bool variables_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);

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
