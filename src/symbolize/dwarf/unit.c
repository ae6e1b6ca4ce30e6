/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/dwarf/unit.h"

#include "base/each.h"

#define HEADER_MAX_BYTES 40
#define UNIT_MAX_BYTES ((size_t)256 << 20)
#define INDIRECT_MAX 4

static bool versions_rest(struct cursor *c, struct dwarf_unit_head *h)
{
	h->version = cursor_u16(c);
	h->type = DW_UT_compile;
	if (h->version < 2 || h->version > 5)
		return false;
	if (h->version == 5) {
		h->type = cursor_u8(c);
		h->address_bytes = cursor_u8(c);
	}
	h->abbrev_off = h->offset_bytes == 8 ? cursor_u64(c) : cursor_u32(c);
	if (h->version < 5)
		h->address_bytes = cursor_u8(c);
	if (h->type == DW_UT_skeleton || h->type == DW_UT_split_compile)
		cursor_take(c, 8);
	else if (h->type == DW_UT_type || h->type == DW_UT_split_type)
		cursor_take(c, 8u + h->offset_bytes);
	return !c->bad && (h->address_bytes == 4 || h->address_bytes == 8);
}

bool dwarf_unit_head(struct dwarf_image *im, uint64_t off, struct dwarf_unit_head *ret)
{
	uint64_t size = dwarf_section_bytes(im, DWARF_INFO), len;
	uint8_t bytes[HEADER_MAX_BYTES];
	struct cursor c = { .at = bytes };

	if (off >= size)
		return false;
	c.end = bytes + MIN(sizeof(bytes), size - off);
	if (!dwarf_section_read(im, DWARF_INFO, off, bytes, (size_t)(c.end - bytes)))
		return false;
	*ret = (struct dwarf_unit_head){ .off = off, .offset_bytes = 4 };
	len = cursor_u32(&c);
	if (len == UINT32_MAX) {
		len = cursor_u64(&c);
		ret->offset_bytes = 8;
	}
	if (c.bad || __builtin_add_overflow(off + (uint64_t)(c.at - bytes), len, &ret->end) || ret->end > size || !len)
		return false;
	if (!versions_rest(&c, ret))
		ret->version = 0;	/* unknown version: skip it */
	ret->header_bytes = (uint32_t)(c.at - bytes);
	return true;
}

static bool offset_value(const struct dwarf_unit *u, struct cursor *c, uint64_t bytes, uint64_t *ret)
{
	*ret = bytes == 8 ? cursor_u64(c) : cursor_u32(c);
	return !c->bad;
}

/* Reads a number of 1, 2, 3, 4, 8 or 16 bytes. 16 bytes are skipped, because nothing we need has them. */
static uint64_t sized_value(struct cursor *c, int bytes)
{
	switch (bytes) {
	case 0: return 1;	/* DW_FORM_flag_present */
	case 1: return cursor_u8(c);
	case 2: return cursor_u16(c);
	case 3: {
		uint64_t low = cursor_u16(c);

		return low | (uint64_t)cursor_u8(c) << 16;
	}
	case 4: return cursor_u32(c);
	case 8: return cursor_u64(c);
	default: cursor_take(c, (uint64_t)bytes); return 0;
	}
}

bool dwarf_value_read(const struct dwarf_unit *u, struct cursor *c, uint64_t form, struct dwarf_value *ret)
{
	int bytes = dwarf_form_bytes(form, u->head.address_bytes, u->head.offset_bytes, u->head.version);
	const uint8_t *at, *end;

	ret->form = (uint16_t)form;
	if (bytes >= 0) {
		ret->u = sized_value(c, bytes);
		return !c->bad;
	}
	switch (form) {
	case DW_FORM_string:
		at = c->at;
		end = memchr(at, 0, cursor_left(c));
		ret->u = (uint64_t)(at - u->bytes);
		cursor_take(c, end ? (uint64_t)(end - at) + 1 : UINT64_MAX);
		return !c->bad;
	case DW_FORM_udata: case DW_FORM_ref_udata: case DW_FORM_strx: case DW_FORM_addrx: case DW_FORM_loclistx:
	case DW_FORM_rnglistx: case DW_FORM_GNU_addr_index: case DW_FORM_GNU_str_index:
		ret->u = cursor_uleb(c);
		return !c->bad;
	case DW_FORM_sdata: ret->u = (uint64_t)cursor_sleb(c); return !c->bad;
	case DW_FORM_block1: cursor_take(c, cursor_u8(c)); return !c->bad;
	case DW_FORM_block2: cursor_take(c, cursor_u16(c)); return !c->bad;
	case DW_FORM_block4: cursor_take(c, cursor_u32(c)); return !c->bad;
	case DW_FORM_block:
	case DW_FORM_exprloc: cursor_take(c, cursor_uleb(c)); return !c->bad;
	default: return false;
	}
}

