/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "base/cursor.h"
#include "base/hash.h"
#include "symbolize/dwarf/unit.h"

#define ABBREVS_MAX (1u << 20)
#define ATTRS_MAX (1u << 22)
#define FIXED_MAX_BYTES (1u << 20)
#define OTHER_STEPS 256	/* cost of an abbreviation outside of the usual order */

struct dwarf_abbrevs {
	GArray *abbrevs;	/* struct dwarf_abbrev; compilers put code N at index N - 1 */
	GHashTable *others;	/* others: code -> index */
	GArray *attrs;		/* struct dwarf_attr */
};

int dwarf_form_bytes(uint64_t form, uint8_t address_bytes, uint8_t offset_bytes, uint16_t version)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const: return 0;
	case DW_FORM_data1: case DW_FORM_flag: case DW_FORM_ref1: case DW_FORM_strx1: case DW_FORM_addrx1: return 1;
	case DW_FORM_data2: case DW_FORM_ref2: case DW_FORM_strx2: case DW_FORM_addrx2: return 2;
	case DW_FORM_strx3: case DW_FORM_addrx3: return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4: return 4;
	case DW_FORM_data8: case DW_FORM_ref8: case DW_FORM_ref_sig8: case DW_FORM_ref_sup8: return 8;
	case DW_FORM_data16: return 16;
	case DW_FORM_addr: return address_bytes;
	case DW_FORM_ref_addr: return version <= 2 ? address_bytes : offset_bytes;
	case DW_FORM_strp: case DW_FORM_line_strp: case DW_FORM_strp_sup: case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt: case DW_FORM_GNU_strp_alt: return offset_bytes;
	default: return -1;
	}
}

static int8_t kept_of(uint64_t name)
{
	switch (name) {
	case DW_AT_name: return KEPT_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: return KEPT_LINKAGE;
	case DW_AT_low_pc: return KEPT_LOW;
	case DW_AT_high_pc: return KEPT_HIGH;
	case DW_AT_ranges: return KEPT_RANGES;
	case DW_AT_abstract_origin: return KEPT_ORIGIN;
	case DW_AT_specification: return KEPT_SPECIFICATION;
	case DW_AT_call_file: return KEPT_CALL_FILE;
	case DW_AT_call_line: return KEPT_CALL_LINE;
	case DW_AT_stmt_list: return KEPT_STMT_LIST;
	case DW_AT_comp_dir: return KEPT_COMP_DIR;
	case DW_AT_str_offsets_base: return KEPT_STR_BASE;
	case DW_AT_addr_base: return KEPT_ADDR_BASE;
	case DW_AT_rnglists_base: return KEPT_RNGLISTS_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name: return KEPT_DWO_NAME;
	default: return -1;
	}
}

/* Reads the attributes of an abbreviation. */
static bool read_attrs(struct dwarf_image *im, struct dwarf_abbrevs *a, struct cursor *c, uint8_t address_bytes,
		       uint8_t offset_bytes, uint16_t version, struct dwarf_abbrev *b)
{
	b->attr_from = a->attrs->len;
	b->is_fixed = true;
	for (;;) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		struct dwarf_attr attr = { .form = (uint16_t)form, .kept = kept_of(name) };
		int bytes = dwarf_form_bytes(form, address_bytes, offset_bytes, version);

		if (form == DW_FORM_implicit_const)
			attr.implicit = cursor_sleb(c);
		if (c->bad || form > UINT16_MAX || a->attrs->len >= ATTRS_MAX || !dwarf_spend(im, 1))
			return false;
		if (!name && !form)
			break;
		g_array_append_val(a->attrs, attr);
		b->is_fixed = b->is_fixed && bytes >= 0 && b->fixed_bytes < FIXED_MAX_BYTES;
		b->fixed_bytes += b->is_fixed ? (uint32_t)bytes : 0;
	}
	b->attr_cnt = a->attrs->len - b->attr_from;
	return true;
}

static void add_abbrev(struct dwarf_abbrevs *a, const struct dwarf_abbrev *b)
{
	if (b->code != a->abbrevs->len + 1) {
		uint64_t *key = g_memdup2(&b->code, sizeof(b->code));

		if (!a->others)
			a->others = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
		g_hash_table_insert(a->others, key, GUINT_TO_POINTER(a->abbrevs->len));
	}
	g_array_append_vals(a->abbrevs, b, 1);
}

struct dwarf_abbrevs *dwarf_abbrevs_read(struct dwarf_image *im, uint64_t off, uint8_t address_bytes,
					 uint8_t offset_bytes, uint16_t version)
{
	size_t len;
	const uint8_t *bytes = dwarf_section_whole(im, DWARF_ABBREV, &len);
	struct dwarf_abbrevs *a;
	struct cursor c;

	if (!bytes || off > len)
		return NULL;
	a = g_new0(struct dwarf_abbrevs, 1);
	a->abbrevs = g_array_new(FALSE, FALSE, sizeof(struct dwarf_abbrev));
	a->attrs = g_array_new(FALSE, FALSE, sizeof(struct dwarf_attr));
	c = (struct cursor){ .at = bytes + off, .end = bytes + len };
	for (;;) {
		struct dwarf_abbrev b = { .code = cursor_uleb(&c) };
		uint64_t tag = b.code ? cursor_uleb(&c) : 0;

		if (!b.code)
			break;
		b.tag = (uint16_t)MIN(tag, UINT16_MAX);
		b.has_children = cursor_u8(&c);
		if (a->abbrevs->len >= ABBREVS_MAX ||
		    (b.code != a->abbrevs->len + 1 && !dwarf_spend(im, OTHER_STEPS)) ||
		    !read_attrs(im, a, &c, address_bytes, offset_bytes, version, &b))
			break;
		add_abbrev(a, &b);
	}
	return a;	/* what precedes the damage may be usable */
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *a)
{
	if (!a)
		return;
	g_array_unref(a->abbrevs);
	g_array_unref(a->attrs);
	if (a->others)
		g_hash_table_unref(a->others);
	g_free(a);
}

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *a, uint64_t code)
{
	gpointer index;

	if (code && code <= a->abbrevs->len) {
		const struct dwarf_abbrev *b = &g_array_index(a->abbrevs, struct dwarf_abbrev, code - 1);

		if (b->code == code)
			return b;
	}
	if (!a->others || !g_hash_table_lookup_extended(a->others, &code, NULL, &index))
		return NULL;
	return &g_array_index(a->abbrevs, struct dwarf_abbrev, GPOINTER_TO_UINT(index));
}

const struct dwarf_attr *dwarf_abbrevs_attrs(const struct dwarf_abbrevs *a, const struct dwarf_abbrev *b)
{
	/* without any attributes the array may be NULL */
	return b->attr_cnt ? &g_array_index(a->attrs, struct dwarf_attr, b->attr_from) : NULL;
}
