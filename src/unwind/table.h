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
	uint64_t fde_bad_cnt;	/* damaged, unknown, or outside the text: left out */
	uint64_t fde_overlap_cnt;	/* shortened or left out: another covers their place */
	uint64_t row_raw_cnt;	/* before merging equal neighbours */
	uint64_t complex_cnt;	/* rows of kind UNWIND_CFA_COMPLEX */
	uint64_t gap_cnt;	/* rows of kind UNWIND_CFA_GAP, the one at the end included */
	uint64_t complex_bytes, gap_bytes, text_bytes;	/* of code; the text from the first to the last FDE */
	bool is_cut;	/* the file has more than the limits take: what is beyond is a gap */
};

/* Read-only once built, so threads may share it.  Arrays are as abi/unwind_abi.h says. */
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
 * Compiles the call frame information of the ELF file behind fd, which stays open and the
 * caller's.  Contents are not trusted: time is linear (with a sort) in the section's size,
 * which is bounded.  An error when the file is none of ours or has no call frame information.
 *
 * Where FDEs overlap, the one that starts first holds to its end; of those that start together
 * one of .eh_frame, then the one that comes first in its section.  Up to the architecture's
 * padding between two FDEs belongs to the one before it.
 */
struct unwind_table *unwind_table_build(int fd, GError **error);
/* The same of an image in memory (the vdso), which is only read. */
struct unwind_table *unwind_table_build_memory(const void *image, size_t bytes, GError **error);
/* Of rows that are known, by pc: the first is at 0, the last a gap.  Such a table is of no file. */
struct unwind_table *unwind_table_of_rows(uint64_t base, const struct unwind_row *rows, uint32_t cnt);
void unwind_table_free(struct unwind_table *t);

/* The rule at an ELF virtual address; 0 (no information) outside the table. */
uint32_t unwind_table_find(const struct unwind_table *t, uint64_t vaddr);
/* The row that holds there, NULL outside the table. */
const struct unwind_row *unwind_table_row(const struct unwind_table *t, uint64_t vaddr);

/* A table on its way from the process that compiled it (base/opener/parser.h). */

/* For parser_start(): what that process answers. */
bool unwind_table_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* The table that it made; NULL with a sentence. */
struct unwind_table *unwind_table_ask(int fd, GError **error);

void unwind_table_write(const struct unwind_table *t, GByteArray *into);
/* The bytes are a stranger's: whatever they are, the table is one as unwind/table.h says.  NULL: they are none. */
struct unwind_table *unwind_table_from_bytes(const void *bytes, size_t len_bytes);
/* Its pages, of its rows. */
void unwind_table_index(struct unwind_table *t);

/*
 * What compiling files came to that take long, kept on disk from one recording to the next: the tables of node take 0.7 s of CPU.
 * They are in /var/cache/offcpu, or for who is not root in $XDG_CACHE_HOME/offcpu; OFFCPU_CACHE=off in the environment
 * keeps none.  An entry is of one inode as it was when that last changed (st_ctime), which nobody can forge: of two
 * files with one build-id one may be a stranger's.  All functions may be called by several threads.
 */
#define TABLE_CACHE_NS_MIN 20000000	/* what takes less is compiled again */
#define TABLE_CACHE_BYTES_MAX (128ULL << 20)	/* of all; what was used longest ago goes first */

struct table_cache;

/* NULL where there is to be none, or the folder is not ours alone. */
struct table_cache *table_cache_open(void);
/* The same in that folder, which is made where it is missing, for tables that take so long to compile. */
struct table_cache *table_cache_open_in(const char *folder, uint64_t ns_min);
void table_cache_close(struct table_cache *c);	/* NULL is fine */

/* As unwind_table_build(), which it calls where c, which may be NULL, does not have the table; and then keeps that. */
struct unwind_table *table_cache_build(struct table_cache *c, int fd, GError **error);

#endif
