/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/dwarf/unit.h"

struct ranges {
	const struct dwarf_unit *unit;
	dwarf_range_fn *each;
	void *data;
	uint64_t base;
};

/*
 * Linkers keep the entries of dropped functions, at address 0 or at the very end of the address space, where no
 * program has code.
 */
static void give_range(const struct ranges *r, uint64_t low, uint64_t high)
{
	if (low && low < high)
		r->each(low, high, r->data);
}

static uint64_t address_at(struct ranges *r, struct cursor *c)
{
	return r->unit->head.address_bytes == 8 ? cursor_u64(c) : cursor_u32(c);
}

static uint64_t address_by_index(struct ranges *r, struct cursor *c)
{
	uint64_t address = 0;

	if (!dwarf_unit_address(r->unit, cursor_uleb(c), &address))
		c->bad = true;
	return address;
}

/* Up to DWARF 4: pairs of offsets from a base, which a pair with the largest offset sets anew. */
static void walk_pairs(struct ranges *r, struct cursor *c)
{
	uint64_t all_ones = r->unit->head.address_bytes == 8 ? UINT64_MAX : UINT32_MAX;

	while (dwarf_spend(r->unit->im, 1)) {
		uint64_t low = address_at(r, c), high = address_at(r, c);

		if (c->bad || (!low && !high))
			return;
		if (low == all_ones)
			r->base = high;
		else
			give_range(r, r->base + low, r->base + high);
	}
}

static bool walk_entry(struct ranges *r, struct cursor *c)
{
	uint64_t low, high;

	switch (cursor_u8(c)) {
	case DW_RLE_base_addressx: r->base = address_by_index(r, c); return true;
	case DW_RLE_base_address: r->base = address_at(r, c); return true;
	case DW_RLE_startx_endx:
		low = address_by_index(r, c);
		high = address_by_index(r, c);
		break;
	case DW_RLE_startx_length:
		low = address_by_index(r, c);
		high = low + cursor_uleb(c);
		break;
	case DW_RLE_offset_pair:
		low = r->base + cursor_uleb(c);
		high = r->base + cursor_uleb(c);
		break;
	case DW_RLE_start_end:
		low = address_at(r, c);
		high = address_at(r, c);
		break;
	case DW_RLE_start_length:
		low = address_at(r, c);
		high = low + cursor_uleb(c);
		break;
	default: return false;
	}
	if (!c->bad)
		give_range(r, low, high);
	return true;
}

static void walk_list(struct ranges *r, struct cursor *c)
{
	while (dwarf_spend(r->unit->im, 1) && walk_entry(r, c) && !c->bad)
		;
}

static bool cursor_at(const struct dwarf_unit *u, enum dwarf_section_id id, uint64_t off, struct cursor *ret)
{
	size_t len;
	const uint8_t *bytes = dwarf_section_whole(u->im, id, &len);

	if (!bytes || off > len)
		return false;
	*ret = (struct cursor){ .at = bytes + off, .end = bytes + len };
	return true;
}

/* DW_FORM_rnglistx is an index in the table of offsets at the unit's base. */
static bool list_by_index(const struct dwarf_unit *u, uint64_t index, uint64_t *ret_off)
{
	struct cursor c;
	uint64_t at;

	if (__builtin_mul_overflow(index, (uint64_t)u->head.offset_bytes, &at) ||
	    __builtin_add_overflow(at, u->rnglists_base, &at) || !cursor_at(u, DWARF_RNGLISTS, at, &c))
		return false;
	*ret_off = u->rnglists_base + (u->head.offset_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c));
	return !c.bad;
}

void dwarf_die_ranges(const struct dwarf_unit *u, const struct dwarf_die *d, dwarf_range_fn *each, void *data)
{
	const struct dwarf_value *list = &d->kept[KEPT_RANGES], *high = &d->kept[KEPT_HIGH];
	struct ranges r = { u, each, data, u->low_pc };
	uint64_t low, end, off = list->u;
	struct cursor c;

	if (list->form) {
		if (list->form == DW_FORM_rnglistx && !list_by_index(u, list->u, &off))
			return;
		if (!cursor_at(u, u->head.version >= 5 ? DWARF_RNGLISTS : DWARF_RANGES, off, &c))
			return;
		if (u->head.version >= 5)
			walk_list(&r, &c);
		else
			walk_pairs(&r, &c);
		return;
	}
	if (!high->form || !dwarf_value_address(u, &d->kept[KEPT_LOW], &low))
		return;
	if (!dwarf_value_address(u, high, &end))
		end = low + high->u;	/* a constant is relative to low_pc */
	give_range(&r, low, end);
}
