/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "unwind/frames.h"

#include <string.h>

#include "base/order.h"

#define GAP_BYTES_MIN 16	/* smaller ones are padding */
/*
 * Less than that, and less than this fraction of the text, comes from the C runtime's start-up and from assembly. More
 * is a program deliberately built without tables, thus with frame pointers (Chromium: 228 MB).
 */
#define GAPS_BYTES_MIN 4096
#define GAPS_PART 8
#define GAPS_BYTES_MAX (8u << 20)
/* Calls into the gaps are searched in this much text around them. */
#define SCAN_BYTES_MAX (32u << 20)
#define POINTERS_MAX (1u << 20)
#define ENTRIES_MAX (8u << 20)	/* limit of symbols, relocations and pointers examined */
#define TEXTS_MAX 32

struct text {
	Elf_Scn *scn;
	uint64_t start, end;
};

ORDER(text_cmp, struct text, ORDER_LOW(start))

/* By address, without overlaps. */
static GArray *texts_of(const struct elf_file *file)
{
	GArray *texts = g_array_new(FALSE, FALSE, sizeof(struct text));
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	uint64_t end = 0;
	guint kept = 0;

	while (texts->len < TEXTS_MAX && (scn = elf_nextscn(file->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS || !(sh.sh_flags & SHF_EXECINSTR) ||
		    sh.sh_flags & SHF_COMPRESSED || sh.sh_size > UINT64_MAX - sh.sh_addr ||
		    g_str_has_prefix(elf_file_section_name(file, &sh) ?: "", ".plt"))
			continue;
		g_array_append_val(texts, ((struct text){ scn, sh.sh_addr, sh.sh_addr + sh.sh_size }));
	}
	g_array_sort(texts, text_cmp);
	for (guint i = 0; i < texts->len; i++) {
		struct text text = g_array_index(texts, struct text, i);

		if (text.start < end)
			continue;
		end = text.end;
		g_array_index(texts, struct text, kept++) = text;
	}
	g_array_set_size(texts, kept);
	return texts;
}

/* Its bytes in the file; NULL: none, or not all. */
static const uint8_t *code_of(const struct text *t)
{
	Elf_Data *data = elf_rawdata(t->scn, NULL);

	return data && data->d_buf && data->d_size == t->end - t->start ? data->d_buf : NULL;
}

const struct code_gap *code_gap_of(const GArray *gaps, uint64_t vaddr)
{
	guint low = 0, high = gaps->len;

	while (low < high) {
		guint mid = low + (high - low) / 2;
		const struct code_gap *g = &g_array_index(gaps, struct code_gap, mid);

		if (vaddr >= g->start && vaddr < g->end)
			return g;
		if (vaddr < g->start)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static void add_gap(GArray *gaps, uint64_t start, uint64_t end)
{
	if (end - start >= GAP_BYTES_MIN)
		g_array_append_val(gaps, ((struct code_gap){ .start = start, .end = end }));
}

/* The text of a section that no FDE from *next on covers. */
static void add_gaps(const struct text *t, const GArray *fdes, guint *next, GArray *gaps)
{
	uint64_t at = t->start;

	for (; *next < fdes->len; ++*next) {
		const struct cfi_fde *fde = &g_array_index(fdes, struct cfi_fde, *next);

		if (fde->start >= t->end)
			break;
		if (fde->start > at)
			add_gap(gaps, at, fde->start);
		at = MAX(at, MIN(fde->end, t->end));
		if (fde->end > t->end)	/* it extends into the next section */
			break;
	}
	if (at < t->end)
		add_gap(gaps, at, t->end);
}

/* Reads the gaps' code, without padding; returns the sum of their bytes. */
static uint32_t read_gaps(const GArray *texts, const struct code_arch *arch, GArray *gaps)
{
	uint32_t bytes = 0;
	guint kept = 0, text = 0;

	for (guint i = 0; i < gaps->len; i++) {
		struct code_gap gap = g_array_index(gaps, struct code_gap, i);

		while (gap.start >= g_array_index(texts, struct text, text).end)
			text++;
		gap.code = code_of(&g_array_index(texts, struct text, text));
		if (!gap.code)
			continue;
		gap.code += gap.start - g_array_index(texts, struct text, text).start;
		while (gap.start < gap.end && arch->is_padding(gap.code, gap.end - gap.start)) {
			struct code_state unused = arch->entry;
			size_t filling = MAX(arch->step(gap.code, gap.end - gap.start, gap.start, &unused).bytes,
					     arch->insn_bytes);

			filling = MIN(filling, gap.end - gap.start);
			gap.start += filling;
			gap.code += filling;
		}
		gap.at = bytes;
		bytes += (uint32_t)(gap.end - gap.start);
		if (gap.end > gap.start)
			g_array_index(gaps, struct code_gap, kept++) = gap;
	}
	g_array_set_size(gaps, kept);
	return bytes;
}

uint32_t code_gaps_find(const struct elf_file *file, const struct code_arch *arch, const GArray *fdes, GArray *gaps)
{
	g_autoptr(GArray) texts = texts_of(file);
	uint64_t bytes = 0, all = 0;
	guint next = 0;

	EACH_ROW(i, const struct text, t, texts) {
		add_gaps(t, fdes, &next, gaps);
		all += t->end - t->start;
	}
	for (guint i = 0; i < gaps->len; i++)
		bytes += g_array_index(gaps, struct code_gap, i).end - g_array_index(gaps, struct code_gap, i).start;
	if ((bytes >= GAPS_BYTES_MIN || bytes > all / GAPS_PART) && bytes <= GAPS_BYTES_MAX)
		return read_gaps(texts, arch, gaps);
	g_array_set_size(gaps, 0);
	return 0;
}

struct finder {
	const struct code_arch *arch;
	const struct elf_file *file;
	const GArray *fdes, *gaps;
	GArray *starts, *guesses;
	uint64_t entries_left, bytes_left;	/* limited, because sections may overlap, and so may FDEs */
	bool is_fixed;	/* the program is not relocated */
	uint64_t *near;	/* a bit for each block of text: does it contain a part of a gap? NULL: not known */
	uint64_t near_start, near_bytes;
};

static void add_if_in_gap(const struct finder *f, GArray *to, uint64_t vaddr)
{
	if (to->len < POINTERS_MAX && code_gap_of(f->gaps, vaddr))
		g_array_append_val(to, vaddr);
}

static bool may_look(struct finder *f)
{
	f->entries_left -= f->entries_left > 0;
	return f->entries_left > 0;
}

static void add_symbols(struct finder *f, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t cnt = data && sh->sh_entsize ? MIN(data->d_size / sh->sh_entsize, POINTERS_MAX) : 0;

	for (size_t i = 0; i < cnt && may_look(f); i++) {
		GElf_Sym sym;

		if (gelf_getsym(data, (int)i, &sym) && sym.st_shndx != SHN_UNDEF &&
		    (GELF_ST_TYPE(sym.st_info) == STT_FUNC || GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC))
			add_if_in_gap(f, f->starts, sym.st_value);
	}
}

/* Pointers that the loader writes into the program. */
static void add_relocated(struct finder *f, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t cnt = data && sh->sh_entsize ? MIN(data->d_size / sh->sh_entsize, POINTERS_MAX) : 0;

	for (size_t i = 0; i < cnt && may_look(f); i++) {
		GElf_Rela rela;

		if (gelf_getrela(data, (int)i, &rela) &&
		    (GELF_R_TYPE(rela.r_info) == f->arch->relative || GELF_R_TYPE(rela.r_info) == f->arch->irelative))
			add_if_in_gap(f, f->guesses, (uint64_t)rela.r_addend);
	}
}

/* A program that is not relocated has its pointers in the file. */
static void add_pointers(struct finder *f, Elf_Scn *scn)
{
	Elf_Data *data = elf_rawdata(scn, NULL);

	for (size_t i = 0; data && data->d_buf && i + 8 <= data->d_size && may_look(f); i += 8) {
		uint64_t value;

		memcpy(&value, (const char *)data->d_buf + i, 8);
		add_if_in_gap(f, f->guesses, value);
	}
}

static void add_section(struct finder *f, Elf_Scn *scn)
{
	GElf_Shdr sh;

	if (!gelf_getshdr(scn, &sh) || sh.sh_flags & SHF_COMPRESSED)
		return;
	if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
		add_symbols(f, scn, &sh);
	else if (sh.sh_type == SHT_RELA)
		add_relocated(f, scn, &sh);
	else if (f->is_fixed && sh.sh_type != SHT_NOBITS && sh.sh_flags & SHF_WRITE && sh.sh_flags & SHF_ALLOC)
		add_pointers(f, scn);
}

/* ---- calls: most functions have none into a gap, which is detected without decoding each instruction */

#define BLOCK_SHIFT 6
#define NEAR_BYTES_MAX (1u << 30)

static uint64_t *block_word(const struct finder *f, uint64_t at)
{
	return &f->near[at >> (BLOCK_SHIFT + 6)];
}

static void find_near(struct finder *f)
{
	uint64_t start = g_array_index(f->gaps, struct code_gap, 0).start,
		 bytes = g_array_index(f->gaps, struct code_gap, f->gaps->len - 1).end - start;

	if (!f->arch->leads_by_words || bytes > NEAR_BYTES_MAX)
		return;
	f->near_start = start;
	f->near_bytes = bytes;
	f->near = g_new0(uint64_t, (bytes >> (BLOCK_SHIFT + 6)) + 1);
	EACH_ROW(i, const struct code_gap, g, f->gaps) {
		for (uint64_t at = (g->start - start) >> BLOCK_SHIFT << BLOCK_SHIFT; at < g->end - start;
		     at += 1u << BLOCK_SHIFT)
			*block_word(f, at) |= 1ull << (at >> BLOCK_SHIFT & 63);
	}
}

static inline bool is_near(const struct finder *f, uint64_t vaddr)
{
	uint64_t at = vaddr - f->near_start;

	return at < f->near_bytes && *block_word(f, at) >> (at >> BLOCK_SHIFT & 63) & 1;
}

/* False: no instruction of a function leads into a gap or takes an address there. An eighth of decoding's cost. */
static bool may_lead(struct finder *f, const uint8_t *code, uint64_t vaddr, uint64_t bytes)
{
	bool is_beside = !f->near;

	for (uint64_t at = 0; !is_beside && at < bytes + 2 * CODE_NEAR; at += 1u << BLOCK_SHIFT)
		is_beside = is_near(f, vaddr + at - CODE_NEAR);
	if (is_beside || is_near(f, vaddr + bytes + CODE_NEAR))
		return true;
	f->bytes_left -= MIN(bytes / 8, f->bytes_left);
	for (uint64_t at = 0; at + 4 <= bytes && f->bytes_left; at++) {
		int32_t word;

		memcpy(&word, code + at, sizeof(word));
		if (is_near(f, vaddr + at + 4 + (uint64_t)(int64_t)word) || (f->is_fixed && is_near(f, (uint32_t)word)))
			return true;
	}
	return false;
}

/* Calls from text with FDEs: where its instructions begin is known. */
static void add_calls(struct finder *f, const uint8_t *code, uint64_t vaddr, uint64_t bytes)
{
	struct code_state unused = f->arch->entry;

	for (uint64_t at = 0; at < bytes && f->bytes_left;) {
		struct code_step step = f->arch->step(code + at, bytes - at, vaddr + at, &unused);

		if (!step.bytes)
			break;
		f->bytes_left -= MIN(step.bytes, f->bytes_left);
		at += step.bytes;
		if (step.flow == CODE_CALLS || step.flow == CODE_JUMPS)
			add_if_in_gap(f, f->starts, step.target);
		uint64_t taken = code_step_taken(&step, f->is_fixed);

		if (taken)
			add_if_in_gap(f, f->guesses, taken);
	}
}

static void add_calls_of_text(struct finder *f, const struct text *t)
{
	const uint8_t *code = code_of(t);

	EACH_ROW_WHILE(i, const struct cfi_fde, fde, f->fdes, code) {
		uint64_t start = MAX(fde->start, t->start), end = MIN(fde->end, t->end);

		if (start < end && may_lead(f, code + (start - t->start), start, end - start))
			add_calls(f, code + (start - t->start), start, end - start);
	}
}

ORDER_NUMBERS(address_cmp, uint64_t)

/* Sorted, without duplicates. */
static void sort_unique(GArray *addresses)
{
	guint kept = 0;

	g_array_sort(addresses, address_cmp);
	for (guint i = 0; i < addresses->len; i++) {
		uint64_t at = g_array_index(addresses, uint64_t, i);

		if (!kept || g_array_index(addresses, uint64_t, kept - 1) != at)
			g_array_index(addresses, uint64_t, kept++) = at;
	}
	g_array_set_size(addresses, kept);
}

bool code_starts_find(const struct elf_file *file, const struct code_arch *arch, const GArray *fdes, const GArray *gaps,
		      GArray *starts, GArray *guesses)
{
	struct finder f = {
		.arch = arch, .file = file, .fdes = fdes, .gaps = gaps, .starts = starts, .guesses = guesses,
		.entries_left = ENTRIES_MAX, .bytes_left = SCAN_BYTES_MAX,
	};
	g_autoptr(GArray) texts = texts_of(file);
	Elf_Scn *scn = NULL;
	GElf_Ehdr header;

	if (!gelf_getehdr(file->elf, &header))
		return false;
	f.is_fixed = header.e_type == ET_EXEC;
	add_if_in_gap(&f, starts, header.e_entry);
	while ((scn = elf_nextscn(file->elf, scn)))
		add_section(&f, scn);
	find_near(&f);
	for (guint i = 0; i < texts->len; i++)
		add_calls_of_text(&f, &g_array_index(texts, struct text, i));
	g_free(f.near);
	sort_unique(starts);
	sort_unique(guesses);
	return f.is_fixed;
}
