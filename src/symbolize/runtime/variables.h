/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_VARIABLES_H
#define SYMBOLIZE_VARIABLES_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/process/maps.h"

/* A variable to be found by its symbol. */
struct variable {
	const char *name;
	uint64_t addr;	/* in the process; 0: not found */
};

/*
 * Finds variables in the symbol tables of a mapping's file (64 bits, x86-64 or arm64). False: the file cannot be
 * read; true does not mean that all were found. The file is not trusted: an address may be anything. Parsed in a
 * process without rights if there is one (base/opener/parser.h).
 */
bool variables_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *variables,
		    size_t cnt);
/* Likewise for variables and functions. */
bool symbols_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *symbols,
		  size_t cnt);

/* A thread-local variable: addresses of what the dynamic linker has prepared for access; 0: none. */
struct local_variable {
	uint64_t offset;	/* in the file's TLS block */
	uint64_t module_at;	/* the module id of that block */
	uint64_t offset_at;	/* the variable's offset from the thread pointer */
	uint64_t descriptor_at;	/* two words: a function and its argument */
	int64_t thread_offset;	/* if has_thread_offset (a program's own): offset from the thread pointer */
	bool has_thread_offset;
};
/* False: not found. */
bool variables_find_local(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name,
			  struct local_variable *ret);
/* The address of a file's section in the process. 0: no such section. */
uint64_t variables_find_section(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name);

/* For parser_start(): the parser process's side. */
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

/* The runtime that a file of this path belongs to. RUNTIME_CNT: none. Go is recognized only by a file's contents. */
enum runtime runtime_of_file(const char *path);

/* The version in the path ("/usr/lib/libruby-3.1.so.3.1.2": "3.1.2"), to be freed. NULL: none. */
char *runtime_version_of_file(enum runtime runtime, const char *path);

#endif
