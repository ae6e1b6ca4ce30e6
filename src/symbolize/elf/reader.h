/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_ELF_READER_H
#define SYMBOLIZE_ELF_READER_H

#include <gelf.h>
#include <libelf.h>

#include "base/elf_file.h"
#include "symbolize/elf/table.h"

/*
 * What the parts of the ELF reader know of a file while it is open.  Inside this layer only;
 * what others need is in struct elf_table.
 */
#define ELF_PLTS_MAX 4
#define ELF_RELOCATIONS_MAX 8

struct elf_section {
	uint64_t addr, end;
	bool is_exec;
};

struct elf_reader {
	const struct elf_file *file;
	Elf *elf;
	struct elf_table *table;
	uint16_t machine;
	struct elf_section *sections;
	size_t section_cnt;
	Elf_Scn *symtab, *dynsym, *versions, *debugdata;
	size_t note_bytes;		/* read so far */
	Elf_Scn *plts[ELF_PLTS_MAX];	/* .plt, .plt.sec, .plt.got */
	size_t plt_cnt;
	Elf_Scn *relocations[ELF_RELOCATIONS_MAX];	/* of the loaded program */
	size_t relocation_cnt;
	Elf_Scn *plt_relocations;	/* .rela.plt, also one of relocations */
};

/* The entries of a symbol table; NULL: none, or too many. */
Elf_Data *elf_reader_symbols(const struct elf_reader *r, Elf_Scn *scn);
/* The names of a symbol table, as bytes of the file (no 0 byte is sure); NULL: none, or too large. */
Elf_Data *elf_reader_names(const struct elf_reader *r, const GElf_Shdr *symbols);

/*
 * Adds the functions of Go's own table to the candidates and their names.  False where the file has none.
 */
bool elf_go_names(const struct elf_file *file, GArray *raw, char **names, size_t *names_bytes);

/* Fills table->plt; table->symbols names the functions that are found at run time (IFUNC). */
void elf_plt_read(struct elf_reader *r);

/*
 * Unpacks an xz stream; NULL when it is damaged, needs too much memory or gives more than
 * ELF_DEBUGDATA_MAX_BYTES.  Free with g_free.
 */
#define ELF_DEBUGDATA_MAX_BYTES ((size_t)64 << 20)
void *elf_debugdata_unpack(const void *xz, size_t bytes, size_t *ret_bytes);

/*
 * How far a function reaches whose symbol has no size, as those written in assembly.  Where all symbols are there it
 * ends at the next one at the latest.  A stripped file has only the exported ones, and what lies between them may be
 * anybody's: in musl the place where all threads wait follows memset().  There only the function's own code tells: it
 * goes on until an instruction that leads nowhere else, and which no conditional jump before it leads past.
 */

/* So much code of one file is looked at: no library has more of it, a hostile one may. */
#define UNSIZED_CODE_MAX_BYTES ((size_t)4 << 20)

/* In bytes; 0: not known but for the address itself, as on all but x86-64.  What was looked at leaves the budget. */
uint64_t elf_unsized_reach(const struct elf_reader *r, const GElf_Sym *sym, size_t *budget_bytes);

#endif
