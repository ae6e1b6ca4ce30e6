/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/elf_file.h"

#include <string.h>

#include "base/find.h"
#include "base/refuse.h"

#define PHDRS_MAX 256
#define SECTIONS_MAX 65536
#define SECTION_NAMES_MAX_BYTES (16 << 20)
#define PAGE_MASK_4K 4095ull

static G_DEFINE_QUARK(offcpu-elf-error, elf_file_error)

static void read_segments(struct elf_file *f)
{
	size_t cnt = 0;

	if (elf_getphdrnum(f->elf, &cnt))
		return;
	cnt = MIN(cnt, PHDRS_MAX);
	f->segments = g_new0(struct elf_segment, cnt);
	for (size_t i = 0; i < cnt; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(f->elf, (int)i, &ph) && ph.p_type == PT_LOAD)
			f->segments[f->segment_cnt++] = (struct elf_segment){
				.off = ph.p_offset, .size = ph.p_filesz, .vaddr = ph.p_vaddr,
				.mem_bytes = ph.p_memsz, .is_exec = ph.p_flags & PF_X };
	}
}

/* The section names, if they are within bounds and end with a 0 byte. */
static Elf_Data *section_names(Elf *elf)
{
	Elf_Data *data;
	Elf_Scn *scn;
	GElf_Shdr sh;
	size_t index;

	if (elf_getshdrstrndx(elf, &index) || !(scn = elf_getscn(elf, index)) || !gelf_getshdr(scn, &sh) ||
	    sh.sh_size > SECTION_NAMES_MAX_BYTES)
		return NULL;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf && data->d_size && !((char *)data->d_buf)[data->d_size - 1] ? data : NULL;
}

static bool look_into(struct elf_file *f, bool may_be_relocatable, GError **error)
{
	GElf_Ehdr eh;

	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &eh) ||
	    (eh.e_type != ET_EXEC && eh.e_type != ET_DYN && !(may_be_relocatable && eh.e_type == ET_REL)))
		return refuse(error, elf_file_error_quark(), 0, "the file is no ELF program or library");
	f->machine = eh.e_machine;
	f->is_64_little = eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_ident[EI_DATA] == ELFDATA2LSB;
	read_segments(f);
	f->names = section_names(f->elf);
	return true;
}

static bool open_fd(struct elf_file *f, int fd, bool may_be_relocatable, GError **error)
{
	*f = (struct elf_file){ 0 };
	elf_version(EV_CURRENT);
	/* Not mapped: if its owner truncated the file meanwhile, that would kill us. */
	f->elf = elf_begin(fd, ELF_C_READ, NULL);
	return look_into(f, may_be_relocatable, error);
}

bool elf_file_open(struct elf_file *f, int fd, GError **error)
{
	return open_fd(f, fd, false, error);
}

bool elf_file_open_debug(struct elf_file *f, int fd, GError **error)
{
	return open_fd(f, fd, true, error);
}

static void open_image(struct elf_file *f, char *image, size_t bytes)
{
	*f = (struct elf_file){ 0 };
	elf_version(EV_CURRENT);
	f->elf = elf_memory(image, bytes);
}

bool elf_file_open_taken(struct elf_file *f, void *image, size_t bytes, GError **error)
{
	open_image(f, image, bytes);
	f->image = image;
	return look_into(f, false, error);
}

bool elf_file_open_object(struct elf_file *f, const void *image, size_t bytes, GError **error)
{
	open_image(f, (char *)image, bytes);	/* read only */
	return look_into(f, true, error);
}

bool elf_file_open_memory(struct elf_file *f, const void *image, size_t bytes, GError **error)
{
	char *copy = g_malloc(MAX(bytes, 1));

	memcpy(copy, image, bytes);
	return elf_file_open_taken(f, copy, bytes, error);
}

void elf_file_close(struct elf_file *f)
{
	elf_end(f->elf);
	g_free(f->segments);
	g_free(f->image);
	*f = (struct elf_file){ 0 };
}

const char *elf_file_section_name(const struct elf_file *f, const GElf_Shdr *sh)
{
	return f->names && sh->sh_name < f->names->d_size ? (const char *)f->names->d_buf + sh->sh_name : NULL;
}

Elf_Scn *elf_file_section_named(const struct elf_file *f, const char *name)
{
	Elf_Scn *scn = NULL;
	size_t cnt = 0;

	while ((scn = elf_nextscn(f->elf, scn)) && cnt++ < SECTIONS_MAX) {
		const char *found;
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NULL && (found = elf_file_section_name(f, &sh)) &&
		    !strcmp(found, name))
			return scn;
	}
	return NULL;
}

bool elf_file_phdr(const struct elf_file *f, uint32_t type, GElf_Phdr *ret)
{
	size_t cnt = 0;

	if (elf_getphdrnum(f->elf, &cnt))
		return false;
	for (size_t i = 0; i < MIN(cnt, PHDRS_MAX); i++)
		if (gelf_getphdr(f->elf, (int)i, ret) && ret->p_type == type)
			return true;
	return false;
}

/*
 * Pages, not bytes, are mapped: the last file page of the text may be mapped again as the first of the data. So an
 * executable segment that contains the byte has priority, then one whose pages do, then any.
 */
bool elf_segments_vaddr(const struct elf_segment *segments, size_t cnt, uint64_t off, uint64_t *ret_vaddr)
{
	for (int pass = 0; pass < 3; pass++) {
		uint64_t slack = pass ? PAGE_MASK_4K : 0;

		EACH_IN(i, const struct elf_segment, seg, segments, cnt) {
			uint64_t from = seg->off & ~slack, end;

			if (pass < 2 && !seg->is_exec)
				continue;
			if (__builtin_add_overflow(seg->off, seg->size, &end) || end > UINT64_MAX - slack)
				continue;
			end = (end + slack) & ~slack;
			if (off < from || off >= end)
				continue;
			*ret_vaddr = off - seg->off + seg->vaddr;
			return true;
		}
	}
	return false;
}

bool elf_segments_mapping_vaddr(const struct elf_segment *segments, size_t cnt, uint64_t off, size_t nth,
				uint64_t *ret_vaddr)
{
	size_t found = 0;

	EACH_IN(i, const struct elf_segment, seg, segments, cnt) {
		if (!seg->is_exec || (seg->off & ~PAGE_MASK_4K) != off)
			continue;
		if (found++ != nth)
			continue;
		*ret_vaddr = seg->vaddr - (seg->off - off);
		return true;
	}
	/* the file is mapped once more */
	return found > 1 ? elf_segments_mapping_vaddr(segments, cnt, off, nth % found, ret_vaddr) :
			   elf_segments_vaddr(segments, cnt, off, ret_vaddr);
}
