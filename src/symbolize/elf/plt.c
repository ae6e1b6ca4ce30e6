/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "symbolize/elf/reader.h"
#include "base/order.h"

/*
 * Linkers use many layouts for these sections (lazy, with ENDBR64, BND, 8 or 16 bytes; on arm64 with "bti c", 16 or
 * 24 bytes). But every entry jumps through a slot, "jmp *DISTANCE(%rip)" or the target of "ldr x17, [x16, OFFSET]",
 * and a relocation gives the slot's symbol. Only the first half of a lazy entry with ENDBR64 pushes the index of its
 * relocation instead. So entries are decoded, not counted.
 */
#define PLT_MAX_BYTES (4u << 20)
#define RELOCATIONS_MAX_BYTES (64u << 20)
#define NAME_MAX_BYTES 1024u
#define NAMES_MAX_BYTES (32u << 20)	/* many entries may have the same long name */
#define ENTRY_BYTES 16u

struct slot {
	uint64_t addr;
	uint64_t resolver;	/* of an IFUNC */
	uint32_t symbol;	/* in .dynsym, 0: see resolver */
};

struct plt_reader {
	struct elf_reader *r;
	GArray *slots;	/* struct slot by address */
	GArray *lazy;	/* struct slot in the order of .rela.plt */
	Elf_Data *symbols, *strings;
	GArray *raw;
	GString *names;
};

ORDER(slot_compare, struct slot, ORDER_LOW(addr))

static bool takes_resolver(const struct plt_reader *p, uint64_t type)
{
	return type == (p->r->machine == EM_AARCH64 ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE);
}

