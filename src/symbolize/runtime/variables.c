/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/variables.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "symbolize/process/fileopen.h"

#define SYMBOLS_MAX_BYTES (64u << 20)

static void search_symbols(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, struct variable *variables, size_t cnt)
{
	Elf_Data *data = sh->sh_size <= SYMBOLS_MAX_BYTES ? elf_getdata(scn, NULL) : NULL;
	size_t entry_bytes = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);

	for (int i = 0; data && entry_bytes && (size_t)i < data->d_size / entry_bytes; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || !sym.st_value)
			continue;
		name = elf_strptr(file->elf, sh->sh_link, sym.st_name);
		for (size_t k = 0; name && k < cnt; k++)
			if (!variables[k].addr && !strcmp(name, variables[k].name))
				variables[k].addr = sym.st_value;
	}
}

bool variables_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *variables, size_t cnt)
{
	struct stat st;
	int held = file_hold_line(proc_dir, pid, line, true, &st), fd = held >= 0 ? file_open_held(held) : -1;
	struct elf_file file;
	Elf_Scn *scn = NULL;
	uint64_t vaddr;
	GElf_Shdr sh;
	bool ok;

	if (held >= 0)
		close(held);
	if (fd < 0)
		return false;
	ok = elf_file_open(&file, fd, NULL) && file.is_64_little && (file.machine == EM_X86_64 || file.machine == EM_AARCH64) &&
	     elf_segments_vaddr(file.segments, file.segment_cnt, line->pgoff, &vaddr);
	while (ok && (scn = elf_nextscn(file.elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_DYNSYM || sh.sh_type == SHT_SYMTAB) &&
		    !(sh.sh_flags & SHF_COMPRESSED))
			search_symbols(&file, scn, &sh, variables, cnt);
	for (size_t i = 0; ok && i < cnt; i++)
		if (variables[i].addr)
			variables[i].addr += line->start - vaddr;
	elf_file_close(&file);
	close(fd);
	return ok;
}
