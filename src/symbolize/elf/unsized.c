/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/reader.h"

#include "base/insn_x86.h"

#define FUNCTION_MAX_BYTES 4096U
#define PIECE_MIN_BYTES 64U	/* minimum charge, since libelf keeps at least this much */

static bool is_conditional(const struct insn *i)
{
	return i->kind == INSN_JUMP && (i->is_two_byte || (i->opcode >= 0x70 && i->opcode <= 0x7f));
}

/* Control does not continue after it: ret, jmp, hlt, ud2. */
static bool is_end(const struct insn *i)
{
	unsigned group = i->modrm >> 3 & 7;

	if (i->is_vex)
		return false;
	if (i->is_two_byte)
		return i->opcode == 0x0b;
	return i->opcode == 0xc2 || i->opcode == 0xc3 || i->opcode == 0xe9 || i->opcode == 0xeb || i->opcode == 0xf4 ||
	       (i->opcode == 0xff && (group == 4 || group == 5));
}

static size_t reach_of(const uint8_t *code, size_t len)
{
	size_t furthest = 0, at = 0;

	while (at < len) {
		struct insn i;
		size_t n = insn_decode(code + at, len - at, &i);

		if (!n)
			return at;
		at += n;
		if (is_conditional(&i) && i.imm > 0 && (uint64_t)i.imm < len - at)
			furthest = MAX(furthest, at + (size_t)i.imm);
		if (is_end(&i) && at > furthest)
			return at;
	}
	return len;
}

uint64_t elf_unsized_reach(const struct elf_reader *r, const GElf_Sym *sym, size_t *budget_bytes)
{
	Elf_Scn *scn = elf_getscn(r->elf, sym->st_shndx);
	uint64_t at = sym->st_value - r->sections[sym->st_shndx].addr;
	Elf_Data *code;
	GElf_Shdr sh;
	size_t len;

	if (!scn || r->machine != EM_X86_64 || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
	    at >= sh.sh_size)
		return 0;
	len = MIN(MIN(sh.sh_size - at, FUNCTION_MAX_BYTES), *budget_bytes);
	/* a part of the section, which may be large */
	code = len ? elf_getdata_rawchunk(r->elf, (int64_t)(sh.sh_offset + at), len, ELF_T_BYTE) : NULL;
	*budget_bytes -= MIN(*budget_bytes, MAX(len, PIECE_MIN_BYTES));
	return code && code->d_buf ? reach_of(code->d_buf, MIN(code->d_size, len)) : 0;
}
