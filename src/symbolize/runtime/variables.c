/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/variables.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/elf_file.h"
#include "base/opener/parser.h"
#include "symbolize/elf/table.h"
#include "symbolize/process/fileopen.h"

#define SYMBOLS_MAX_BYTES (64u << 20)
#define NAMES_MAX 256

/* The question about a file; NUL-terminated names follow. Both processes run the same build. */
enum sought { SOUGHT_VARIABLES, SOUGHT_SYMBOLS, SOUGHT_LOCAL, SOUGHT_SECTION };

/* The answer: followed by file addresses, 0 for missing ones, and segments. */
struct answer {
	uint64_t cnt, segment_cnt;
	struct local_variable local;	/* contains addresses in the file */
};

/* Checks functions only if one is sought, because there are ten times as many. */
static bool is_sought(const GElf_Sym *sym, enum sought sought)
{
	unsigned char type = GELF_ST_TYPE(sym->st_info);

	if (sought == SOUGHT_LOCAL)
		return type == STT_TLS;
	return type == STT_OBJECT || (type == STT_FUNC && sought == SOUGHT_SYMBOLS);
}

/* For thread-local variables the address is the offset + 1, as 0 means none. */
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

/* ---- in the parser process */

struct search {
	enum sought sought;
	struct variable wanted[NAMES_MAX];
	size_t cnt;
	struct local_variable local;
};

/* False: everything was found. */
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
	}
	while (left && s->wanted[left - 1].addr)
		left--;
	return left || s->sought == SOUGHT_LOCAL;
}

/* Relocation types of thread-local variables (psABIs of x86-64 and AArch64). */
struct local_types {
	uint32_t module, offset, descriptor;
};

static struct local_types local_types(const struct elf_file *file)
{
	if (file->machine == EM_X86_64)
		return (struct local_types){ R_X86_64_DTPMOD64, R_X86_64_TPOFF64, R_X86_64_TLSDESC };
	return (struct local_types){ R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_TPREL, R_AARCH64_TLSDESC };
}

static bool is_symbol_named(const struct elf_file *file, Elf_Data *symbols, size_t names, uint32_t nr, const char *name)
{
	const char *its;
	GElf_Sym sym;

	if (!nr || !symbols || !gelf_getsym(symbols, (int)nr, &sym))
		return false;
	its = elf_strptr(file->elf, names, sym.st_name);
	return its && !strcmp(its, name);
}

/* Finds where the dynamic linker puts what leads to the variable. */
static void search_relocations(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, struct search *s)
{
	Elf_Data *data = sh->sh_size <= SYMBOLS_MAX_BYTES ? elf_getdata(scn, NULL) : NULL;
	Elf_Scn *symbols_scn = elf_getscn(file->elf, sh->sh_link);
	Elf_Data *symbols = symbols_scn ? elf_getdata(symbols_scn, NULL) : NULL;
	size_t entry_bytes = gelf_fsize(file->elf, ELF_T_RELA, 1, EV_CURRENT);
	const struct local_types types = local_types(file);
	GElf_Shdr symbols_sh;
	GElf_Rela rela;

	if (!symbols || !gelf_getshdr(symbols_scn, &symbols_sh) || symbols_sh.sh_type != SHT_DYNSYM)
		return;
	for (int i = 0; data && entry_bytes && (size_t)i < data->d_size / entry_bytes; i++) {
		if (!gelf_getrela(data, i, &rela))
			continue;
		uint32_t type = GELF_R_TYPE(rela.r_info), nr = GELF_R_SYM(rela.r_info);
		bool is_named = is_symbol_named(file, symbols, symbols_sh.sh_link, nr, s->wanted[0].name);
		/* or without a name by the offset, which is unique in this file */
		bool is_it = is_named || (!nr && (uint64_t)rela.r_addend + 1 == s->wanted[0].addr);

		if (type == types.module && (is_named || !nr) && !s->local.module_at)
			s->local.module_at = rela.r_offset;
		else if (type == types.offset && is_it)
			s->local.offset_at = rela.r_offset;
		else if (type == types.descriptor && is_it)
			s->local.descriptor_at = rela.r_offset;
	}
}

#ifndef DF_1_PIE
#define DF_1_PIE 0x08000000
#endif

static bool is_program(const struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	GElf_Ehdr head;
	GElf_Shdr sh;
	GElf_Dyn dyn;

	if (!gelf_getehdr(file->elf, &head) || head.e_type == ET_EXEC)
		return head.e_type == ET_EXEC;
	while ((scn = elf_nextscn(file->elf, scn))) {
		Elf_Data *data = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNAMIC ? elf_getdata(scn, NULL) : NULL;

		for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
			if (dyn.d_tag == DT_FLAGS_1)
				return dyn.d_un.d_val & DF_1_PIE;
	}
	return false;
}

#define THREAD_HEAD_BYTES 16	/* AArch64: thread control block before a program's TLS block (TLS variant I) */

