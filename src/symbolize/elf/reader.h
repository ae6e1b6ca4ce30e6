/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_ELF_READER_H
#define SYMBOLIZE_ELF_READER_H

#include <gelf.h>
#include <libelf.h>

#include "base/elf_file.h"
#include "symbolize/elf/table.h"

/*
 * What the parts of the ELF reader know of a file while it is open. Private to this layer; results are in struct
 * elf_table.
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
	Elf_Scn *plt_relocations;	/* .rela.plt, also in `relocations` */
};

/* The entries of a symbol table. NULL: none, or too many. */
Elf_Data *elf_reader_symbols(const struct elf_reader *r, Elf_Scn *scn);
/* The names of a symbol table as raw bytes, possibly without a terminator. NULL: none, or too large. */
Elf_Data *elf_reader_names(const struct elf_reader *r, const GElf_Shdr *symbols);

/* Adds the functions of Go's table to the candidates and names. False: the file has no such table. */
bool elf_go_names(const struct elf_file *file, GArray *raw, char **names, size_t *names_bytes);

/* Fills table->plt; table->symbols is needed for the names of IFUNCs. */
void elf_plt_read(struct elf_reader *r);

/*
 * Unpacks an xz stream. NULL: damaged, needs too much memory, or larger than ELF_DEBUGDATA_MAX_BYTES. Free with
 * g_free().
 */
#define ELF_DEBUGDATA_MAX_BYTES ((size_t)64 << 20)
void *elf_debugdata_unpack(const void *xz, size_t bytes, size_t *ret_bytes);

/*
 * The extent of functions whose symbol has no size, as in assembly. With all symbols present, they end at the next
 * one. A stripped file has only exported symbols, and the code between belongs to unknown functions: in musl, the
 * code where all threads wait follows memset(). There the code itself is decoded: the function extends to an
 * instruction that control never passes, and no earlier conditional jump leads beyond.
 */

/* Limit for a file: no library has more of it, a hostile one may. */
#define UNSIZED_CODE_MAX_BYTES ((size_t)4 << 20)

/* In bytes; 0: unknown but for the address itself, as on all but x86-64. Decoded bytes are taken from the budget. */
uint64_t elf_unsized_reach(const struct elf_reader *r, const GElf_Sym *sym, size_t *budget_bytes);

#endif
