/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/variables.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "symbolize/process/fileopen.h"

#define SYMBOLS_MAX_BYTES (64u << 20)

/* Whoever wants a function by its name gets it as a variable. */
static bool is_of_type(const GElf_Sym *sym, unsigned char type)
{
	unsigned char its = GELF_ST_TYPE(sym->st_info);

	return its == type || (type == STT_OBJECT && its == STT_FUNC);
}

/* Of a thread's own variables the address is an offset, and one more than that: 0 is none. */
static void search_symbols(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, unsigned char type,
			   struct variable *variables, size_t cnt)
{
	Elf_Data *data = sh->sh_size <= SYMBOLS_MAX_BYTES ? elf_getdata(scn, NULL) : NULL;
	size_t entry_bytes = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);

	for (int i = 0; data && entry_bytes && (size_t)i < data->d_size / entry_bytes; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym) || !is_of_type(&sym, type) || sym.st_shndx == SHN_UNDEF ||
		    (!sym.st_value && type == STT_OBJECT))
			continue;
		name = elf_strptr(file->elf, sh->sh_link, sym.st_name);
		for (size_t k = 0; name && k < cnt; k++)
			if (!variables[k].addr && !strcmp(name, variables[k].name))
				variables[k].addr = sym.st_value + (type == STT_TLS);
	}
}

/* The file of a mapping, if it is one of ours; false: nothing is open. */
static bool open_file(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct elf_file *ret,
		      int *ret_fd, uint64_t *ret_bias)
{
	struct stat st;
	int held = file_hold_line(proc_dir, pid, line, true, &st), fd = held >= 0 ? file_open_held(held) : -1;
	uint64_t vaddr;

	if (held >= 0)
		close(held);
	if (fd < 0)
		return false;
	if (elf_file_open(ret, fd, NULL) && ret->is_64_little &&
	    (ret->machine == EM_X86_64 || ret->machine == EM_AARCH64) &&
	    elf_segments_vaddr(ret->segments, ret->segment_cnt, line->pgoff, &vaddr)) {
		*ret_bias = line->start - vaddr;
		*ret_fd = fd;
		return true;
	}
	elf_file_close(ret);
	close(fd);
	return false;
}

static bool is_symbols(const GElf_Shdr *sh)
{
	return (sh->sh_type == SHT_DYNSYM || sh->sh_type == SHT_SYMTAB) && !(sh->sh_flags & SHF_COMPRESSED);
}

/* Looks into one section; false: enough. */
typedef bool (*section_fn)(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, void *ctx);

/* Looks through the sections of a mapping's file; false: it is none of ours. */
static bool search_file(const char *proc_dir, uint32_t pid, const struct maps_line *line, section_fn fn, void *ctx,
			uint64_t *ret_bias)
{
	struct elf_file file;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int fd;

	if (!open_file(proc_dir, pid, line, &file, &fd, ret_bias))
		return false;
	while ((scn = elf_nextscn(file.elf, scn)))
		if (gelf_getshdr(scn, &sh) && !fn(&file, scn, &sh, ctx))
			break;
	elf_file_close(&file);
	close(fd);
	return true;
}

struct variables {
	struct variable *variables;
	size_t cnt;
};

static bool find_variables(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, void *ctx)
{
	const struct variables *v = ctx;
	size_t left = v->cnt;

	if (is_symbols(sh))
		search_symbols(file, scn, sh, STT_OBJECT, v->variables, v->cnt);
	while (left && v->variables[left - 1].addr)
		left--;
	return left;
}

bool variables_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *variables,
		    size_t cnt)
{
	struct variables v = { variables, cnt };
	uint64_t bias;

	if (!search_file(proc_dir, pid, line, find_variables, &v, &bias))
		return false;
	for (size_t i = 0; i < cnt; i++)
		if (variables[i].addr)
			variables[i].addr += bias;
	return true;
}

/* Where the dynamic linker puts the number of this file's module; 0: nowhere. */
static uint64_t module_number_at(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = sh->sh_size <= SYMBOLS_MAX_BYTES ? elf_getdata(scn, NULL) : NULL;
	size_t entry_bytes = gelf_fsize(file->elf, ELF_T_RELA, 1, EV_CURRENT);
	GElf_Rela rela;

	for (int i = 0; data && entry_bytes && (size_t)i < data->d_size / entry_bytes; i++)
		if (gelf_getrela(data, i, &rela) && GELF_R_TYPE(rela.r_info) == R_X86_64_DTPMOD64 &&
		    !GELF_R_SYM(rela.r_info))
			return rela.r_offset;
	return 0;
}

struct local {
	struct variable wanted;
	uint64_t module_at;
};

static bool find_local(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, void *ctx)
{
	struct local *l = ctx;

	if (is_symbols(sh))
		search_symbols(file, scn, sh, STT_TLS, &l->wanted, 1);
	else if (sh->sh_type == SHT_RELA && file->machine == EM_X86_64 && !l->module_at)
		l->module_at = module_number_at(file, scn, sh);
	return true;
}

bool variables_find_local(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name,
			  struct local_variable *ret)
{
	struct local l = { .wanted = { .name = name } };
	uint64_t bias;

	*ret = (struct local_variable){ 0 };
	if (!search_file(proc_dir, pid, line, find_local, &l, &bias) || !l.wanted.addr)
		return false;
	ret->offset = l.wanted.addr - 1;
	ret->module_at = l.module_at ? l.module_at + bias : 0;
	return true;
}

struct section {
	const char *name;
	uint64_t addr;
};

static bool find_section(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, void *ctx)
{
	struct section *s = ctx;
	size_t names;
	const char *its = elf_getshdrstrndx(file->elf, &names) ? NULL : elf_strptr(file->elf, names, sh->sh_name);

	(void)scn;
	if (its && !strcmp(its, s->name))
		s->addr = sh->sh_addr;
	return !s->addr;
}

uint64_t variables_find_section(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name)
{
	struct section s = { .name = name };
	uint64_t bias;

	return search_file(proc_dir, pid, line, find_section, &s, &bias) && s.addr ? s.addr + bias : 0;
}