/* A program's own block has a fixed offset from the thread pointer. */
static void place_beside_thread(const struct elf_file *file, struct search *s)
{
	uint64_t align, bytes;
	GElf_Phdr ph;

	if (!is_program(file) || !elf_file_phdr(file, PT_TLS, &ph))
		return;
	align = ph.p_align ? ph.p_align : 1;
	if (align & (align - 1) || align > 1 << 20 || ph.p_memsz > UINT32_MAX)
		return;
	bytes = file->machine == EM_X86_64 ? ph.p_memsz : THREAD_HEAD_BYTES;
	bytes = (bytes + align - 1) & ~(align - 1);
	s->local.has_thread_offset = true;
	s->local.thread_offset = (int64_t)(s->wanted[0].addr - 1) + (file->machine == EM_X86_64 ? -(int64_t)bytes
											      : (int64_t)bytes);
}

static void place_local(const struct elf_file *file, struct search *s)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (!s->wanted[0].addr)
		return;
	s->local.offset = s->wanted[0].addr - 1;
	place_beside_thread(file, s);
	while ((scn = elf_nextscn(file->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && !(sh.sh_flags & SHF_COMPRESSED))
			search_relocations(file, scn, &sh, s);
}

static bool parse_question(const void *question, size_t question_bytes, struct search *s)
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
	bool is_ours = parse_question(question, question_bytes, &s) && elf_file_open(&file, fd, NULL);

	if (!is_ours)
		return false;
	is_ours = file.is_64_little && (file.machine == EM_X86_64 || file.machine == EM_AARCH64);
	while (is_ours && (scn = elf_nextscn(file.elf, scn)))
		if (gelf_getshdr(scn, &sh) && !search_section(&file, scn, &sh, &s))
			break;
	if (is_ours && s.sought == SOUGHT_LOCAL)
		place_local(&file, &s);
	const struct answer a = { s.cnt, file.segment_cnt, s.local };

	g_byte_array_append(into, (const guint8 *)&a, sizeof(a));
	for (size_t i = 0; i < s.cnt; i++)
		g_byte_array_append(into, (const guint8 *)&s.wanted[i].addr, sizeof(s.wanted[i].addr));
	g_byte_array_append(into, (const guint8 *)file.segments, (guint)(file.segment_cnt * sizeof(*file.segments)));
	elf_file_close(&file);
	return is_ours;
}

/* ---- in the asking process */

static GByteArray *ask_parser(int fd, enum sought sought, const struct variable *variables, size_t cnt)
{
	g_autoptr(GByteArray) question = g_byte_array_new();
	const guint8 kind = (guint8)sought;

	g_byte_array_append(question, &kind, 1);
	for (size_t i = 0; i < cnt; i++)
		g_byte_array_append(question, (const guint8 *)variables[i].name, (guint)strlen(variables[i].name) + 1);
	return parser_ask_or_do(PARSER_SEARCH, variables_parse, fd, question->data, question->len);
}

static bool take_answer(const GByteArray *a, const struct maps_line *line, struct variable *variables, size_t cnt,
			uint64_t *ret_bias, struct local_variable *ret_local)
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
	*ret_local = answer.local;
	return true;
}

/* Searches a mapping's file. False: not a file. */
static bool search_file(const char *proc_dir, uint32_t pid, const struct maps_line *line, enum sought sought,
			struct variable *variables, size_t cnt, uint64_t *ret_bias,
			struct local_variable *ret_local)
{
	int fd = file_open_line(proc_dir, pid, line);
	g_autoptr(GByteArray) a = fd >= 0 ? ask_parser(fd, sought, variables, cnt) : NULL;

	if (fd >= 0)
		close(fd);
	return a && take_answer(a, line, variables, cnt, ret_bias, ret_local);
}

static bool find_symbols(const char *proc_dir, uint32_t pid, const struct maps_line *line, enum sought sought,
			 struct variable *variables, size_t cnt)
{
	struct local_variable unused;
	uint64_t bias;

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
	return find_symbols(proc_dir, pid, line, SOUGHT_VARIABLES, variables, cnt);
}

bool symbols_find(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct variable *symbols,
		  size_t cnt)
{
	return find_symbols(proc_dir, pid, line, SOUGHT_SYMBOLS, symbols, cnt);
}

bool variables_find_local(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name,
			  struct local_variable *ret)
{
	struct variable wanted = { .name = name };
	struct local_variable found;
	uint64_t bias;

	*ret = (struct local_variable){ 0 };
	if (!search_file(proc_dir, pid, line, SOUGHT_LOCAL, &wanted, 1, &bias, &found) || !wanted.addr)
		return false;
	*ret = found;
	ret->module_at += found.module_at ? bias : 0;
	ret->offset_at += found.offset_at ? bias : 0;
	ret->descriptor_at += found.descriptor_at ? bias : 0;
	return true;
}

uint64_t variables_find_section(const char *proc_dir, uint32_t pid, const struct maps_line *line, const char *name)
{
	struct variable wanted = { .name = name };
	struct local_variable unused;
	uint64_t bias;

	return search_file(proc_dir, pid, line, SOUGHT_SECTION, &wanted, 1, &bias, &unused) && wanted.addr
		       ? wanted.addr + bias
		       : 0;
}
