/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_ELF_TABLE_H
#define SYMBOLIZE_ELF_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "symbolize/elf/symtab.h"

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

#endif
