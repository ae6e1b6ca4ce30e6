/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/elf_frames.h"

#include <gelf.h>
#include <string.h>

#include "unwind/cursor.h"
#include "unwind/dwarf_cfi.h"

/* Four million rows take some 30 MB. */
#define SECTION_MAX_BYTES (64u << 20)
#define PHDRS_MAX 256
#define SECTIONS_MAX 65536

G_DEFINE_QUARK(offcpu-unwind-error, unwind_error)

struct finder {
	Elf *elf;
	struct elf_frames *frames;
	GElf_Phdr loads[ELF_FRAMES_SEGMENTS];
	unsigned load_cnt;
	GElf_Phdr hdr;	/* PT_GNU_EH_FRAME */
	bool has_hdr;
};

static int text_cmp(const void *a, const void *b)
{
	const struct elf_text *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void read_segments(struct finder *f)
{
	struct elf_frames *frames = f->frames;
	size_t cnt = 0;

	if (elf_getphdrnum(f->elf, &cnt))
		return;
	for (size_t i = 0; i < MIN(cnt, PHDRS_MAX); i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(f->elf, (int)i, &ph) || ph.p_vaddr + ph.p_memsz < ph.p_vaddr)
			continue;
		if (ph.p_type == PT_GNU_EH_FRAME && !f->has_hdr) {
			f->hdr = ph;
			f->has_hdr = true;
		}
		if (ph.p_type != PT_LOAD || f->load_cnt >= ELF_FRAMES_SEGMENTS)
			continue;
		f->loads[f->load_cnt++] = ph;
		if (ph.p_flags & PF_X && ph.p_memsz)
			frames->texts[frames->text_cnt++] =
				(struct elf_text){ ph.p_vaddr, ph.p_vaddr + ph.p_memsz };
	}
	qsort(frames->texts, frames->text_cnt, sizeof(*frames->texts), text_cmp);
}

static void add_section(struct finder *f, const struct cfi_section *s)
{
	if (s->bytes && s->size && f->frames->section_cnt < ELF_FRAMES_SECTIONS)
		f->frames->sections[f->frames->section_cnt++] = *s;
}

static void add_scn(struct finder *f, Elf_Scn *scn, bool is_debug)
{
	Elf_Data *data;
	GElf_Chdr ch;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_size > SECTION_MAX_BYTES)
		return;
	if (sh.sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &ch) || ch.ch_size > SECTION_MAX_BYTES || elf_compress(scn, 0, 0) < 0)
			return;
		data = elf_getdata(scn, NULL);
	} else {
		data = elf_rawdata(scn, NULL);
	}
	if (data)
		add_section(f, &(struct cfi_section){ .bytes = data->d_buf, .size = data->d_size,
						      .vaddr = sh.sh_addr, .is_debug = is_debug });
}

static Elf_Scn *section_named(Elf *elf, const char *name)
{
	size_t names, cnt = 0;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn)) && cnt++ < SECTIONS_MAX) {
		const char *found;
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NULL &&
		    (found = elf_strptr(elf, names, sh.sh_name)) && !strcmp(found, name))
			return scn;
	}
	return NULL;
}

/* File bytes from vaddr to the end of its segment. */
static bool bytes_at(struct finder *f, uint64_t vaddr, uint64_t max_bytes, struct cfi_section *ret)
{
	for (unsigned i = 0; i < f->load_cnt; i++) {
		const GElf_Phdr *ph = &f->loads[i];
		uint64_t skip = vaddr - ph->p_vaddr, bytes;
		Elf_Data *data;

		if (vaddr < ph->p_vaddr || skip >= ph->p_filesz || ph->p_offset + skip > INT64_MAX)
			continue;
		bytes = MIN(ph->p_filesz - skip, max_bytes);
		data = elf_getdata_rawchunk(f->elf, (int64_t)(ph->p_offset + skip), bytes, ELF_T_BYTE);
		if (!data)
			return false;
		*ret = (struct cfi_section){ .bytes = data->d_buf, .size = data->d_size, .vaddr = vaddr };
		return ret->bytes;
	}
	return false;
}

/* A file without section headers: the loader's pointer to .eh_frame, whose size nothing tells. */
static void add_by_segment(struct finder *f)
{
	struct cfi_section hdr, frame;
	struct cursor c;
	uint64_t vaddr;
	uint8_t version, encoding;

	if (!f->has_hdr || !bytes_at(f, f->hdr.p_vaddr, 16, &hdr))
		return;
	c = (struct cursor){ .at = hdr.bytes, .end = hdr.bytes + hdr.size };
	version = cursor_u8(&c);
	encoding = cursor_u8(&c);
	cursor_u16(&c);	/* encodings of the search table, which is not needed */
	vaddr = cfi_pointer(&c, encoding, hdr.vaddr + 4, hdr.vaddr);
	if (c.bad || version != 1 || !bytes_at(f, vaddr, SECTION_MAX_BYTES, &frame))
		return;
	frame.ends_at_zero = true;
	add_section(f, &frame);
}

bool elf_frames_find(Elf *elf, struct elf_frames *ret, GError **error)
{
	struct finder f = { .elf = elf, .frames = ret };
	GElf_Ehdr eh;

	*ret = (struct elf_frames){ 0 };
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh) ||
	    (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)) {
		g_set_error(error, UNWIND_ERROR, 0, "the file is no ELF program or library");
		return false;
	}
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB) {
		g_set_error(error, UNWIND_ERROR, 0, "the file is not of 64 bits and little-endian");
		return false;
	}
	ret->machine = eh.e_machine;
	read_segments(&f);
	if (!ret->text_cnt) {
		g_set_error(error, UNWIND_ERROR, 0, "the file has no executable segment");
		return false;
	}
	add_scn(&f, section_named(elf, ".eh_frame"), false);
	if (!ret->section_cnt)
		add_by_segment(&f);
	add_scn(&f, section_named(elf, ".debug_frame"), true);
	return true;
}
