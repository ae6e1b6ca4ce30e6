/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_ELF_TABLE_H
#define SYMBOLIZE_ELF_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "symbolize/elf/symtab.h"

/* The variables of one ELF file; its contents are not trusted. */
struct data_file {
	struct symtab variables;
	struct elf_segment *segments;
	size_t segment_cnt;
	bool has_all;	/* from .symtab; else only what is exported */
};

/*
 * The file behind fd, which stays open; false: no ELF program or library.  In any case clear it.  It is parsed by a
 * process without rights where there is one (base/opener/parser.h).
 */
bool data_file_read(int fd, struct data_file *ret);
/* For parser_start(): what that process answers. */
bool data_file_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* What a stripped one, which lies at path, lacks, from its debug file. */
void data_file_add_debug(struct data_file *f, int fd, const char *path, const char *debug_dir);
void data_file_clear(struct data_file *f);

#define ELF_BUILD_ID_MAX 64

/* What symbolizing needs of one ELF file, copied out of it: the file is closed afterwards. */
struct elf_table {
	struct symtab symbols;
	struct symtab plt;	/* "NAME@plt": jumps to functions of other files; symbols go first */
	struct elf_segment *segments;
	size_t segment_cnt;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_bytes;	/* 0: none */
	char *debuglink;	/* file name in .gnu_debuglink, or NULL */
	uint32_t debuglink_crc;	/* of the file of that name */
	bool is_linked;		/* this is the debug file of one without build-id, by that checksum */
	bool has_full_symbols;	/* from .symtab; else from .dynsym, .gnu_debugdata or none */
	bool has_debug_info;	/* the file has .debug_info */
	bool has_go_table;	/* the file has .gopclntab */
	uint32_t used_turn;	/* for modules: when it was asked last */
	bool is_evicted;	/* the same: it is about to be freed */
	int debug_fd;		/* a file with one of the two, kept open for symbolizer_lines(); -1: none */
};

/*
 * Reads the file behind fd, which stays open and the caller's.  Contents are not trusted:
 * sizes are bounded, and a file that is no ELF program or library is an error.  A file
 * without symbols gives an empty table.
 */
struct elf_table *elf_table_read(int fd, GError **error);
/* The same of an image in memory, which is only read. */
struct elf_table *elf_table_read_memory(const void *image, size_t bytes, GError **error);
void elf_table_free(struct elf_table *t);

/* By build-id; where t has none debug_file_read() found it. */
bool elf_table_is_same_build(const struct elf_table *t, const struct elf_table *debug);
/* Whether `debug` is the separate debug file of t: it has .symtab and is of the same build. */
bool elf_table_is_debug_file(const struct elf_table *t, const struct elf_table *debug);

/* Where a distribution puts the debug file of that build-id, to be freed with g_free(); NULL where there is no id. */
char *elf_debug_path(const char *debug_dir, const uint8_t *build_id, size_t bytes);

/* Takes the symbols of the separate debug file `from` if it is that; then `from` is left without symbols. */
bool elf_table_take_symbols(struct elf_table *t, struct elf_table *from);

/* The name at vaddr and where the function starts; NULL: none. */
const char *elf_table_find(const struct elf_table *t, uint64_t vaddr, uint64_t *ret_start);

/* The ELF virtual address of file offset off; false when no segment holds it. */
bool elf_table_vaddr(const struct elf_table *t, uint64_t off, uint64_t *ret_vaddr);

size_t elf_table_memory_bytes(const struct elf_table *t);

/* A table on its way from the process that parsed the file (base/opener/parser.h). */

/* For parser_start(): what that process answers. */
bool elf_table_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* The table that it made; NULL with a sentence. */
struct elf_table *elf_table_ask(int fd, GError **error);

/* Without names that no function has: a string table is mostly of others. */
void elf_table_write(const struct elf_table *t, GByteArray *into);
/* The bytes are a stranger's: whatever they are, the table is safe to ask.  NULL: they are none. */
struct elf_table *elf_table_from_bytes(const void *bytes, size_t len_bytes);

/* The same of variables; false: there is nothing to clear. */
void data_file_write(const struct data_file *f, GByteArray *into);
bool data_file_from_bytes(const void *bytes, size_t len_bytes, struct data_file *ret);
/* So many segments, into *ret, which is g_free()d; false: they are none. */
struct cursor;
bool elf_segments_take(struct cursor *c, uint64_t cnt, struct elf_segment **ret);

#endif
