/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/table.h"

#include <string.h>
#include <unistd.h>

#include "base/opener/parser.h"
#include "symbolize/elf/reader.h"

/* Far above any real file (a browser's debug build has 2 million functions), far below what would hurt. */
#define SYMTAB_MAX_BYTES (128 << 20)
#define STRTAB_MAX_BYTES (512 << 20)
#define SECTIONS_MAX 65536
/* for all sections: libelf keeps what it has read, and many sections may share bytes */
#define NOTES_MAX_BYTES (1 << 20)
#define DEBUGDATA_MAX_BYTES (64 << 20)

/* Symbols of several tables, with their names in one buffer. */
struct pool {
	GArray *raw;	/* struct symtab_raw */
	char *names;
	size_t names_bytes;
};

static void read_build_id(struct elf_reader *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	size_t off = 0, next, name_off, desc_off;
	Elf_Data *data;
	GElf_Nhdr note;

	if (r->table->build_id_bytes || sh->sh_size > NOTES_MAX_BYTES - r->note_bytes)
		return;
	r->note_bytes += sh->sh_size;
	data = elf_getdata(scn, NULL);
	while (data && (next = gelf_getnote(data, off, &note, &name_off, &desc_off)) > 0) {
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp((char *)data->d_buf + name_off, "GNU", 4) &&
		    note.n_descsz > 0 && note.n_descsz <= ELF_BUILD_ID_MAX) {
			memcpy(r->table->build_id, (char *)data->d_buf + desc_off, note.n_descsz);
			r->table->build_id_bytes = note.n_descsz;
			return;
		}
		off = next;
	}
}

static void read_debuglink(struct elf_reader *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	size_t crc_off;
	Elf_Data *data;
	char *link;

	if (r->table->debuglink || sh->sh_size > 4096)
		return;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !memchr(data->d_buf, 0, data->d_size))
		return;
	link = data->d_buf;
	crc_off = (strlen(link) + 4) & ~(size_t)3;
	if (crc_off + sizeof(uint32_t) > data->d_size)
		return;
	memcpy(&r->table->debuglink_crc, link + crc_off, sizeof(uint32_t));
	if (*link && !strchr(link, '/') && strcmp(link, ".") && strcmp(link, ".."))
		r->table->debuglink = g_strdup(link);
}

/* Sections of type PROGBITS are identified by name. */
static void note_progbits(struct elf_reader *r, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	if (!strcmp(name, ".gnu_debuglink"))
		read_debuglink(r, scn, sh);
	else if (!strcmp(name, ".gnu_debugdata") && !r->debugdata && sh->sh_size <= DEBUGDATA_MAX_BYTES)
		r->debugdata = scn;
	else if ((sh->sh_flags & SHF_EXECINSTR) && r->plt_cnt < ELF_PLTS_MAX &&
		 (!strcmp(name, ".plt") || g_str_has_prefix(name, ".plt.")))
		r->plts[r->plt_cnt++] = scn;
}

static void note_section(struct elf_reader *r, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	if (name && sh->sh_type == SHT_PROGBITS && !strcmp(name, ".debug_info"))
		r->table->has_debug_info = true;
	if (sh->sh_type == SHT_SYMTAB && !r->symtab) {
		r->symtab = scn;
	} else if (sh->sh_type == SHT_DYNSYM && !r->dynsym) {
		r->dynsym = scn;
	} else if (sh->sh_type == SHT_GNU_versym && !r->versions) {
		r->versions = scn;
	} else if (sh->sh_type == SHT_NOTE) {
		read_build_id(r, scn, sh);
	} else if (sh->sh_flags & SHF_COMPRESSED) {
		return;
	} else if (sh->sh_type == SHT_PROGBITS && name) {
		note_progbits(r, scn, sh, name);
	} else if (sh->sh_type == SHT_RELA && (sh->sh_flags & SHF_ALLOC) &&
		   r->relocation_cnt < ELF_RELOCATIONS_MAX) {
		r->relocations[r->relocation_cnt++] = scn;
		if (name && !strcmp(name, ".rela.plt"))
			r->plt_relocations = scn;
	}
}

