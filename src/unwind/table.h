/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind_abi.h"
#include "base/elf_file.h"
#include "unwind/arch.h"

struct unwind_table_stats {
	uint64_t fde_cnt;
	uint64_t fde_bad_cnt;	/* damaged, unknown, or outside the text: skipped */
	uint64_t fde_overlap_cnt;	/* shortened or skipped: another one covers their place */
	uint64_t row_raw_cnt;	/* before merging equal neighbours */
	uint64_t complex_cnt;	/* rows of kind UNWIND_CFA_COMPLEX */
	uint64_t gap_cnt;	/* rows of kind UNWIND_CFA_GAP, including the one at the end */
	uint64_t complex_bytes, gap_bytes, text_bytes;	/* of code; the text from the first to the last FDE */
	bool is_cut;	/* the file exceeds the limits: the rest is a gap */
};

/* Read-only once built, so threads may share it. Arrays are as in abi/unwind_abi.h. */
struct unwind_table {
	uint64_t base;	/* lowest virtual address of the text */
	struct unwind_row *rows;
	uint32_t row_cnt;	/* the first is at pc 0, the last a gap */
	uint32_t *index;
	uint32_t page_cnt;	/* index has one more entry */
	const struct unwind_arch *arch;
	struct elf_segment *segments;	/* of the file, for elf_segments_vaddr() */
	size_t segment_cnt;
	struct unwind_table_stats stats;
};

/*
 * Compiles the call frame information of the ELF file behind fd, which stays open and owned by the caller. Contents
 * are not trusted: time is linear (plus a sort) in the section's size, which is limited. An error if the file is of
 * another kind or has no call frame information.
 *
 * Where FDEs overlap, the one that starts first applies to its end; with equal starts one of .eh_frame, then the first
 * in its section. Up to the architecture's padding between two FDEs belongs to the earlier one.
 */
struct unwind_table *unwind_table_build(int fd, GError **error);
/* The same for an image in memory (the vdso), which is only read. */
struct unwind_table *unwind_table_build_memory(const void *image, size_t bytes, GError **error);
/* From known rows, by pc: the first is at 0, the last a gap. Such a table belongs to no file. */
struct unwind_table *unwind_table_of_rows(uint64_t base, const struct unwind_row *rows, uint32_t cnt);
void unwind_table_free(struct unwind_table *t);

/* The rule at an ELF virtual address; 0 (no information) outside the table. */
uint32_t unwind_table_find(const struct unwind_table *t, uint64_t vaddr);
/* The row for that address, NULL outside the table. */
const struct unwind_row *unwind_table_row(const struct unwind_table *t, uint64_t vaddr);

/* Passing a table from the process that compiled it (base/opener/parser.h). */

/* For parser_start(): runs in that process. */
bool unwind_table_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* The resulting table; NULL with a sentence. */
struct unwind_table *unwind_table_ask(int fd, GError **error);

void unwind_table_write(const struct unwind_table *t, GByteArray *into);
/* The bytes are not trusted: any result is a valid table as in unwind/table.h. NULL: invalid. */
struct unwind_table *unwind_table_from_bytes(const void *bytes, size_t len_bytes);
/* Builds the page index from the rows. */
void unwind_table_index(struct unwind_table *t);

/*
 * Cache on disk for tables that take long to compile, kept between recordings: those of node take 0.7 s of CPU. It is
 * in /var/cache/offcpu, for users other than root in $XDG_CACHE_HOME/offcpu; OFFCPU_CACHE=off in the environment
 * disables it. An entry belongs to one inode and its time of change (st_ctime), which nobody can forge: of two files
 * with one build-id one may be a stranger's. All functions may be called by several threads.
 */
#define TABLE_CACHE_NS_MIN 20000000	/* faster ones are compiled again */
#define TABLE_CACHE_BYTES_MAX (128ULL << 20)	/* of all; the least recently used ones go first */

struct table_cache;

/* NULL if it is disabled, or the folder is not ours alone. */
struct table_cache *table_cache_open(void);
/* The same in that folder, created if needed, for tables that take at least ns_min. */
struct table_cache *table_cache_open_in(const char *folder, uint64_t ns_min);
void table_cache_close(struct table_cache *c);	/* NULL is fine */

/* Like unwind_table_build(), which it calls if c, which may be NULL, lacks the table; then it adds it. */
struct unwind_table *table_cache_build(struct table_cache *c, int fd, GError **error);

#endif
