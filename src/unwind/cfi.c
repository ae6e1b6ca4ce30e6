/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/cfi.h"

#include "base/cursor.h"
#include "base/each.h"
#include "unwind/arch.h"
#include "unwind/dwarf_cfi.h"

#define FDES_MAX (2u << 20)	/* 100 MB while building; four million rows need fewer */
#define CIES_MAX (1u << 18)
#define PENDING_MAX (1u << 18)	/* in practice there are none: CIEs come first */

uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, uint64_t vaddr, uint64_t data_base)
{
	uint64_t value = 0;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: value = cursor_u64(c); break;
	case DW_EH_PE_uleb128: value = cursor_uleb(c); break;
	case DW_EH_PE_udata2: value = cursor_u16(c); break;
	case DW_EH_PE_udata4: value = cursor_u32(c); break;
	case DW_EH_PE_sleb128: value = (uint64_t)cursor_sleb(c); break;
	case DW_EH_PE_sdata2: value = (uint64_t)(int64_t)(int16_t)cursor_u16(c); break;
	case DW_EH_PE_sdata4: value = (uint64_t)(int64_t)(int32_t)cursor_u32(c); break;
	default:
		c->bad = true;
	}
	switch (encoding & 0xf0) {	/* text- and function-relative, aligned, indirect: never for code addresses */
	case 0:
		break;
	case DW_EH_PE_pcrel: value += vaddr; break;
	case DW_EH_PE_datarel:
		value += data_base;
		c->bad |= !data_base;
		break;
	default:
		c->bad = true;
	}
	return c->bad ? 0 : value;
}

static uint64_t vaddr_of(const struct cfi_section *s, const struct cursor *c)
{
	return s->vaddr + (uint64_t)(c->at - s->bytes);
}

/* "zR", "zPLR", "zRS", ...: false if a letter is unknown. */
static bool read_augmentation(struct cursor *c, const char *letters, struct cfi_cie *cie)
{
	struct cursor data;
	uint64_t bytes;

	if (!letters[0])
		return true;
	if (letters[0] != 'z')
		return false;
	cie->has_augmentation_data = true;
	bytes = cursor_uleb(c);
	data = *c;
	if (!cursor_take(c, bytes))
		return false;
	data.end = c->at;
	for (const char *l = letters + 1; *l; l++) {
		if (*l == 'R') {
			cie->encoding = cursor_u8(&data);
		} else if (*l == 'L') {
			cursor_u8(&data);
		} else if (*l == 'P') {	/* the value is ignored, so its base does not matter */
			uint8_t encoding = cursor_u8(&data);

			if (encoding != DW_EH_PE_omit)
				cfi_pointer(&data, encoding & 0x0f, 0, 0);
		} else if (*l != 'S' && *l != 'B') {	/* S: a signal's frame; B: return addresses signed with key B, on arm64 */
			return false;
		}
	}
	return !data.bad;
}

static bool read_cie(struct cursor c, const struct cfi_section *s, const struct unwind_arch *arch, struct cfi_cie *ret)
{
	uint8_t version = cursor_u8(&c);
	const char *letters = (const char *)c.at;
	const uint8_t *end = memchr(c.at, 0, cursor_left(&c));
	uint64_t ra;

	*ret = (struct cfi_cie){ .section = s };
	if ((version != 1 && version != 3 && version != 4) || !end)
		return false;
	cursor_take(&c, (size_t)(end - c.at) + 1);
	if (version == 4 && (cursor_u8(&c) != 8 || cursor_u8(&c)))	/* address size, segment selector size */
		return false;
	ret->code_align = cursor_uleb(&c);
	ret->data_align = cursor_sleb(&c);
	ra = version == 1 ? cursor_u8(&c) : cursor_uleb(&c);
	ret->is_foreign = ra != arch->ra_reg;
	if (!read_augmentation(&c, letters, ret) || c.bad)
		return false;
	ret->init = c.at;
	ret->init_bytes = cursor_left(&c);
	cfi_cie_init_state(ret, arch);
	return true;
}

static void add_fde(struct cfi_entries *e, struct cursor c, const struct cfi_section *s, uint32_t cie_no)
{
	const struct cfi_cie *cie = &g_array_index(e->cies, struct cfi_cie, cie_no);
	struct cfi_fde fde = { .cie = cie_no, .order = e->fdes->len };
	uint64_t size;

	fde.start = cfi_pointer(&c, cie->encoding, vaddr_of(s, &c), 0);
	size = cfi_pointer(&c, cie->encoding & 0x0f, 0, 0);
	if (cie->has_augmentation_data)
		cursor_take(&c, cursor_uleb(&c));
	if (c.bad || __builtin_add_overflow(fde.start, size, &fde.end)) {
		e->bad_cnt++;
		return;
	}
	if (!size)	/* a function that the linker dropped */
		return;
	if (e->fdes->len >= FDES_MAX) {
		e->is_cut = true;
		return;
	}
	fde.program = c.at;
	fde.program_bytes = (uint32_t)cursor_left(&c);
	g_array_append_val(e->fdes, fde);
}