static bool attr_read(const struct dwarf_unit *u, struct cursor *c, const struct dwarf_attr *a, struct dwarf_value *ret)
{
	uint64_t form = a->form;

	for (int i = 0; form == DW_FORM_indirect; i++) {
		form = cursor_uleb(c);
		if (c->bad || i >= INDIRECT_MAX || form == DW_FORM_implicit_const)
			return false;
	}
	if (form != DW_FORM_implicit_const)
		return dwarf_value_read(u, c, form, ret);
	*ret = (struct dwarf_value){ DW_FORM_implicit_const, (uint64_t)a->implicit };
	return true;
}

static bool die_read(const struct dwarf_unit *u, struct cursor *c, bool functions_only, struct dwarf_die *ret)
{
	const struct dwarf_abbrev *b;
	const struct dwarf_attr *attrs;
	uint64_t code;

	ret->off = u->head.off + (uint64_t)(c->at - u->bytes);
	code = cursor_uleb(c);
	ret->tag = 0;
	ret->has_children = false;
	if (c->bad || !dwarf_spend(u->im, 1))
		return false;
	if (!code)
		return true;
	b = dwarf_abbrevs_find(u->abbrevs, code);
	if (!b)
		return false;
	ret->tag = b->tag;
	ret->has_children = b->has_children;
	functions_only = functions_only && b->tag != DW_TAG_subprogram && b->tag != DW_TAG_inlined_subroutine;
	if (functions_only && b->is_fixed)
		return cursor_take(c, b->fixed_bytes) != NULL;
	if (!functions_only)
		memset(ret->kept, 0, sizeof(ret->kept));
	if (!dwarf_spend(u->im, b->attr_cnt))
		return false;
	attrs = dwarf_abbrevs_attrs(u->abbrevs, b);
	for (uint32_t i = 0; i < b->attr_cnt; i++) {
		struct dwarf_value v = { 0 };

		if (!attr_read(u, c, &attrs[i], &v))
			return false;
		if (!functions_only && attrs[i].kept >= 0)
			ret->kept[attrs[i].kept] = v;
	}
	return true;
}

bool dwarf_die_read(const struct dwarf_unit *u, struct cursor *c, struct dwarf_die *ret)
{
	return die_read(u, c, false, ret);
}

bool dwarf_die_read_function(const struct dwarf_unit *u, struct cursor *c, struct dwarf_die *ret)
{
	return die_read(u, c, true, ret);
}

struct cursor dwarf_unit_cursor(const struct dwarf_unit *u, uint64_t off)
{
	uint64_t at = off - u->head.off;

	if (off < u->head.off + u->head.header_bytes || at > u->len)
		at = u->len;
	return (struct cursor){ .at = u->bytes + at, .end = u->bytes + u->len };
}

/* The default of a base is right after the table's header. */
static void read_bases(struct dwarf_unit *u)
{
	const struct dwarf_value *k = u->root.kept;
	uint64_t behind_header = u->head.offset_bytes == 8 ? 16 : 8;

	u->str_base = k[KEPT_STR_BASE].form ? k[KEPT_STR_BASE].u : behind_header;
	u->addr_base = k[KEPT_ADDR_BASE].form ? k[KEPT_ADDR_BASE].u : behind_header;
	u->rnglists_base = k[KEPT_RNGLISTS_BASE].form ? k[KEPT_RNGLISTS_BASE].u : behind_header + 4;
	u->low_pc = 0;
	if (k[KEPT_LOW].form)
		dwarf_value_address(u, &k[KEPT_LOW], &u->low_pc);
}

