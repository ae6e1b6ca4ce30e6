/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/python_find.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "base/module.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/living.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/python_layout.h"

#define SYMBOLS_MAX_BYTES (64u << 20)
#define MINOR_MAX 99
#define MAPS_TEXT_MAX (64 << 20)
#define KEYS_FIRST_BLOCK 32	/* later keys lie behind another pointer (glibc: PTHREAD_KEY_2NDLEVEL_SIZE) */
#define KEY_ENTRY_BYTES 16

uint32_t python_minor_of_file(const char *path)
{
	const char *name = module_base_name(path);
	char *end;
	guint64 minor;

	if (g_str_has_prefix(name, "lib"))
		name += strlen("lib");
	if (!g_str_has_prefix(name, "python3."))
		return 0;
	name += strlen("python3.");
	minor = g_ascii_strtoull(name, &end, 10);
	return end > name && minor <= MINOR_MAX && (!*end || *end == '.' || *end == 'd' || *end == 't') ? (uint32_t)minor : 0;
}

struct found {
	uint32_t minor;			/* by the name of the file that has the next two */
	uint64_t runtime, code_type;	/* addresses of _PyRuntime and PyCode_Type */
	uint64_t keys_at, first_key_bytes;	/* as glibc says: in its struct pthread, and in an entry there */
};

/* A symbol that is sought: where it lies in the file, 0: not found. */
struct wanted {
	const char *name;
	uint64_t vaddr;
};

static void search_symbols(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh, struct wanted *wanted, size_t cnt)
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
			if (!wanted[k].vaddr && !strcmp(name, wanted[k].name))
				wanted[k].vaddr = sym.st_value;
	}
}

/* Variables of the file of a mapping, as addresses in the process; false where it cannot be read. */
static bool find_variables(const char *proc_dir, uint32_t pid, const struct maps_line *line, struct wanted *wanted, size_t cnt)
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
	ok = elf_file_open(&file, fd, NULL) && file.is_64_little && file.machine == EM_X86_64 &&
	     elf_segments_vaddr(file.segments, file.segment_cnt, line->pgoff, &vaddr);
	while (ok && (scn = elf_nextscn(file.elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_DYNSYM || sh.sh_type == SHT_SYMTAB) &&
		    !(sh.sh_flags & SHF_COMPRESSED))
			search_symbols(&file, scn, &sh, wanted, cnt);
	for (size_t i = 0; ok && i < cnt; i++)
		if (wanted[i].vaddr)
			wanted[i].vaddr += line->start - vaddr;
	elf_file_close(&file);
	close(fd);
	return ok;
}

static void look_at_python(struct found *f, const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct wanted wanted[] = { { "_PyRuntime", 0 }, { "PyCode_Type", 0 } };

	if (!find_variables(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)) || !wanted[0].vaddr || !wanted[1].vaddr)
		return;
	f->runtime = wanted[0].vaddr;
	f->code_type = wanted[1].vaddr;
	f->minor = python_minor_of_file(line->path);
}

/* What glibc's own debugger library is told: size in bits, how many, offset. */
static bool read_descriptor(uint32_t pid, uint64_t addr, uint64_t *ret_offset)
{
	uint32_t words[3];

	if (!addr || !memory_read(pid, addr, words, sizeof(words)))
		return false;
	*ret_offset = words[2];
	return words[2] < 1 << 16;
}

static void look_at_libc(struct found *f, const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct wanted wanted[] = { { "_thread_db_pthread_specific", 0 }, { "_thread_db_pthread_key_data_data", 0 } };
	uint64_t keys, data;

	if (find_variables(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)) &&
	    read_descriptor(pid, wanted[0].vaddr, &keys) && read_descriptor(pid, wanted[1].vaddr, &data)) {
		f->keys_at = keys;
		f->first_key_bytes = data;
	}
}

static bool is_libc(const char *path)
{
	const char *name = module_base_name(path);

	return g_str_has_prefix(name, "libc.so") || g_str_has_prefix(name, "libc-2") || g_str_has_prefix(name, "libpthread");
}

static bool take(const struct found *f, uint32_t pid, struct offcpu_language *ret)
{
	const struct python_layout *layout = f->runtime && f->keys_at ? python_layout_of(3 << 8 | f->minor) : NULL;
	struct {
		int32_t is_made;
		uint32_t number;
	} key;

	if (!layout || f->keys_at % 8 || !memory_read(pid, f->runtime + layout->key_at, &key, sizeof(key)) ||
	    key.is_made != 1 || key.number >= KEYS_FIRST_BLOCK)
		return false;
	*ret = layout->walk;
	ret->keys_at = (uint32_t)f->keys_at;
	ret->key_at = (uint32_t)(key.number * KEY_ENTRY_BYTES + f->first_key_bytes);
	ret->code_type = f->code_type;
	return true;
}

bool python_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret)
{
	g_autofree char *text = living_maps(proc_dir, pid, MAPS_TEXT_MAX);
	g_autoptr(GArray) lines = NULL;
	struct found f = { 0 };

	if (!text)
		return false;
	lines = maps_parse(text);
	for (guint i = 0; i < lines->len && !f.runtime; i++) {
		const struct maps_line *m = &g_array_index(lines, struct maps_line, i);

		if (m->is_exec && python_minor_of_file(m->path))
			look_at_python(&f, proc_dir, pid, m);
	}
	for (guint i = 0; i < lines->len && f.runtime && !f.keys_at; i++) {
		const struct maps_line *m = &g_array_index(lines, struct maps_line, i);

		if (m->is_exec && is_libc(m->path))
			look_at_libc(&f, proc_dir, pid, m);
	}
	return take(&f, pid, ret);
}
