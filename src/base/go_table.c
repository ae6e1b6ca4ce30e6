/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/go_table.h"

#include <string.h>

#include "base/find.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define SECTION_MAX_BYTES ((size_t)256 << 20)
#define NAME_MAX_BYTES 65536
#define RELOCATIONS_MAX_BYTES (64u << 20)

#define HEADER_TEXT_AT 24	/* offset of the word that holds runtime.text */
#define MODULE_TEXT_AT (22 * 8)	/* that word's offset in struct moduledata */

#define INLINE_VALUES_INDEX 2	/* index in the offsets that follow a function (PCDATA_InlTreeIndex) */
#define INLINE_TREE_INDEX 3	/* index (FUNCDATA_InlTree) in its data offsets */
#define FUNC_BYTES 40
#define FUNC_BYTES_1_20 44
#define VALUE_STEPS_MAX (1u << 18)	/* limit of a search; a table may be as long as its file */

static Elf_Data *section_data(const struct elf_file *file, const char *name, GElf_Shdr *ret_sh)
{
	Elf_Scn *scn = elf_file_section_named(file, name);

	if (!scn || !gelf_getshdr(scn, ret_sh) || ret_sh->sh_type == SHT_NOBITS ||
	    ret_sh->sh_flags & SHF_COMPRESSED || ret_sh->sh_size > SECTION_MAX_BYTES)
		return NULL;
	return elf_rawdata(scn, NULL);
}

/* The value that the loader adds the load address to, at vaddr; 0: none. */
static uint64_t relative_at(const struct elf_file *file, uint64_t vaddr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(file->elf, scn))) {
		Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC) ||
		    sh.sh_flags & SHF_COMPRESSED || sh.sh_size > RELOCATIONS_MAX_BYTES)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && (size_t)i < data->d_size / sizeof(Elf64_Rela); i++) {
			GElf_Rela rela;

			if (gelf_getrela(data, i, &rela) && rela.r_offset == vaddr &&
			    GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
				return (uint64_t)rela.r_addend;
		}
	}
	return 0;
}

/* A section's bytes, and its vaddr. */
struct part {
	const uint8_t *bytes;	/* NULL: no such section */
	size_t size;
	uint64_t vaddr;
};

static struct part section_part(const struct elf_file *file, const char *name)
{
	GElf_Shdr sh;
	Elf_Data *data = section_data(file, name, &sh);

	if (!data || !data->d_buf)
		return (struct part){ 0 };
	return (struct part){ data->d_buf, data->d_size, sh.sh_addr };
}

static uint64_t word_at(const struct elf_file *file, const struct part *part, size_t offset)
{
	uint64_t word = 0;

	if (!part->bytes || offset + sizeof(word) > part->size)
		return 0;
	memcpy(&word, part->bytes + offset, sizeof(word));
	word = GUINT64_FROM_LE(word);
	return word ? word : relative_at(file, part->vaddr + offset);
}

static bool is_text(const struct elf_file *file, uint64_t vaddr)
{
	EACH_IN(i, const struct elf_segment, seg, file->segments, file->segment_cnt)
		if (seg->is_exec && vaddr >= seg->vaddr && vaddr - seg->vaddr < seg->mem_bytes)
			return true;
	return false;
}

/* runtime.text: in the table's header, or if that no longer has it (Go 1.26), in the module's data. */
static uint64_t find_text(const struct elf_file *file, const struct part *table)
{
	struct part module = section_part(file, ".go.module"), code;
	uint64_t text = word_at(file, table, HEADER_TEXT_AT);

	if (text && is_text(file, text))
		return text;
	text = word_at(file, &module, MODULE_TEXT_AT);
	if (text && is_text(file, text))
		return text;
	code = section_part(file, ".text");
	return code.bytes && is_text(file, code.vaddr) ? code.vaddr : 0;
}

static bool take_offset(struct cursor *c, const struct go_table *t, size_t *ret)
{
	uint64_t offset = cursor_u64(c);

	*ret = (size_t)offset;
	return !c->bad && offset < t->size;
}

