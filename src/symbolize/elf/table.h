/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_ELF_TABLE_H
#define SYMBOLIZE_ELF_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "symbolize/elf/symtab.h"

/* The variables of an ELF file, which is not trusted. */
struct data_file {
	struct symtab variables;
	struct elf_segment *segments;
	size_t segment_cnt;
	bool has_all;	/* from .symtab; else only exported ones */
};

/*
 * Reads the file behind fd, which stays open. False: not an ELF program or library. Clear it in either case. Parsed
 * in a process without rights if there is one (base/opener/parser.h).
 */
bool data_file_read(int fd, struct data_file *ret);
/* For parser_start(): the parser process's side. */
bool data_file_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* Adds variables of a stripped file at `path` from its debug file. */
void data_file_add_debug(struct data_file *f, int fd, const char *path, const char *debug_dir);
void data_file_clear(struct data_file *f);

#define ELF_BUILD_ID_MAX 64

/* The data needed for symbolizing an ELF file, copied, so that the file can be closed. */
struct elf_table {
	struct symtab symbols;
	struct symtab plt;	/* "NAME@plt": jumps to functions in other files; symbols take precedence */
	struct elf_segment *segments;
	size_t segment_cnt;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_bytes;	/* 0: none */
	char *debuglink;	/* file name in .gnu_debuglink, or NULL */
	uint32_t debuglink_crc;	/* checksum of that file */
	bool is_linked;		/* this is the debug file, found by that checksum, of a file without build-id */
	bool has_full_symbols;	/* from .symtab; else from .dynsym, .gnu_debugdata or none */
	bool has_debug_info;	/* the file has .debug_info */
	bool has_go_table;	/* the file has .gopclntab */
	uint32_t used_turn;	/* for modules: turn of its last use */
	bool is_evicted;	/* likewise: it is about to be freed */
	int debug_fd;		/* a file with one of these two, kept open for symbolizer_lines(); -1: none */
};

/*
 * Reads the file behind fd, which the caller closes. Contents are not trusted: sizes are bounded, and anything but an
 * ELF program or library is an error. A file without symbols gives an empty table.
 */
struct elf_table *elf_table_read(int fd, GError **error);
/* Likewise for a read-only image in memory. */
struct elf_table *elf_table_read_memory(const void *image, size_t bytes, GError **error);
void elf_table_free(struct elf_table *t);

/* By build-id; if t has none, debug_file_read() found it. */
bool elf_table_is_same_build(const struct elf_table *t, const struct elf_table *debug);
/* Is `debug` the separate debug file of t? It has .symtab and the same build. */
bool elf_table_is_debug_file(const struct elf_table *t, const struct elf_table *debug);

/* The path of the debug file with that build-id in distributions, for g_free(); NULL: no id. */
char *elf_debug_path(const char *debug_dir, const uint8_t *build_id, size_t bytes);

/* Moves the symbols of `from` to t, if `from` is its separate debug file. */
bool elf_table_take_symbols(struct elf_table *t, struct elf_table *from);

/* The name at vaddr and the function's start. NULL: none. */
const char *elf_table_find(const struct elf_table *t, uint64_t vaddr, uint64_t *ret_start);

/* The ELF virtual address of file offset off. False: in no segment. */
bool elf_table_vaddr(const struct elf_table *t, uint64_t off, uint64_t *ret_vaddr);

size_t elf_table_memory_bytes(const struct elf_table *t);

/* Transfers a table from the parser process (base/opener/parser.h). */

/* For parser_start(): the parser process's side. */
bool elf_table_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* Its table. NULL with an error. */
struct elf_table *elf_table_ask(int fd, GError **error);

/* Omits names that no function has, which are most of a string table. */
void elf_table_write(const struct elf_table *t, GByteArray *into);
/* The bytes are not trusted: the resulting table is safe to use. NULL: invalid. */
struct elf_table *elf_table_from_bytes(const void *bytes, size_t len_bytes);

/* Likewise for variables. False: invalid, and nothing to clear. */
void data_file_write(const struct data_file *f, GByteArray *into);
bool data_file_from_bytes(const void *bytes, size_t len_bytes, struct data_file *ret);
/* Reads `cnt` segments into *ret, for g_free(). False: invalid. */
struct cursor;
bool elf_segments_take(struct cursor *c, uint64_t cnt, struct elf_segment **ret);

#endif
