/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_ELF_FILE_H
#define BASE_ELF_FILE_H

#include <gelf.h>
#include <glib.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An open ELF program or library: the common base of all readers of such files. Its contents are not trusted; whatever
 * is taken from here is checked for bounds.
 */

/* A loaded part of the file: file bytes [off, off + size) lie at vaddr. */
struct elf_segment {
	uint64_t off, size, vaddr;
	uint64_t mem_bytes;	/* at vaddr, including what is not in the file */
	bool is_exec;
};

struct elf_file {
	Elf *elf;
	uint16_t machine;	/* EM_* */
	bool is_64_little;	/* 64 bits, little-endian */
	struct elf_segment *segments;	/* PT_LOAD, in the file's order */
	size_t segment_cnt;
	/* private to elf_file.c */
	Elf_Data *names;
	char *image;
};

/* The file behind fd, which stays open and owned by the caller. False if it is no program or library. */
bool elf_file_open(struct elf_file *f, int fd, GError **error);
/* Also accepts dwz's output: relocatable files that contain only debug information. */
bool elf_file_open_debug(struct elf_file *f, int fd, GError **error);
/* Like elf_file_open(), for an image in memory, which is copied. */
bool elf_file_open_memory(struct elf_file *f, const void *image, size_t bytes, GError **error);
/* The same for an image from g_malloc(), which f owns in any case. */
bool elf_file_open_taken(struct elf_file *f, void *image, size_t bytes, GError **error);
/* A compiler's output in memory, which is not copied and must outlive f. */
bool elf_file_open_object(struct elf_file *f, const void *image, size_t bytes, GError **error);
void elf_file_close(struct elf_file *f);	/* also after a failure to open */

/* NULL when it has no name, or a damaged one. */
const char *elf_file_section_name(const struct elf_file *f, const GElf_Shdr *sh);
Elf_Scn *elf_file_section_named(const struct elf_file *f, const char *name);
/* The first program header of that type. */
bool elf_file_phdr(const struct elf_file *f, uint32_t type, GElf_Phdr *ret);

/* The virtual address of a mapped file offset, before relocation. */
bool elf_segments_vaddr(const struct elf_segment *segments, size_t cnt, uint64_t off, uint64_t *ret_vaddr);
/*
 * The same for the start of an executable mapping, of which `nth` others of the file with this offset lie before it: a
 * linker may put several executable segments into one page of the file (lld, a section with an address of its own).
 */
bool elf_segments_mapping_vaddr(const struct elf_segment *segments, size_t cnt, uint64_t off, size_t nth,
				uint64_t *ret_vaddr);

#endif
