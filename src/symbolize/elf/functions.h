/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_FUNCTIONS_H
#define SYMBOLIZE_FUNCTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf/table.h"
#include "symbolize/symbolize.h"

/* Functions and probes of an ELF file by name, for attaching. */

struct elf_function {
	char *name;		/* demangled, without parameters */
	char *whole;		/* demangled, with parameters */
	uint64_t off;		/* in the file */
	uint64_t addr, size;
};

struct elf_functions {
	GArray *list;		/* struct elf_function, by address, without duplicates */
	bool has_symbols;	/* it includes a full symbol table, of the file or its debug file */
	bool is_go;
	bool is_named_elsewhere;	/* debug information has the name, perhaps of an inlined function */
	bool is_ifunc;		/* one is an IFUNC: chosen at start from several implementations, so calls bypass it */
	GPtrArray *inlined;	/* char *: "caller (file.c:12)", a few places where one without code is inlined */
	uint16_t machine;
};

/*
 * Functions with a matching name: linkage name, or demangled with or without parameters and template arguments;
 * `pattern` may contain * ? and [. Parts split off by a compiler (.cold, .part) never match. `path` helps to find the
 * debug file.
 */
bool elf_functions_find(struct elf_functions *f, int fd, const char *path, const char *pattern, GError **error);
void elf_functions_clear(struct elf_functions *f);

bool elf_function_is_glob(const char *pattern);

struct elf_probe {
	uint64_t off;		/* of the instruction, in the file */
	uint64_t semaphore;	/* of its semaphore, in the file; 0: none */
};

/* Places of the USDT probe PROVIDER:NAME, struct elf_probe. NULL: not an ELF file. */
GArray *elf_probes_find(int fd, const char *provider, const char *name, GError **error);
/* char *: names of the provider's probes, or without a provider the providers; no duplicates. */
GPtrArray *elf_probes_list(int fd, const char *provider);

/*
 * Possible paths of the separate debug file of t, which is at `path`: by build-id, then by .gnu_debuglink's name in
 * gdb's search path. char *, freed with the array.
 */
GPtrArray *debug_file_paths(const struct elf_table *t, const char *path, const char *debug_dir);

/*
 * Reads fd if it is the debug file of t: same build-id, or, if t has none, the checksum in .gnu_debuglink. NULL: it
 * is not.
 */
struct elf_table *debug_file_read(const struct elf_table *t, int fd);

/*
 * Adds function, file and line of places without any, from Go's table in the file behind fd. Inlined functions have
 * no frame of their own here. Strings go to `strings`.
 */
void go_lines_find(int fd, struct symbol_place *places, size_t cnt, GStringChunk *strings);

#endif