static bool read_header(struct go_table *t)
{
	struct cursor c = cursor_of(t->bytes, t->size);
	uint32_t magic = cursor_u32(&c);
	uint16_t zero = cursor_u16(&c);
	uint8_t word_bytes;
	uint64_t func_cnt;

	t->quantum = cursor_u8(&c);
	word_bytes = cursor_u8(&c);
	if (c.bad || (magic != MAGIC_1_18 && magic != MAGIC_1_20) || zero || word_bytes != 8 ||
	    (t->quantum != 1 && t->quantum != 2 && t->quantum != 4))
		return false;
	t->has_start_line = magic == MAGIC_1_20;
	func_cnt = cursor_u64(&c);
	cursor_take(&c, 16);	/* number of files, start of the text */
	if (!take_offset(&c, t, &t->names) || !take_offset(&c, t, &t->units) || !take_offset(&c, t, &t->files) ||
	    !take_offset(&c, t, &t->values) || !take_offset(&c, t, &t->funcs))
		return false;
	/* pairs of entry and offset, then the end of the last function */
	if (func_cnt >= (t->size - t->funcs) / 8)
		return false;
	t->func_cnt = (uint32_t)func_cnt;
	return true;
}

static bool open_part(struct go_table *t, const struct elf_file *file, const struct part *part)
{
	*t = (struct go_table){ .bytes = part->bytes, .size = part->size, .vaddr = part->vaddr };
	if (!part->bytes || !read_header(t))
		return false;
	t->text = find_text(file, part);
	return t->text;
}

/* Other linkers merge the table into other data: for cgo in position-independent programs. */
static bool open_merged(struct go_table *t, const struct elf_file *file)
{
	struct part all = section_part(file, ".data.rel.ro");

	for (size_t at = 0; at + 16 < all.size; at += 16) {
		struct part part = { all.bytes + at, all.size - at, all.vaddr + at };

		if (all.bytes[at + 1] == 0xff && open_part(t, file, &part))
			return true;
	}
	return false;
}

bool go_table_open(struct go_table *t, const struct elf_file *file)
{
	struct part part;

	*t = (struct go_table){ 0 };
	if (!file->is_64_little)
		return false;
	part = section_part(file, ".gopclntab");
	if (!part.bytes)
		part = section_part(file, ".data.rel.ro.gopclntab");
	if (part.bytes)
		return open_part(t, file, &part);
	return elf_file_section_named(file, ".go.buildinfo") && open_merged(t, file);
}

static uint32_t u32_at(const struct go_table *t, size_t offset)
{
	uint32_t value;

	if (offset > t->size || t->size - offset < sizeof(value))
		return 0;
	memcpy(&value, t->bytes + offset, sizeof(value));
	return GUINT32_FROM_LE(value);
}

/* A string in the table; NULL if it is unterminated or too long. */
static const char *text_at(const struct go_table *t, size_t base, uint32_t offset)
{
	size_t at = base + offset;

	if (at >= t->size || !memchr(t->bytes + at, 0, MIN(t->size - at, NAME_MAX_BYTES)))
		return NULL;
	return (const char *)t->bytes + at;
}

static uint64_t entry_of(const struct go_table *t, uint32_t index)
{
	return t->text + u32_at(t, t->funcs + (size_t)index * 8);
}

/* A function is followed by offsets of tables of values, then by offsets of other data. */
static void read_inlined(const struct go_table *t, size_t func_at, struct go_func *ret)
{
	size_t at = func_at + (t->has_start_line ? FUNC_BYTES_1_20 : FUNC_BYTES);
	uint32_t value_cnt = u32_at(t, func_at + 28);

	ret->inline_values = 0;
	ret->inline_tree = UINT32_MAX;
	if (value_cnt <= INLINE_VALUES_INDEX)
		return;
	ret->inline_values = u32_at(t, at + 4 * INLINE_VALUES_INDEX);
	if (t->bytes[at - 1] > INLINE_TREE_INDEX && value_cnt < t->size / 4)
		ret->inline_tree = u32_at(t, at + 4 * ((size_t)value_cnt + INLINE_TREE_INDEX));
}

