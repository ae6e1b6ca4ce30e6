/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/file_facts.h"

#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/elf_file.h"
#include "base/find.h"
#include "base/go_table.h"
#include "base/parse.h"
#include "symbolize/elf/functions.h"
#include "symbolize/process/fileopen.h"

#define TEXT_SEEN_BYTES (1u << 20)	/* checked per executable segment */
#define PROLOGUES_MIN 8
#define BYTES_A_PROLOGUE 2048	/* functions have some 200 bytes; without frame pointers there is one in 100 KB */

#define SECTION_MAX_BYTES (64u << 20)
#define COVERED_PERCENT_MIN 50	/* assembly often lacks it, and code of the C library in each program: */
#define UNCOVERED_FORGIVEN_BYTES 1024
#define CIE_AUGMENTATION_MAX 16

#define BUILD_INFO_MAGIC "\xff Go buildinf:"
#define BUILD_INFO_FLAGS_AT 15
#define BUILD_INFO_IS_INLINE 2	/* the version is here, not behind a pointer (Go 1.18) */
#define BUILD_INFO_VERSION_AT 32

static bool has_section(const struct elf_file *file, const char *name)
{
	Elf_Scn *scn = elf_file_section_named(file, name);
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS && sh.sh_size > 0;
}

/* The size of a pointer in an encoding of CFI (DW_EH_PE_*). 0: not fixed. */
static unsigned pointer_bytes(uint8_t encoding)
{
	switch (encoding & 7) {
	case 0:
	case 4: return 8;
	case 3: return 4;
	default: return 0;
	}
}

/* The size of an FDE's address and length, by the encoding in its CIE ("zR", "zPLR"). 0: unknown. */
static unsigned address_bytes(struct cursor cie)
{
	char augmentation[CIE_AUGMENTATION_MAX];
	unsigned len = 0;

	cursor_u8(&cie);	/* version */
	while (len < sizeof(augmentation) - 1 && (augmentation[len] = (char)cursor_u8(&cie)))
		len++;
	augmentation[len] = '\0';
	if (augmentation[0] != 'z')
		return len ? 0 : 8;
	/* code and data alignment, return address register, length of the augmentation */
	cursor_uleb(&cie);
	cursor_uleb(&cie);
	cursor_uleb(&cie);
	cursor_uleb(&cie);
	for (const char *c = augmentation + 1; *c && *c != 'R'; c++) {
		uint8_t encoding = cursor_u8(&cie);

		if (*c == 'P' && !cursor_take(&cie, pointer_bytes(encoding)))
			return 0;
	}
	return pointer_bytes(cursor_u8(&cie));
}

/*
 * The number of code bytes that .eh_frame covers. An FDE follows its CIE; in practice all CIEs of a file have the
 * same encoding.
 */
static uint64_t covered_bytes(const uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_of(bytes, size);
	uint64_t covered = 0;
	unsigned width = 4;

	while (cursor_left(&c) > 8) {
		uint32_t len = cursor_u32(&c);
		const uint8_t *entry = c.at;
		struct cursor e = cursor_of(entry, MIN(len, cursor_left(&c)));

		if (!len || len >= 0xfffffff0u || !cursor_take(&c, len))
			break;
		if (!cursor_u32(&e)) {	/* a CIE */
			unsigned told = address_bytes(e);

			width = told ? told : width;
			continue;
		}
		cursor_take(&e, width);
		covered += width == 8 ? cursor_u64(&e) : cursor_u32(&e);
		if (e.bad)
			break;
	}
	return covered;
}

static uint64_t code_bytes(const struct elf_file *file)
{
	uint64_t bytes = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(file->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_file_section_name(file, &sh) : NULL;

		if (name && sh.sh_flags & SHF_EXECINSTR && !g_str_has_prefix(name, ".plt"))
			bytes += sh.sh_size;
	}
	return bytes;
}

/* Does .eh_frame cover most of the code? A file without section headers has the loader's table, or none. */
static bool covers_code(const struct elf_file *file)
{
	Elf_Scn *scn = elf_file_section_named(file, ".eh_frame");
	uint64_t code = code_bytes(file);
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Phdr ph;

	if (!code)
		return elf_file_phdr(file, PT_GNU_EH_FRAME, &ph);
	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_size > SECTION_MAX_BYTES)
		return false;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf &&
	       covered_bytes(data->d_buf, data->d_size) + UNCOVERED_FORGIVEN_BYTES >= code * COVERED_PERCENT_MIN / 100;
}

static size_t count_prologues(const uint8_t *bytes, size_t size)
{
	static const uint8_t keeps[] = { 0x55, 0x48, 0x89, 0xe5 };	/* push %rbp; mov %rsp,%rbp */
	const uint8_t *end = bytes + size, *at = bytes;
	size_t cnt = 0;

	while ((at = memmem(at, (size_t)(end - at), keeps, sizeof(keeps)))) {
		cnt++;
		at += sizeof(keeps);
	}
	return cnt;
}