static struct dwarf_unit *load(struct dwarf_image *im, const struct dwarf_unit_head *head, size_t len)
{
	struct dwarf_unit *u = g_new0(struct dwarf_unit, 1);
	struct cursor c;

	u->im = im;
	u->head = *head;
	u->len = len;
	u->bytes = g_try_malloc(len);
	if (u->bytes && dwarf_section_read(im, DWARF_INFO, head->off, u->bytes, len)) {
		u->abbrevs = dwarf_abbrevs_read(im, head->abbrev_off, head->address_bytes, head->offset_bytes,
						head->version);
		c = dwarf_unit_cursor(u, head->off + head->header_bytes);
		if (u->abbrevs && dwarf_die_read(u, &c, &u->root)) {
			read_bases(u);
			return u;
		}
	}
	dwarf_unit_free(u);
	return NULL;
}

struct dwarf_unit *dwarf_unit_load(struct dwarf_image *im, const struct dwarf_unit_head *head, size_t bytes_max)
{
	uint64_t whole = head->end - head->off;
	struct dwarf_unit *u = NULL;

	if (!head->version || whole > UNIT_MAX_BYTES)
		return NULL;
	if (bytes_max < whole)
		u = load(im, head, bytes_max);
	return u ? u : load(im, head, (size_t)whole);
}

FREES(dwarf_unit_free, struct dwarf_unit, u, dwarf_abbrevs_free(u->abbrevs); g_free(u->bytes))

static char *string_by_index(const struct dwarf_unit *u, uint64_t index)
{
	uint8_t bytes[8] = { 0 };
	struct cursor c = cursor_of(bytes, sizeof(bytes));
	uint64_t at, off;

	if (__builtin_mul_overflow(index, (uint64_t)u->head.offset_bytes, &at) ||
	    __builtin_add_overflow(at, u->str_base, &at) ||
	    !dwarf_section_read(u->im, DWARF_STR_OFFSETS, at, bytes, u->head.offset_bytes) ||
	    !offset_value(u, &c, u->head.offset_bytes, &off))
		return NULL;
	return dwarf_section_string(u->im, DWARF_STR, off);
}

char *dwarf_value_string(const struct dwarf_unit *u, const struct dwarf_value *v)
{
	switch (v->form) {
	case DW_FORM_string: {
		size_t left = v->u < u->len ? u->len - (size_t)v->u : 0;

		return left ? g_strndup((char *)u->bytes + v->u, MIN(left, DWARF_STRING_MAX_BYTES)) : NULL;
	}
	case DW_FORM_strp: return dwarf_section_string(u->im, DWARF_STR, v->u);
	case DW_FORM_line_strp: return dwarf_section_string(u->im, DWARF_LINE_STR, v->u);
	case DW_FORM_strx: case DW_FORM_strx1: case DW_FORM_strx2: case DW_FORM_strx3: case DW_FORM_strx4:
		return string_by_index(u, v->u);
	case DW_FORM_GNU_strp_alt: case DW_FORM_strp_sup:
		return dwarf_image_alt(u->im) ? dwarf_section_string(dwarf_image_alt(u->im), DWARF_STR, v->u) : NULL;
	default: return NULL;
	}
}

bool dwarf_unit_address(const struct dwarf_unit *u, uint64_t index, uint64_t *ret)
{
	size_t len;
	const uint8_t *bytes = dwarf_section_whole(u->im, DWARF_ADDR, &len);
	struct cursor c;
	uint64_t at;

	if (!bytes || __builtin_mul_overflow(index, (uint64_t)u->head.address_bytes, &at) ||
	    __builtin_add_overflow(at, u->addr_base, &at) || at > len)
		return false;
	c = (struct cursor){ .at = bytes + at, .end = bytes + len };
	return offset_value(u, &c, u->head.address_bytes, ret);
}

bool dwarf_value_address(const struct dwarf_unit *u, const struct dwarf_value *v, uint64_t *ret)
{
	switch (v->form) {
	case DW_FORM_addr: *ret = v->u; return true;
	case DW_FORM_addrx: case DW_FORM_addrx1: case DW_FORM_addrx2: case DW_FORM_addrx3: case DW_FORM_addrx4:
		return dwarf_unit_address(u, v->u, ret);
	default: return false;
	}
}
