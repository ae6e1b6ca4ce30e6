/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_ELF_UNSIZED_H
#define SYMBOLIZE_ELF_UNSIZED_H

#include "symbolize/elf/reader.h"

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