bool go_table_func(const struct go_table *t, uint32_t index, struct go_func *ret)
{
	size_t at;

	if (index >= t->func_cnt)
		return false;
	ret->start = entry_of(t, index);
	ret->end = entry_of(t, index + 1);
	at = t->funcs + u32_at(t, t->funcs + (size_t)index * 8 + 4);
	if (ret->start >= ret->end || ret->start < t->text || at > t->size ||
	    t->size - at < (t->has_start_line ? FUNC_BYTES_1_20 : FUNC_BYTES))
		return false;
	ret->name = text_at(t, t->names, u32_at(t, at + 4));
	ret->sp_values = u32_at(t, at + 16);
	ret->file_values = u32_at(t, at + 20);
	ret->line_values = u32_at(t, at + 24);
	ret->unit = u32_at(t, at + 32);
	read_inlined(t, at, ret);
	ret->flags = t->bytes[at + (t->has_start_line ? 41 : 37)];
	return ret->name;
}

bool go_table_find(const struct go_table *t, uint64_t vaddr, struct go_func *ret)
{
	uint32_t low = 0, high = t->func_cnt;

	while (low + 1 < high) {	/* the last one that starts at or before it */
		uint32_t mid = low + (high - low) / 2;

		if (entry_of(t, mid) <= vaddr)
			low = mid;
		else
			high = mid;
	}
	return go_table_func(t, low, ret) && vaddr >= ret->start && vaddr < ret->end;
}

bool go_table_is_returned_to(const struct go_func *f)
{
	return !strcmp(f->name, "runtime.systemstack_switch") ||
	       !strncmp(f->name, "runtime.sigreturn", strlen("runtime.sigreturn"));
}

void go_values(const struct go_table *t, const struct go_func *f, uint32_t offset, struct go_values *ret)
{
	size_t at = t->values + offset;
	bool is_there = offset && at < t->size;

	*ret = (struct go_values){
		.at = { .at = t->bytes + (is_there ? at : t->size), .end = t->bytes + t->size },
		.quantum = t->quantum, .from = f->start, .to = f->start, .end = f->end, .value = -1,
	};
}

/* Differences are zigzag encoded; 0 ends the table, except as the first one. */
bool go_values_next(struct go_values *v)
{
	uint64_t difference = cursor_uleb(&v->at), bytes = cursor_uleb(&v->at);
	uint32_t low = (uint32_t)difference;

	if (v->at.bad || difference > UINT32_MAX || bytes > UINT32_MAX || !bytes || v->to >= v->end ||
	    (!difference && v->has_begun))
		return false;
	v->has_begun = true;
	v->value = (int32_t)((uint32_t)v->value + (low & 1 ? ~(low >> 1) : low >> 1));
	v->from = v->to;
	v->to = MIN(v->to + bytes * v->quantum, v->end);
	return true;
}

bool go_table_value(const struct go_table *t, const struct go_func *f, uint32_t offset, uint64_t vaddr, int32_t *ret)
{
	struct go_values v;

	go_values(t, f, offset, &v);
	for (uint32_t steps = 0; steps < VALUE_STEPS_MAX && go_values_next(&v); steps++)
		if (vaddr >= v.from && vaddr < v.to) {
			*ret = v.value;
			return true;
		}
	return false;
}

const char *go_table_name(const struct go_table *t, uint32_t offset)
{
	size_t at = t->names + offset;

	return at < t->size && at && !t->bytes[at - 1] ? text_at(t, t->names, offset) : NULL;
}

bool go_table_named(const struct go_table *t, const char *name, struct go_func *ret)
{
	for (uint32_t i = 0; i < t->func_cnt; i++)
		if (go_table_func(t, i, ret) && !strcmp(ret->name, name))
			return true;
	return false;
}

const char *go_table_code_line(const struct go_table *t, const struct go_func *f, uint64_t vaddr, uint32_t *ret_line)
{
	int32_t file, line = 0;
	uint32_t offset;

	*ret_line = go_table_value(t, f, f->line_values, vaddr, &line) && line > 0 ? (uint32_t)line : 0;
	if (!go_table_value(t, f, f->file_values, vaddr, &file) || file < 0)
		return NULL;
	/* each compilation unit has a list of files: offsets into the names of all files */
	offset = u32_at(t, t->units + ((size_t)f->unit + (uint32_t)file) * 4);
	return offset == UINT32_MAX ? NULL : text_at(t, t->files, offset);
}

const char *go_table_line(const struct go_table *t, const struct go_func *f, uint64_t vaddr, uint32_t *ret_line)
{
	int32_t inlined;

	*ret_line = 0;
	if (go_table_value(t, f, f->inline_values, vaddr, &inlined) && inlined >= 0)
		return NULL;
	return go_table_code_line(t, f, vaddr, ret_line);
}