static bool takes_symbol(const struct plt_reader *p, uint64_t type)
{
	return p->r->machine == EM_AARCH64 ? type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT :
					     type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

static void read_relocations(struct plt_reader *p, Elf_Scn *scn)
{
	GElf_Shdr sh;
	Elf_Data *data;
	bool has_symbols;
	size_t cnt;

	if (!gelf_getshdr(scn, &sh) || sh.sh_size > RELOCATIONS_MAX_BYTES || !(data = elf_getdata(scn, NULL)))
		return;
	has_symbols = p->r->dynsym && sh.sh_link == elf_ndxscn(p->r->dynsym);
	cnt = data->d_size / gelf_fsize(p->r->elf, ELF_T_RELA, 1, EV_CURRENT);
	for (size_t i = 0; i < cnt; i++) {
		struct slot slot = { 0 };
		GElf_Rela rela;
		uint64_t type;

		if (!gelf_getrela(data, (int)i, &rela))
			return;
		type = GELF_R_TYPE(rela.r_info);
		slot.addr = rela.r_offset;
		if (takes_resolver(p, type))
			slot.resolver = (uint64_t)rela.r_addend;
		else if (has_symbols && takes_symbol(p, type))
			slot.symbol = (uint32_t)GELF_R_SYM(rela.r_info);
		if (scn == p->r->plt_relocations)
			g_array_append_val(p->lazy, slot);
		if (slot.symbol || slot.resolver)
			g_array_append_val(p->slots, slot);
	}
}

/* The name of a symbol in .dynsym and its length. NULL: none. */
static const char *symbol_name(const struct plt_reader *p, uint32_t symbol, size_t *ret_len)
{
	const char *name;
	GElf_Sym sym;

	if (!p->symbols || !p->strings || symbol > G_MAXINT || !gelf_getsym(p->symbols, (int)symbol, &sym) ||
	    sym.st_name >= p->strings->d_size)
		return NULL;
	name = (const char *)p->strings->d_buf + sym.st_name;
	*ret_len = strnlen(name, MIN(p->strings->d_size - sym.st_name, NAME_MAX_BYTES));
	return *ret_len ? name : NULL;
}

/* Appends "NAME@plt" to the names. False: it has no name. */
static bool append_name(struct plt_reader *p, const struct slot *slot)
{
	const struct symtab *known = &p->r->table->symbols;
	const struct symtab_entry *e;
	const char *name;
	size_t len;

	if (slot->symbol) {
		name = symbol_name(p, slot->symbol, &len);
		if (!name)
			return false;
		g_string_append_len(p->names, name, (gssize)len);
	} else {
		e = slot->resolver ? symtab_find(known, slot->resolver) : NULL;
		if (!e || e->addr != slot->resolver)
			return false;
		name = symtab_name(known, e);
		g_string_append_len(p->names, name, (gssize)MIN(strcspn(name, "@"), NAME_MAX_BYTES));
	}
	g_string_append(p->names, "@plt");
	return true;
}

static int32_t number_at(const uint8_t *bytes)
{
	return (int32_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
			 (uint32_t)bytes[3] << 24);
}

static const struct slot *slot_at(const struct plt_reader *p, uint64_t addr)
{
	const struct slot key = { .addr = addr };

	return p->slots->len ? bsearch(&key, p->slots->data, p->slots->len, sizeof(key), slot_compare) : NULL;
}

/* The slot that the entry at addr uses, or NULL. */
static const struct slot *slot_of(const struct plt_reader *p, uint64_t addr, const uint8_t *bytes, size_t len)
{
	static const uint8_t endbr64_push[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68 };

	for (size_t i = 0; i + 6 <= len; i++) {
		const struct slot *found;

		if (bytes[i] != 0xff || bytes[i + 1] != 0x25)
			continue;
		found = slot_at(p, addr + i + 6 + (uint64_t)(int64_t)number_at(bytes + i + 2));
		if (found)
			return found;
	}
	if (len >= 9 && !memcmp(bytes, endbr64_push, sizeof(endbr64_push))) {
		uint32_t n = (uint32_t)number_at(bytes + 5);

		return n < p->lazy->len ? &g_array_index(p->lazy, struct slot, n) : NULL;
	}
	return NULL;
}

/* unknown: the name for entries without a slot, which mostly resolve the others. */
static void add_entry(struct plt_reader *p, uint64_t start, uint64_t end, const struct slot *slot, uint32_t unknown)
{
	struct symtab_raw raw = { .addr = start, .end = end, .sized = true, .name = (uint32_t)p->names->len };

	if (slot && append_name(p, slot))
		g_string_append_c(p->names, 0);
	else
		raw.name = unknown;
	g_array_append_val(p->raw, raw);
}

static void read_entries_x86_64(struct plt_reader *p, const GElf_Shdr *sh, const Elf_Data *data, uint32_t unknown)
{
	size_t entry_bytes = sh->sh_entsize == 8 ? 8 : ENTRY_BYTES;

	for (size_t at = 0; at < data->d_size && p->names->len < NAMES_MAX_BYTES; at += entry_bytes) {
		size_t len = MIN(entry_bytes, data->d_size - at);
		const struct slot *slot = slot_of(p, sh->sh_addr + at, (const uint8_t *)data->d_buf + at, len);

		add_entry(p, sh->sh_addr + at, sh->sh_addr + at + len, slot, unknown);
	}
}

#define AARCH64_BTI_C 0xd503245fU

/* The slot of "adrp x16, PAGE; ldr x17, [x16, OFFSET]" at addr. NULL: other code. */
static const struct slot *slot_of_aarch64(const struct plt_reader *p, uint64_t addr, const uint8_t *bytes)
{
	uint32_t adrp = (uint32_t)number_at(bytes), ldr = (uint32_t)number_at(bytes + 4);
	int64_t pages;

	if ((adrp & 0x9f00001fU) != 0x90000010U || (ldr & 0xffc003ffU) != 0xf9400211U)
		return NULL;
	pages = (int64_t)((uint64_t)(adrp >> 5 & 0x7ffff) << 45) >> 43 | (adrp >> 29 & 3);
	return slot_at(p, (addr & ~UINT64_C(0xfff)) + ((uint64_t)pages << 12) + (uint64_t)(ldr >> 10 & 0xfff) * 8);
}

/* An entry extends to the next one. */
static void read_entries_aarch64(struct plt_reader *p, const GElf_Shdr *sh, const Elf_Data *data, uint32_t unknown)
{
	const uint8_t *bytes = data->d_buf;
	const struct slot *slot = NULL;
	size_t start = 0, at;

	for (at = 0; at + 8 <= data->d_size && p->names->len < NAMES_MAX_BYTES; at += 4) {
		const struct slot *found = slot_of_aarch64(p, sh->sh_addr + at, bytes + at);
		bool is_behind_bti = at >= 4 && (uint32_t)number_at(bytes + at - 4) == AARCH64_BTI_C;
		size_t begin = is_behind_bti ? at - 4 : at;

		if (!found)
			continue;
		if (begin > start)
			add_entry(p, sh->sh_addr + start, sh->sh_addr + begin, slot, unknown);
		start = begin;
		slot = found;
	}
	if (at + 8 > data->d_size)
		at = data->d_size;
	if (at > start)
		add_entry(p, sh->sh_addr + start, sh->sh_addr + at, slot, unknown);
}

static void read_entries(struct plt_reader *p, Elf_Scn *scn)
{
	uint32_t unknown = (uint32_t)p->names->len;
	Elf_Data *data;
	GElf_Shdr sh;

	if (!gelf_getshdr(scn, &sh) || sh.sh_size > PLT_MAX_BYTES || sh.sh_addr > UINT64_MAX - sh.sh_size ||
	    !(data = elf_rawdata(scn, NULL)) || !data->d_buf || data->d_size > sh.sh_size)
		return;
	g_string_append_len(p->names, "[plt]", sizeof("[plt]"));
	if (p->r->machine == EM_AARCH64)
		read_entries_aarch64(p, &sh, data, unknown);
	else
		read_entries_x86_64(p, &sh, data, unknown);
}

void elf_plt_read(struct elf_reader *r)
{
	struct plt_reader p = { .r = r };
	size_t names_bytes;
	GElf_Shdr sh;

	if (!r->plt_cnt || (r->machine != EM_X86_64 && r->machine != EM_AARCH64))
		return;
	p.slots = g_array_new(FALSE, FALSE, sizeof(struct slot));
	p.lazy = g_array_new(FALSE, FALSE, sizeof(struct slot));
	p.raw = g_array_new(FALSE, FALSE, sizeof(struct symtab_raw));
	p.names = g_string_new(NULL);
	if (r->dynsym && gelf_getshdr(r->dynsym, &sh)) {
		p.symbols = elf_reader_symbols(r, r->dynsym);
		p.strings = elf_reader_names(r, &sh);
	}
	for (size_t i = 0; i < r->relocation_cnt; i++)
		read_relocations(&p, r->relocations[i]);
	if (p.slots->len)
		qsort(p.slots->data, p.slots->len, sizeof(struct slot), slot_compare);
	for (size_t i = 0; i < r->plt_cnt; i++)
		read_entries(&p, r->plts[i]);
	names_bytes = p.names->len + 1;
	symtab_build(&r->table->plt, p.raw, g_string_free(p.names, FALSE), names_bytes);
	g_array_unref(p.slots);
	g_array_unref(p.lazy);
	g_array_unref(p.raw);
}