static bool has_frame_pointers(const struct elf_file *file)
{
	size_t cnt = 0, bytes = 0;

	EACH_IN(i, const struct elf_segment, s, file->segments, file->segment_cnt) {
		Elf_Data *data;

		if (!s->is_exec || s->off > INT64_MAX)
			continue;
		data = elf_getdata_rawchunk(file->elf, (int64_t)s->off, MIN(s->size, TEXT_SEEN_BYTES), ELF_T_BYTE);
		if (!data || !data->d_buf)
			continue;
		cnt += count_prologues(data->d_buf, data->d_size);
		bytes += data->d_size;
	}
	return cnt >= PROLOGUES_MIN && bytes / cnt <= BYTES_A_PROLOGUE;
}

void go_version_read(const struct elf_file *file, char *ret, size_t room)
{
	Elf_Scn *scn = elf_file_section_named(file, ".go.buildinfo");
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	const uint8_t *text;
	struct cursor c;
	uint64_t len;

	if (!data || !data->d_buf || data->d_size <= BUILD_INFO_VERSION_AT ||
	    memcmp(data->d_buf, BUILD_INFO_MAGIC, strlen(BUILD_INFO_MAGIC)) != 0 ||
	    !(((const uint8_t *)data->d_buf)[BUILD_INFO_FLAGS_AT] & BUILD_INFO_IS_INLINE))
		return;
	c = (struct cursor){ .at = (const uint8_t *)data->d_buf + BUILD_INFO_VERSION_AT,
			     .end = (const uint8_t *)data->d_buf + data->d_size };
	len = cursor_uleb(&c);
	text = len < room ? cursor_take(&c, len) : NULL;
	if (c.bad || !text)
		return;
	for (uint64_t i = 0; i < len; i++)
		if (!g_ascii_isgraph(text[i]))
			return;
	memcpy(ret, text, len);
	ret[len] = 0;
}

static void look_into(const struct elf_file *file, struct file_facts *ret)
{
	struct go_table go;

	ret->is_64_bits = file->is_64_little && (file->machine == EM_X86_64 || file->machine == EM_AARCH64);
	ret->has_go_table = file->is_64_little && go_table_open(&go, file);
	ret->is_go = ret->has_go_table || has_section(file, ".gopclntab") ||
		     has_section(file, ".data.rel.ro.gopclntab") || has_section(file, ".go.buildinfo");
	if (ret->is_go)
		go_version_read(file, ret->go_version, sizeof(ret->go_version));
	ret->has_unwind_table = ret->has_go_table || has_section(file, ".debug_frame") || covers_code(file);
	if (!ret->has_unwind_table && file->machine == EM_X86_64)
		ret->has_frame_pointers = has_frame_pointers(file);
}

static bool is_debug_file(const struct elf_table *t, const char *path, bool *ret_has_debug_info)
{
	int fd = file_open_here(path);
	struct elf_table *debug = fd >= 0 ? debug_file_read(t, fd) : NULL;
	bool is = debug && debug->has_full_symbols;

	*ret_has_debug_info = is && debug->has_debug_info;
	if (debug)
		elf_table_free(debug);
	if (fd >= 0)
		close(fd);
	return is;
}

static void look_for_debug_file(const struct elf_table *t, const char *path, const char *debug_dir,
				struct file_facts *ret)
{
	g_autoptr(GPtrArray) paths = debug_file_paths(t, path, debug_dir);

	for (guint i = 0; i < paths->len && !ret->debug_file; i++) {
		bool has_debug_info;

		if (!is_debug_file(t, g_ptr_array_index(paths, i), &has_debug_info))
			continue;
		ret->debug_file = g_strdup(g_ptr_array_index(paths, i));
		ret->has_debug_info |= has_debug_info;
	}
}

bool file_facts_read(int fd, const char *path, const char *debug_dir, struct file_facts *ret)
{
	struct elf_file file;
	struct elf_table *t;
	bool is_elf = elf_file_open(&file, fd, NULL);

	*ret = (struct file_facts){ 0 };
	if (is_elf)
		look_into(&file, ret);
	elf_file_close(&file);
	t = is_elf ? elf_table_read(fd, NULL) : NULL;
	if (!t)
		return false;
	ret->has_symbols = t->has_full_symbols;
	ret->has_exported_names = t->symbols.cnt > 0;
	ret->has_debug_info = t->has_debug_info;
	hex_text(ret->build_id, t->build_id, MIN(t->build_id_bytes, ELF_BUILD_ID_MAX));
	if (!ret->has_symbols || !ret->has_debug_info)
		look_for_debug_file(t, path, debug_dir, ret);
	elf_table_free(t);
	return true;
}

void file_facts_clear(struct file_facts *f)
{
	g_free(f->debug_file);
	f->debug_file = NULL;
}