struct entry {
	struct cursor body;
	uint64_t offset;	/* of the entry in its section */
	uint64_t id_offset;
	uint64_t id;
	bool is_cie;
};

/* False at the end. */
static bool next_entry(struct cursor *c, const struct cfi_section *s, struct entry *ret)
{
	uint64_t bytes;
	bool is_64 = false;

	do {
		if (cursor_left(c) < 4)
			return false;
		ret->offset = (uint64_t)(c->at - s->bytes);
		bytes = cursor_u32(c);
		if (!bytes && s->ends_at_zero)
			return false;
	} while (!bytes);
	if (bytes == UINT32_MAX) {
		bytes = cursor_u64(c);
		is_64 = true;
	}
	ret->body = *c;
	if (!cursor_take(c, bytes))
		return false;
	ret->body.end = c->at;
	ret->id_offset = (uint64_t)(ret->body.at - s->bytes);
	ret->id = is_64 ? cursor_u64(&ret->body) : cursor_u32(&ret->body);
	if (s->is_debug)
		ret->is_cie = ret->id == (is_64 ? UINT64_MAX : UINT32_MAX);
	else
		ret->is_cie = !ret->id;
	return true;
}

/* FDEs for the second pass: their CIE may come after them. */
struct pending_fde {
	struct cursor body;
	uint64_t cie_offset;
};

static void add_pending(struct cfi_entries *e, const struct cfi_section *s, GArray *pending, GHashTable *cies)
{
	EACH_ROW(i, const struct pending_fde, p, pending) {
		gpointer no;

		if (g_hash_table_lookup_extended(cies, GSIZE_TO_POINTER(p->cie_offset), NULL, &no))
			add_fde(e, p->body, s, GPOINTER_TO_UINT(no));
		else
			e->bad_cnt++;
	}
}

struct adding {
	struct cfi_entries *e;
	const struct cfi_section *s;
	const struct unwind_arch *arch;
	GHashTable *cies;	/* offset -> index */
	GArray *pending;	/* struct pending_fde */
	uint64_t last_offset;	/* most FDEs follow their CIE, or another FDE of it */
	uint32_t last_no;
};

static void add_cie(struct adding *a, const struct entry *entry)
{
	struct cfi_cie cie;

	if (a->e->cies->len >= CIES_MAX || entry->body.bad || !read_cie(entry->body, a->s, a->arch, &cie)) {
		a->e->bad_cnt++;
		return;
	}
	a->last_offset = entry->offset;
	a->last_no = a->e->cies->len;
	g_array_append_val(a->e->cies, cie);
	g_hash_table_insert(a->cies, GSIZE_TO_POINTER(entry->offset), GUINT_TO_POINTER(a->last_no));
}

static void take_fde(struct adding *a, const struct entry *entry)
{
	uint64_t offset = a->s->is_debug ? entry->id : entry->id_offset - entry->id;
	struct pending_fde later = { entry->body, offset };
	gpointer no;

	if (entry->body.bad || offset >= a->s->size) {
		a->e->bad_cnt++;
	} else if (offset == a->last_offset) {
		add_fde(a->e, entry->body, a->s, a->last_no);
	} else if (g_hash_table_lookup_extended(a->cies, GSIZE_TO_POINTER(offset), NULL, &no)) {
		a->last_offset = offset;
		a->last_no = GPOINTER_TO_UINT(no);
		add_fde(a->e, entry->body, a->s, a->last_no);
	} else if (offset < entry->offset) {
		a->e->bad_cnt++;
	} else if (a->pending->len < PENDING_MAX) {
		g_array_append_val(a->pending, later);
	} else {
		a->e->is_cut = true;
	}
}

/*
 * Only entries found by scanning the section count as CIEs: an FDE that points into another entry could make the work
 * quadratic.
 */
void cfi_entries_add(struct cfi_entries *e, const struct cfi_section *s, const struct unwind_arch *arch)
{
	struct cursor c = cursor_of(s->bytes, s->size);
	g_autoptr(GHashTable) cies = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) pending = g_array_new(FALSE, FALSE, sizeof(struct pending_fde));
	struct adding a = { .e = e, .s = s, .arch = arch, .cies = cies, .pending = pending,
			    .last_offset = UINT64_MAX };
	struct entry entry;

	while (next_entry(&c, s, &entry)) {
		if (entry.is_cie)
			add_cie(&a, &entry);
		else
			take_fde(&a, &entry);
	}
	add_pending(e, s, pending, cies);
}

void cfi_entries_init(struct cfi_entries *e)
{
	*e = (struct cfi_entries){ .cies = g_array_new(FALSE, FALSE, sizeof(struct cfi_cie)),
				   .fdes = g_array_new(FALSE, FALSE, sizeof(struct cfi_fde)) };
}

void cfi_entries_clear(struct cfi_entries *e)
{
	g_array_unref(e->cies);
	g_array_unref(e->fdes);
}
