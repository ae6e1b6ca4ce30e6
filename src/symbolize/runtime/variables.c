/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/variables.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/elf_file.h"
#include "base/parser.h"
#include "symbolize/elf/table_bytes.h"
#include "symbolize/process/fileopen.h"

#define SYMBOLS_MAX_BYTES (64u << 20)
#define NAMES_MAX 256

/* What is asked of a file; names follow, each with its NUL.  Both ends are one program. */
enum sought { SOUGHT_VARIABLES, SOUGHT_SYMBOLS, SOUGHT_LOCAL, SOUGHT_SECTION };

/* What is answered: then the addresses in the file, 0 where there is none, and its segments. */
struct answer {
	uint64_t cnt, segment_cnt;
	uint64_t module_at;	/* 0: none */
};

/* Functions only where one is sought: there are ten times as many of them. */
static bool is_sought(const GElf_Sym *sym, enum sought sought)
{
	unsigned char type = GELF_ST_TYPE(sym->st_info);

	if (sought == SOUGHT_LOCAL)
		return type == STT_TLS;
	return type == STT_OBJECT || (type == STT_FUNC && sought == SOUGHT_SYMBOLS);
}

/* Of a thread's own variables the address is an offset, and one more than that: 0 is none. */
static void search_symbols(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, enum sought sought,
			   struct variable *variables, size_t cnt)
{
	Elf_Data *data = sh->sh_size <= SYMBOLS_MAX_BYTES ? elf_getdata(scn, NULL) : NULL;
	size_t entry_bytes = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);

	for (int i = 0; data && entry_bytes && (size_t)i < data->d_size / entry_bytes; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym) || !is_sought(&sym, sought) || sym.st_shndx == SHN_UNDEF ||
		    (!sym.st_value && sought != SOUGHT_LOCAL))
			continue;
		name = elf_strptr(file->elf, sh->sh_link, sym.st_name);
		for (size_t k = 0; name && k < cnt; k++)
			if (!variables[k].addr && !strcmp(name, variables[k].name))
				variables[k].addr = sym.st_value + (sought == SOUGHT_LOCAL);
	}
}