static void read_sections(struct elf_reader *r)
{
	Elf_Scn *scn = NULL;
	size_t cnt = 0;

	if (elf_getshdrnum(r->elf, &cnt))
		return;
	cnt = MIN(cnt, SECTIONS_MAX);
	r->sections = g_new0(struct elf_section, cnt);
	r->section_cnt = cnt;
	while ((scn = elf_nextscn(r->elf, scn))) {
		size_t i = elf_ndxscn(scn);
		GElf_Shdr sh;

		if (i >= cnt || !gelf_getshdr(scn, &sh))
			continue;
		r->sections[i] = (struct elf_section){ sh.sh_addr, sh.sh_addr + sh.sh_size,
						       (sh.sh_flags & SHF_EXECINSTR) && sh.sh_size };
		note_section(r, scn, &sh, elf_file_section_name(r->file, &sh));
	}
}

/* Is the name only for old programs ("cfree", an alias of free)? */
static bool is_old_version(Elf_Data *versions, int i, const char *name)
{
	const char *version;
	GElf_Versym v;

	if (versions)
		return gelf_getversym(versions, i, &v) && (v & 0x8000);
	version = memchr(name, '@', strnlen(name, 256));	/* a longer name is hostile, and slow */
	return version && version[1] != '@';
}

/* Exported names first, among these current ones, then the plainest. Weak symbols are ordinary aliases. */
static uint8_t symbol_rank(const GElf_Sym *sym, const char *name, bool is_old)
{
	unsigned bind = GELF_ST_BIND(sym->st_info);

	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)	/* only in assembly, and ARM's "$x" marks */
		return bind == STB_LOCAL || name[0] == '$' || name[0] == '.' ? SYMTAB_BOUND : SYMTAB_LABEL;
	return (uint8_t)((bind == STB_LOCAL ? SYMTAB_LOCAL : SYMTAB_GLOBAL) + (is_old ? 8 : 0) +
			 symtab_underscores(name) * 2 + (bind == STB_WEAK));
}

/* Makes a candidate of a symbol. False: not an address in the program's code. */
static bool symbol_candidate(const struct elf_reader *r, const GElf_Sym *sym, const char *names, size_t names_bytes,
			     struct symtab_raw *ret)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	const struct elf_section *in;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= r->section_cnt ||
	    sym->st_name >= names_bytes || !names[sym->st_name])
		return false;
	in = &r->sections[sym->st_shndx];
	if (!in->is_exec || sym->st_value < in->addr || sym->st_value >= in->end)
		return false;
	*ret = (struct symtab_raw){ .addr = sym->st_value, .name = (uint32_t)sym->st_name,
				    .sized = sym->st_size > 0, .end = in->end };
	if (ret->sized)
		ret->end = sym->st_value + MIN(sym->st_size, in->end - sym->st_value);
	return true;
}

