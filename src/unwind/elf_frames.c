/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "unwind/frames.h"

#include <gelf.h>

#include "base/cursor.h"
#include "base/order.h"
#include "base/refuse.h"

/* Four million rows take some 30 MB. */
#define SECTION_MAX_BYTES (64u << 20)

G_DEFINE_QUARK(offcpu-unwind-error, unwind_error)

struct finder {
	const struct elf_file *file;
	struct elf_frames *frames;
};

ORDER(text_cmp, struct elf_text, ORDER_LOW(start))

static void find_text(const struct elf_file *file, struct elf_frames *frames)
{
	for (size_t i = 0; i < file->segment_cnt && frames->text_cnt < ELF_FRAMES_SEGMENTS; i++) {
		const struct elf_segment *seg = &file->segments[i];
		uint64_t end;

		if (seg->is_exec && seg->mem_bytes && !__builtin_add_overflow(seg->vaddr, seg->mem_bytes, &end))
			frames->texts[frames->text_cnt++] = (struct elf_text){ seg->vaddr, end };
	}
	qsort(frames->texts, frames->text_cnt, sizeof(*frames->texts), text_cmp);
}

static void add_section(struct finder *f, const struct cfi_section *s)
{
	if (s->bytes && s->size && f->frames->section_cnt < ELF_FRAMES_SECTIONS)
		f->frames->sections[f->frames->section_cnt++] = *s;
}

enum packing {
	PACKED_BY_FLAG,		/* if compressed: SHF_COMPRESSED */
	PACKED_GNU,		/* a .zdebug section: "ZLIB", then the size in 8 bytes, big-endian */
};

/* Unpacks a section in place; false if it is damaged or too large. */
static bool unpack(Elf_Scn *scn, enum packing packing)
{
	GElf_Chdr ch;

	if (packing == PACKED_GNU) {
		Elf_Data *data = elf_rawdata(scn, NULL);
		struct cursor c;
		uint32_t high, low;

		if (!data || !data->d_buf)
			return false;
		c = (struct cursor){ .at = data->d_buf, .end = (const uint8_t *)data->d_buf + data->d_size };
		cursor_u32(&c);	/* elf_compress_gnu() checks it */
		high = cursor_u32(&c);
		low = GUINT32_SWAP_LE_BE(cursor_u32(&c));
		return !c.bad && !high && low <= SECTION_MAX_BYTES && elf_compress_gnu(scn, 0, 0) >= 0;
	}
	return gelf_getchdr(scn, &ch) && ch.ch_size <= SECTION_MAX_BYTES && elf_compress(scn, 0, 0) >= 0;
}

static void add_scn(struct finder *f, Elf_Scn *scn, bool is_debug, enum packing packing)
{
	Elf_Data *data;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_size > SECTION_MAX_BYTES)
		return;
	if (packing == PACKED_GNU || sh.sh_flags & SHF_COMPRESSED)
		data = unpack(scn, packing) ? elf_getdata(scn, NULL) : NULL;
	else
		data = elf_rawdata(scn, NULL);
	if (data)
		add_section(f, &(struct cfi_section){ .bytes = data->d_buf, .size = data->d_size,
						      .vaddr = sh.sh_addr, .is_debug = is_debug });
}

/* The file's bytes from vaddr to the end of its segment. */
static bool bytes_at(struct finder *f, uint64_t vaddr, uint64_t max_bytes, struct cfi_section *ret)
{
	EACH_IN(i, const struct elf_segment, seg, f->file->segments, f->file->segment_cnt) {
		uint64_t skip = vaddr - seg->vaddr, bytes, offset;
		Elf_Data *data;

		if (vaddr < seg->vaddr || skip >= seg->size ||
		    __builtin_add_overflow(seg->off, skip, &offset) || offset > INT64_MAX)
			continue;
		bytes = MIN(seg->size - skip, max_bytes);
		data = elf_getdata_rawchunk(f->file->elf, (int64_t)offset, bytes, ELF_T_BYTE);
		if (!data)
			return false;
		*ret = (struct cfi_section){ .bytes = data->d_buf, .size = data->d_size, .vaddr = vaddr };
		return ret->bytes;
	}
	return false;
}

/* A file without section headers: the loader's pointer to .eh_frame, whose size is unknown. */
static void add_by_segment(struct finder *f)
{
	struct cfi_section hdr, frame;
	struct cursor c;
	GElf_Phdr ph;
	uint64_t vaddr;
	uint8_t version, encoding;

	if (!elf_file_phdr(f->file, PT_GNU_EH_FRAME, &ph) || !bytes_at(f, ph.p_vaddr, 16, &hdr))
		return;
	c = cursor_of(hdr.bytes, hdr.size);
	version = cursor_u8(&c);
	encoding = cursor_u8(&c);
	cursor_u16(&c);	/* encodings of the search table, which is not used */
	vaddr = cfi_pointer(&c, encoding, hdr.vaddr + 4, hdr.vaddr);
	if (c.bad || version != 1 || !bytes_at(f, vaddr, SECTION_MAX_BYTES, &frame))
		return;
	frame.ends_at_zero = true;
	add_section(f, &frame);
}

bool elf_frames_find(const struct elf_file *file, struct elf_frames *ret, GError **error)
{
	struct finder f = { .file = file, .frames = ret };

	*ret = (struct elf_frames){ 0 };
	if (!file->is_64_little)
		return refuse(error, UNWIND_ERROR, 0, "the file is not of 64 bits and little-endian");
	find_text(file, ret);
	if (!ret->text_cnt)
		return refuse(error, UNWIND_ERROR, 0, "the file has no executable segment");
	add_scn(&f, elf_file_section_named(file, ".eh_frame"), false, PACKED_BY_FLAG);
	if (!ret->section_cnt)
		add_by_segment(&f);
	add_scn(&f, elf_file_section_named(file, ".debug_frame"), true, PACKED_BY_FLAG);
	/* written by Go until 1.21 */
	add_scn(&f, elf_file_section_named(file, ".zdebug_frame"), true, PACKED_GNU);
	return true;
}