static bool is_symbols(const GElf_Shdr *sh)
{
	return (sh->sh_type == SHT_DYNSYM || sh->sh_type == SHT_SYMTAB) && !(sh->sh_flags & SHF_COMPRESSED);
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

/* ---- in the process that parses */

struct search {
	enum sought sought;
	struct variable wanted[NAMES_MAX];
	size_t cnt;
	uint64_t module_at;
};

/* False: all is found. */
static bool search_section(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, struct search *s)
{
	size_t names, left = s->cnt;
	const char *its;

	if (s->sought == SOUGHT_SECTION) {
		its = elf_getshdrstrndx(file->elf, &names) ? NULL : elf_strptr(file->elf, names, sh->sh_name);
		if (its && !strcmp(its, s->wanted[0].name))
			s->wanted[0].addr = sh->sh_addr;
	} else if (is_symbols(sh)) {
		search_symbols(file, scn, sh, s->sought, s->wanted, s->cnt);
	} else if (s->sought == SOUGHT_LOCAL && sh->sh_type == SHT_RELA && file->machine == EM_X86_64 &&
		   !s->module_at) {
		s->module_at = module_number_at(file, scn, sh);
	}
	while (left && s->wanted[left - 1].addr)
		left--;
	return left || s->sought == SOUGHT_LOCAL;
}

static bool understand(const void *question, size_t question_bytes, struct search *s)
{
	struct cursor c = { .at = question, .end = (const uint8_t *)question + question_bytes };

	s->sought = cursor_u8(&c);
	while (cursor_left(&c) && s->cnt < NAMES_MAX) {
		const char *name = (const char *)c.at;
		const uint8_t *end = memchr(c.at, 0, cursor_left(&c));

		if (!end)
			return false;
		s->wanted[s->cnt++].name = name;
		c.at = end + 1;
	}
	return s->cnt;
}

bool variables_parse(int fd, const void *question, size_t question_bytes, GByteArray *into)
{
	struct search s = { 0 };
	struct elf_file file;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	bool is_ours = understand(question, question_bytes, &s) && elf_file_open(&file, fd, NULL);

	if (!is_ours)
		return false;
	is_ours = file.is_64_little && (file.machine == EM_X86_64 || file.machine == EM_AARCH64);
	while (is_ours && (scn = elf_nextscn(file.elf, scn)))
		if (gelf_getshdr(scn, &sh) && !search_section(&file, scn, &sh, &s))
			break;
	const struct answer a = { s.cnt, file.segment_cnt, s.module_at };

	g_byte_array_append(into, (const guint8 *)&a, sizeof(a));
	for (size_t i = 0; i < s.cnt; i++)
		g_byte_array_append(into, (const guint8 *)&s.wanted[i].addr, sizeof(s.wanted[i].addr));
	g_byte_array_append(into, (const guint8 *)file.segments, (guint)(file.segment_cnt * sizeof(*file.segments)));
	elf_file_close(&file);
	return is_ours;
}

/* ---- in the one that asks */

static GByteArray *ask(int fd, enum sought sought, const struct variable *variables, size_t cnt)
{
	g_autoptr(GByteArray) question = g_byte_array_new();
	const guint8 kind = (guint8)sought;

	g_byte_array_append(question, &kind, 1);
	for (size_t i = 0; i < cnt; i++)
		g_byte_array_append(question, (const guint8 *)variables[i].name, (guint)strlen(variables[i].name) + 1);
	return parser_ask_or_do(PARSER_SEARCH, variables_parse, fd, question->data, question->len);
}

/* Addresses in the process of what was found; *ret_module_at may be 0. */
static bool take_answer(const GByteArray *a, const struct maps_line *line, struct variable *variables, size_t cnt,
			uint64_t *ret_bias, uint64_t *ret_module_at)
{
	struct cursor c = cursor_of(a->data, a->len);
	const uint8_t *head = cursor_take(&c, sizeof(struct answer)), *addrs = cursor_take(&c, cnt * sizeof(uint64_t));
	g_autofree struct elf_segment *segments = NULL;
	struct answer answer;
	uint64_t vaddr;

	if (!head || !addrs)
		return false;
	memcpy(&answer, head, sizeof(answer));
	if (answer.cnt != cnt || !elf_segments_take(&c, answer.segment_cnt, &segments) || cursor_left(&c) ||
	    !elf_segments_vaddr(segments, answer.segment_cnt, line->pgoff, &vaddr))
		return false;
	for (size_t i = 0; i < cnt; i++)
		memcpy(&variables[i].addr, addrs + i * sizeof(uint64_t), sizeof(uint64_t));
	*ret_bias = line->start - vaddr;
	*ret_module_at = answer.module_at;
	return true;
}

/* Looks into a mapping's file; false: it is none of ours. */
static bool search_file(const char *proc_dir, uint32_t pid, const struct maps_line *line, enum sought sought,
			struct variable *variables, size_t cnt, uint64_t *ret_bias, uint64_t *ret_module_at)
{
	struct stat st;
	int held = file_hold_line(proc_dir, pid, line, true, &st), fd = held >= 0 ? file_open_held(held) : -1;
	g_autoptr(GByteArray) a = fd >= 0 ? ask(fd, sought, variables, cnt) : NULL;

	if (held >= 0)
		close(held);
	if (fd >= 0)
		close(fd);
	return a && take_answer(a, line, variables, cnt, ret_bias, ret_module_at);
}

static bool find(const char *proc_dir, uint32_t pid, const struct maps_line *line, enum sought sought,
		 struct variable *variables, size_t cnt)
{
	uint64_t bias, unused;

	if (!search_file(proc_dir, pid, line, sought, variables, cnt, &bias, &unused))
		return false;
	for (size_t i = 0; i < cnt; i++)
		if (variables[i].addr)
			variables[i].addr += bias;
	return true;
}

bool variables_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *variables,
		    size_t cnt)
{
	return find(proc_dir, pid, line, SOUGHT_VARIABLES, variables, cnt);
}

bool symbols_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *symbols,
		  size_t cnt)
{
	return find(proc_dir, pid, line, SOUGHT_SYMBOLS, symbols, cnt);
}

bool variables_find_local(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name,
			  struct local_variable *ret)
{
	struct variable wanted = { .name = name };
	uint64_t bias, module_at;

	*ret = (struct local_variable){ 0 };
	if (!search_file(proc_dir, pid, line, SOUGHT_LOCAL, &wanted, 1, &bias, &module_at) || !wanted.addr)
		return false;
	ret->offset = wanted.addr - 1;
	ret->module_at = module_at ? module_at + bias : 0;
	return true;
}

uint64_t variables_find_section(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name)
{
	struct variable wanted = { .name = name };
	uint64_t bias, unused;

	return search_file(proc_dir, pid, line, SOUGHT_SECTION, &wanted, 1, &bias, &unused) && wanted.addr
		       ? wanted.addr + bias
		       : 0;
}