Elf_Data *elf_reader_symbols(const struct elf_reader *r, Elf_Scn *scn)
{
	size_t entry_bytes = gelf_fsize(r->elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Data *data;
	GElf_Shdr sh;

	if (!gelf_getshdr(scn, &sh) || !entry_bytes || sh.sh_size > SYMTAB_MAX_BYTES ||
	    sh.sh_size < 2 * entry_bytes || (sh.sh_flags & SHF_COMPRESSED))
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

Elf_Data *elf_reader_names(const struct elf_reader *r, const GElf_Shdr *symbols)
{
	Elf_Scn *scn = elf_getscn(r->elf, symbols->sh_link);
	Elf_Data *data;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB || (sh.sh_flags & SHF_COMPRESSED) ||
	    sh.sh_size > STRTAB_MAX_BYTES)
		return NULL;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

static void pool_add_symbols(struct pool *pool, const struct elf_reader *r, Elf_Data *data, Elf_Data *versions,
			     uint32_t names_from)
{
	bool is_stripped = !r->symtab && !r->debugdata;
	size_t budget_bytes = UNSIZED_CODE_MAX_BYTES;
	const char *names = pool->names + names_from;
	size_t names_bytes = pool->names_bytes - names_from;
	size_t cnt = data->d_size / gelf_fsize(r->elf, ELF_T_SYM, 1, EV_CURRENT);

	for (size_t i = 1; i < cnt; i++) {
		struct symtab_raw candidate;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || !symbol_candidate(r, &sym, names, names_bytes, &candidate))
			continue;
		candidate.rank = symbol_rank(&sym, names + sym.st_name,
					     is_old_version(versions, (int)i, names + sym.st_name));
		/* after the C runtime's (frame_dummy) comes code of compilers that omit local symbols, such as GHC */
		bool is_local = GELF_ST_BIND(sym.st_info) == STB_LOCAL && GELF_ST_TYPE(sym.st_info) == STT_FUNC;
		uint64_t reach = (is_stripped || is_local) && !candidate.sized
					 ? elf_unsized_reach(r, &sym, &budget_bytes)
					 : 0;
		if (!candidate.sized && (is_stripped || reach))
			candidate.end = MIN(candidate.end, sym.st_value + MAX(reach, 1));
		candidate.name += names_from;
		g_array_append_val(pool->raw, candidate);
	}
}

/* The version of each symbol. NULL: none, or damaged. */
static Elf_Data *versions_of(const struct elf_reader *r, const Elf_Data *symbols)
{
	size_t cnt = symbols->d_size / gelf_fsize(r->elf, ELF_T_SYM, 1, EV_CURRENT);
	GElf_Shdr sh;

	if (!r->versions || !gelf_getshdr(r->versions, &sh) || (sh.sh_flags & SHF_COMPRESSED) ||
	    sh.sh_size > cnt * sizeof(GElf_Versym))
		return NULL;
	return elf_getdata(r->versions, NULL);
}

/* False: the section is damaged, empty or too large; the caller may try another one. */
static bool pool_add(struct pool *pool, const struct elf_reader *r, Elf_Scn *scn)
{
	Elf_Data *data = elf_reader_symbols(r, scn), *strings, *versions;
	size_t from = pool->names_bytes;
	GElf_Shdr sh;

	if (!data || !gelf_getshdr(scn, &sh) || !(strings = elf_reader_names(r, &sh)))
		return false;
	pool->names_bytes += strings->d_size + 1;
	pool->names = g_realloc(pool->names, pool->names_bytes);
	memcpy(pool->names + from, strings->d_buf, strings->d_size);
	pool->names[pool->names_bytes - 1] = 0;
	versions = scn == r->dynsym ? versions_of(r, data) : NULL;
	pool_add_symbols(pool, r, data, versions, (uint32_t)from);
	return true;
}

/* .gnu_debugdata is an embedded ELF file whose .symtab complements .dynsym. */
static void pool_add_debugdata(struct pool *pool, const struct elf_reader *outer)
{
	Elf_Data *packed = elf_rawdata(outer->debugdata, NULL);
	struct elf_reader r = { 0 };
	struct elf_file file;
	char *image = NULL;
	size_t bytes;

	if (packed && packed->d_buf)
		image = elf_debugdata_unpack(packed->d_buf, packed->d_size, &bytes);
	if (!image)
		return;
	if (elf_file_open_taken(&file, image, bytes, NULL)) {
		r.file = &file;
		r.elf = file.elf;
		r.table = g_new0(struct elf_table, 1);
		r.table->debug_fd = -1;
		read_sections(&r);
		if (r.symtab)
			pool_add(pool, &r, r.symtab);
		elf_table_free(r.table);
		g_free(r.sections);
	}
	elf_file_close(&file);
}

static void read_symbols(struct elf_reader *r)
{
	struct pool pool = { .raw = g_array_new(FALSE, FALSE, sizeof(struct symtab_raw)) };

	if (r->symtab && pool_add(&pool, r, r->symtab)) {
		r->table->has_full_symbols = true;
	} else {
		if (r->dynsym)
			pool_add(&pool, r, r->dynsym);
		if (r->debugdata)
			pool_add_debugdata(&pool, r);
	}
	r->table->has_go_table = elf_go_names(r->file, pool.raw, &pool.names, &pool.names_bytes);
	if (pool.names)
		symtab_build(&r->table->symbols, pool.raw, pool.names, pool.names_bytes);
	g_array_unref(pool.raw);
}

static struct elf_table *table_from(struct elf_file *file)
{
	struct elf_reader r = { .file = file, .elf = file->elf, .machine = file->machine };

	r.table = g_new0(struct elf_table, 1);
	r.table->debug_fd = -1;
	read_sections(&r);
	read_symbols(&r);
	elf_plt_read(&r);
	r.table->segments = g_steal_pointer(&file->segments);
	r.table->segment_cnt = file->segment_cnt;
	g_free(r.sections);
	return r.table;
}

struct elf_table *elf_table_read(int fd, GError **error)
{
	struct elf_table *t = NULL;
	struct elf_file file;

	if (parser_is_apart())
		return elf_table_ask(fd, error);
	if (elf_file_open(&file, fd, error))
		t = table_from(&file);
	elf_file_close(&file);
	return t;
}

struct elf_table *elf_table_read_memory(const void *image, size_t bytes, GError **error)
{
	struct elf_table *t = NULL;
	struct elf_file file;

	if (elf_file_open_memory(&file, image, bytes, error))
		t = table_from(&file);
	elf_file_close(&file);
	return t;
}

void elf_table_free(struct elf_table *t)
{
	if (!t)
		return;
	symtab_clear(&t->symbols);
	symtab_clear(&t->plt);
	g_free(t->segments);
	g_free(t->debuglink);
	if (t->debug_fd >= 0)
		close(t->debug_fd);
	g_free(t);
}

bool elf_table_is_same_build(const struct elf_table *t, const struct elf_table *debug)
{
	if (!t->build_id_bytes)
		return debug->is_linked;
	return t->build_id_bytes == debug->build_id_bytes && !memcmp(t->build_id, debug->build_id, t->build_id_bytes);
}

bool elf_table_is_debug_file(const struct elf_table *t, const struct elf_table *debug)
{
	return elf_table_is_same_build(t, debug) && debug->has_full_symbols;
}

char *elf_debug_path(const char *debug_dir, const uint8_t *build_id, size_t bytes)
{
	GString *path;

	if (!bytes)
		return NULL;
	path = g_string_new(NULL);
	g_string_printf(path, "%s/.build-id/%02x/", debug_dir, build_id[0]);
	for (size_t i = 1; i < bytes; i++)
		g_string_append_printf(path, "%02x", build_id[i]);
	g_string_append(path, ".debug");
	return g_string_free(path, FALSE);
}

bool elf_table_take_symbols(struct elf_table *t, struct elf_table *from)
{
	if (!elf_table_is_debug_file(t, from))
		return false;
	symtab_clear(&t->symbols);
	t->symbols = from->symbols;
	t->has_full_symbols = true;
	from->symbols = (struct symtab){ 0 };
	return true;
}

const char *elf_table_find(const struct elf_table *t, uint64_t vaddr, uint64_t *ret_start)
{
	const struct symtab *in = &t->symbols;
	const struct symtab_entry *e = symtab_find(in, vaddr);

	if (!e) {
		in = &t->plt;
		e = symtab_find(in, vaddr);
	}
	if (!e)
		return NULL;
	*ret_start = e->addr;
	return symtab_name(in, e);
}

bool elf_table_vaddr(const struct elf_table *t, uint64_t off, uint64_t *ret_vaddr)
{
	return elf_segments_vaddr(t->segments, t->segment_cnt, off, ret_vaddr);
}

size_t elf_table_memory_bytes(const struct elf_table *t)
{
	return symtab_memory_bytes(&t->symbols) + symtab_memory_bytes(&t->plt) +
	       t->segment_cnt * sizeof(*t->segments);
}
