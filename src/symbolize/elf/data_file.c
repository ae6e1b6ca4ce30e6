/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <string.h>
#include <unistd.h>

#include "base/opener/parser.h"
#include "symbolize/elf/functions.h"
#include "symbolize/elf/reader.h"
#include "symbolize/elf/table.h"
#include "symbolize/process/fileopen.h"

#define SECTIONS_MAX 65536

/* Is it a section in memory without code? */
static bool holds_data(const struct elf_file *f, uint32_t index, GElf_Shdr *ret)
{
	Elf_Scn *scn = index && index < SECTIONS_MAX ? elf_getscn(f->elf, index) : NULL;

	return scn && gelf_getshdr(scn, ret) && (ret->sh_flags & SHF_ALLOC) &&
	       !(ret->sh_flags & (SHF_EXECINSTR | SHF_TLS));
}

/* Makes a variable of a symbol. False: not a variable, or outside of its section. */
static bool variable(const struct elf_file *f, const GElf_Sym *sym, const char *names, size_t names_bytes,
		     struct symtab_raw *ret)
{
	unsigned bind = GELF_ST_BIND(sym->st_info);
	GElf_Shdr in;

	if (GELF_ST_TYPE(sym->st_info) != STT_OBJECT || !sym->st_size || sym->st_name >= names_bytes ||
	    !names[sym->st_name] || !holds_data(f, sym->st_shndx, &in) || sym->st_value < in.sh_addr ||
	    sym->st_value - in.sh_addr >= in.sh_size)
		return false;
	*ret = (struct symtab_raw){
		.addr = sym->st_value, .name = (uint32_t)sym->st_name, .sized = true,
		.end = sym->st_value + MIN(sym->st_size, in.sh_size - (sym->st_value - in.sh_addr)),
		.rank = (uint8_t)((bind == STB_LOCAL ? SYMTAB_LOCAL : SYMTAB_GLOBAL) +
				  symtab_underscores(names + sym->st_name) * 2 + (bind == STB_WEAK)),
	};
	return true;
}

static bool read_table(const struct elf_file *f, Elf_Scn *scn, struct symtab *ret)
{
	const struct elf_reader r = { .file = f, .elf = f->elf };
	Elf_Data *data = elf_reader_symbols(&r, scn), *strings;
	size_t entry_bytes = gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT), names_bytes;
	GElf_Shdr sh;

	if (!data || !gelf_getshdr(scn, &sh) || !(strings = elf_reader_names(&r, &sh)))
		return false;
	g_autoptr(GArray) raw = g_array_new(FALSE, FALSE, sizeof(struct symtab_raw));
	char *names = g_malloc(strings->d_size + 1);

	names_bytes = strings->d_size + 1;
	memcpy(names, strings->d_buf, strings->d_size);
	names[strings->d_size] = '\0';
	for (size_t i = 1; i < data->d_size / entry_bytes; i++) {
		struct symtab_raw one;
		GElf_Sym sym;

		if (gelf_getsym(data, (int)i, &sym) && variable(f, &sym, names, names_bytes, &one))
			g_array_append_val(raw, one);
	}
	symtab_build(ret, raw, names, names_bytes);
	return true;
}

static void read_variables(const struct elf_file *f, struct data_file *ret)
{
	Elf_Scn *scn = NULL, *symtab = NULL, *dynsym = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_SYMTAB && !symtab)
			symtab = scn;
		else if (sh.sh_type == SHT_DYNSYM && !dynsym)
			dynsym = scn;
	}
	ret->has_all = symtab && read_table(f, symtab, &ret->variables);
	if (!ret->has_all && dynsym)
		read_table(f, dynsym, &ret->variables);
}

static bool read_here(int fd, struct data_file *ret)
{
	struct elf_file f;
	bool ok = elf_file_open(&f, fd, NULL);

	if (ok) {
		read_variables(&f, ret);
		ret->segments = g_steal_pointer(&f.segments);
		ret->segment_cnt = f.segment_cnt;
	}
	elf_file_close(&f);
	return ok;
}

bool data_file_parse(int fd, const void *question, size_t question_bytes, GByteArray *into)
{
	struct data_file f = { 0 };
	bool ok = read_here(fd, &f);

	if (ok)
		data_file_write(&f, into);
	data_file_clear(&f);
	return ok;
}

static bool ask_parser(int fd, struct data_file *ret)
{
	g_autoptr(GByteArray) a = parser_ask(PARSER_DATA, fd, NULL, 0);

	return a && data_file_from_bytes(a->data, a->len, ret);
}

bool data_file_read(int fd, struct data_file *ret)
{
	memset(ret, 0, sizeof(*ret));
	return parser_is_apart() ? ask_parser(fd, ret) : read_here(fd, ret);
}

static bool take_debug(struct data_file *f, const struct elf_table *own, const char *path)
{
	int fd = file_open_here(path);
	struct elf_table *theirs = fd >= 0 ? debug_file_read(own, fd) : NULL;
	struct data_file debug = { 0 };

	if (theirs && data_file_read(fd, &debug) && debug.has_all) {
		symtab_clear(&f->variables);
		f->variables = debug.variables;
		debug.variables = (struct symtab){ 0 };
		f->has_all = true;
	}
	data_file_clear(&debug);
	elf_table_free(theirs);
	if (fd >= 0)
		close(fd);
	return f->has_all;
}

void data_file_add_debug(struct data_file *f, int fd, const char *path, const char *debug_dir)
{
	struct elf_table *own = f->has_all ? NULL : elf_table_read(fd, NULL);
	g_autoptr(GPtrArray) paths = own ? debug_file_paths(own, path, debug_dir) : NULL;

	for (guint i = 0; paths && i < paths->len; i++)
		if (take_debug(f, own, g_ptr_array_index(paths, i)))
			break;
	elf_table_free(own);
}

void data_file_clear(struct data_file *f)
{
	symtab_clear(&f->variables);
	g_clear_pointer(&f->segments, g_free);
	f->segment_cnt = 0;
}
