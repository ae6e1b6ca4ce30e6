/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_FUNCTIONS_H
#define SYMBOLIZE_FUNCTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf/table.h"
#include "symbolize/symbolize.h"

/* Functions and probes of an ELF file by name: where something can be attached. */

struct elf_function {
	char *name;		/* as people write it: demangled, without parameters */
	char *whole;		/* the same with parameters */
	uint64_t off;		/* in the file */
	uint64_t addr, size;
};

struct elf_functions {
	GArray *list;		/* struct elf_function, by address; one each */
	bool has_symbols;	/* a full symbol table was read, of the file or of its debug file */
	bool is_go;
	bool is_named_elsewhere;	/* debug information has the name: of an inlined function, perhaps */
	bool is_ifunc;		/* one is a choice among several, made as the program starts: calls go past it */
	GPtrArray *inlined;	/* char *: "caller (file.c:12)", where one without code of its own is inlined; a few */
	uint16_t machine;
};

/*
 * Functions whose name matches: the linker's, the demangled one with or without parameters and template arguments, and
 * if `pattern` has
 * * ? or [ by these.  Parts that a compiler split off (.cold, .part) are none.  `path` is for finding the debug file.
 */
bool elf_functions_find(struct elf_functions *f, int fd, const char *path, const char *pattern, GError **error);
void elf_functions_clear(struct elf_functions *f);

bool elf_function_is_glob(const char *pattern);

struct elf_probe {
	uint64_t off;		/* of the instruction, in the file */
	uint64_t semaphore;	/* of its counter, in the file; 0: none */
};

/* Places of the probe PROVIDER:NAME (USDT), struct elf_probe.  NULL: no ELF file. */
GArray *elf_probes_find(int fd, const char *provider, const char *name, GError **error);
/* char *: the names of that provider's probes; without one, the providers.  Each once, as they come. */
GPtrArray *elf_probes_list(int fd, const char *provider);

/*
 * Where the separate debug file of t, which lies at path, may be: by its build-id, then by what .gnu_debuglink names
 * in the places where gdb looks.  char *, freed with the array.
 */
GPtrArray *debug_file_paths(const struct elf_table *t, const char *path, const char *debug_dir);

/*
 * Reads the file behind fd, if it is the debug file of t: of the same build-id, or, where t has none, with the
 * checksum that .gnu_debuglink tells.  NULL: it is not.
 */
struct elf_table *debug_file_read(const struct elf_table *t, int fd);

/*
 * Function, file and line of the places that have none yet, from Go's own table in the file behind fd.  Inlined
 * functions have no frame of their own here.  Strings go to `strings`.
 */
void go_lines_find(int fd, struct symbol_place *places, size_t cnt, GStringChunk *strings);

#endif
