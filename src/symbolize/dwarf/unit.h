/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_UNIT_H
#define SYMBOLIZE_DWARF_UNIT_H

#include "base/cursor.h"
#include "symbolize/dwarf/image.h"

/* Constants of DWARF 2 to 5 that the reader of .debug_info and .debug_line uses. */

enum dwarf_unit_type {
	DW_UT_compile = 0x01, DW_UT_type, DW_UT_partial, DW_UT_skeleton, DW_UT_split_compile, DW_UT_split_type,
};

enum dwarf_tag {
	DW_TAG_compile_unit = 0x11, DW_TAG_inlined_subroutine = 0x1d, DW_TAG_subprogram = 0x2e,
	DW_TAG_skeleton_unit = 0x4a,
};

enum dwarf_at {
	DW_AT_sibling = 0x01, DW_AT_name = 0x03, DW_AT_stmt_list = 0x10, DW_AT_low_pc = 0x11, DW_AT_high_pc = 0x12,
	DW_AT_comp_dir = 0x1b, DW_AT_abstract_origin = 0x31, DW_AT_specification = 0x47, DW_AT_ranges = 0x55,
	DW_AT_call_file = 0x58, DW_AT_call_line = 0x59, DW_AT_linkage_name = 0x6e, DW_AT_str_offsets_base = 0x72,
	DW_AT_addr_base = 0x73, DW_AT_rnglists_base = 0x74, DW_AT_dwo_name = 0x76, DW_AT_MIPS_linkage_name = 0x2007,
	DW_AT_GNU_dwo_name = 0x2130,
};

enum dwarf_form {
	DW_FORM_addr = 0x01, DW_FORM_block2 = 0x03, DW_FORM_block4, DW_FORM_data2, DW_FORM_data4, DW_FORM_data8,
	DW_FORM_string, DW_FORM_block, DW_FORM_block1, DW_FORM_data1, DW_FORM_flag, DW_FORM_sdata, DW_FORM_strp,
	DW_FORM_udata, DW_FORM_ref_addr, DW_FORM_ref1, DW_FORM_ref2, DW_FORM_ref4, DW_FORM_ref8, DW_FORM_ref_udata,
	DW_FORM_indirect, DW_FORM_sec_offset, DW_FORM_exprloc, DW_FORM_flag_present, DW_FORM_strx, DW_FORM_addrx,
	DW_FORM_ref_sup4, DW_FORM_strp_sup, DW_FORM_data16, DW_FORM_line_strp, DW_FORM_ref_sig8,
	DW_FORM_implicit_const, DW_FORM_loclistx, DW_FORM_rnglistx, DW_FORM_ref_sup8, DW_FORM_strx1, DW_FORM_strx2,
	DW_FORM_strx3, DW_FORM_strx4, DW_FORM_addrx1, DW_FORM_addrx2, DW_FORM_addrx3, DW_FORM_addrx4,
	DW_FORM_GNU_addr_index = 0x1f01, DW_FORM_GNU_str_index = 0x1f02, DW_FORM_GNU_ref_alt = 0x1f20,
	DW_FORM_GNU_strp_alt = 0x1f21,
};

enum dwarf_rle {
	DW_RLE_end_of_list, DW_RLE_base_addressx, DW_RLE_startx_endx, DW_RLE_startx_length, DW_RLE_offset_pair,
	DW_RLE_base_address, DW_RLE_start_end, DW_RLE_start_length,
};

enum dwarf_lns {
	DW_LNS_extended, DW_LNS_copy, DW_LNS_advance_pc, DW_LNS_advance_line, DW_LNS_set_file, DW_LNS_set_column,
	DW_LNS_negate_stmt, DW_LNS_set_basic_block, DW_LNS_const_add_pc, DW_LNS_fixed_advance_pc,
};

enum dwarf_lne { DW_LNE_end_sequence = 1, DW_LNE_set_address, DW_LNE_define_file };

enum dwarf_lnct { DW_LNCT_path = 1, DW_LNCT_directory_index };

/*
 * A unit of .debug_info: header, abbreviations, and a sequence of entries (DIEs). Of an entry only attributes for
 * names and positions of functions are kept.
 */

/* An attribute's raw value. */
struct dwarf_value {
	uint16_t form;	/* 0: no such attribute */
	uint64_t u;	/* a number, an offset, or an index; for an inline string its offset in the unit */
};

enum dwarf_kept {
	KEPT_NAME, KEPT_LINKAGE, KEPT_LOW, KEPT_HIGH, KEPT_RANGES, KEPT_ORIGIN, KEPT_SPECIFICATION, KEPT_CALL_FILE,
	KEPT_CALL_LINE, KEPT_STMT_LIST, KEPT_COMP_DIR, KEPT_STR_BASE, KEPT_ADDR_BASE, KEPT_RNGLISTS_BASE,
	KEPT_DWO_NAME, KEPT_CNT
};

struct dwarf_die {
	uint64_t off;	/* in .debug_info */
	uint16_t tag;	/* 0: end of a list of children */
	bool has_children;
	struct dwarf_value kept[KEPT_CNT];
};

/* A unit's position, from its header. */
struct dwarf_unit_head {
	uint64_t off, end;	/* in .debug_info, including the header */
	uint64_t abbrev_off;
	uint32_t header_bytes;
	uint16_t version;
	uint8_t type;		/* enum dwarf_unit_type; DW_UT_compile before DWARF 5 */
	uint8_t address_bytes, offset_bytes;
};

/* Reads the header at off. False: end of section, or invalid. */
bool dwarf_unit_head(struct dwarf_image *im, uint64_t off, struct dwarf_unit_head *ret);

struct dwarf_abbrevs;
struct dwarf_unit {
	struct dwarf_image *im;
	struct dwarf_unit_head head;
	uint8_t *bytes;		/* of the unit, including its header */
	size_t len;		/* less than the unit if only its beginning was requested */
	struct dwarf_abbrevs *abbrevs;
	/* attributes of its first entry */
	uint64_t low_pc, str_base, addr_base, rnglists_base;
	struct dwarf_die root;
};

/* bytes_max: how much of the unit to read; usually 1 KiB suffices for the first entry. */
struct dwarf_unit *dwarf_unit_load(struct dwarf_image *im, const struct dwarf_unit_head *head, size_t bytes_max);
void dwarf_unit_free(struct dwarf_unit *u);

/* A cursor at section offset `off` of the unit; at its end if that is outside. */
struct cursor dwarf_unit_cursor(const struct dwarf_unit *u, uint64_t off);

/* Reads the entry at the cursor. False: damaged, or the budget is used up. */
bool dwarf_die_read(const struct dwarf_unit *u, struct cursor *c, struct dwarf_die *ret);
/* Likewise, but skips the attributes of entries other than functions and calls: `kept` stays unchanged. */
bool dwarf_die_read_function(const struct dwarf_unit *u, struct cursor *c, struct dwarf_die *ret);

/* Reads a value of that form; the tables of .debug_line use the same forms. */
bool dwarf_value_read(const struct dwarf_unit *u, struct cursor *c, uint64_t form, struct dwarf_value *ret);

/* The string of an attribute. NULL: none. Free with g_free(). */
char *dwarf_value_string(const struct dwarf_unit *u, const struct dwarf_value *v);
/* False: not an address. */
bool dwarf_value_address(const struct dwarf_unit *u, const struct dwarf_value *v, uint64_t *ret);
/* Entry number `index` of .debug_addr. */
bool dwarf_unit_address(const struct dwarf_unit *u, uint64_t index, uint64_t *ret);

/* Calls `each` for every non-empty part [low, high) of an entry's addresses. */
typedef void dwarf_range_fn(uint64_t low, uint64_t high, void *data);
void dwarf_die_ranges(const struct dwarf_unit *u, const struct dwarf_die *d, dwarf_range_fn *each, void *data);

/* A table of .debug_abbrev, which describes the entries of a unit. */
struct dwarf_attr {
	uint16_t form;
	int8_t kept;		/* enum dwarf_kept, -1: not needed */
	int64_t implicit;	/* value of DW_FORM_implicit_const */
};

struct dwarf_abbrev {
	uint64_t code;
	uint16_t tag;
	bool has_children;
	bool is_fixed;		/* all entries of this kind have fixed_bytes after the code */
	uint32_t fixed_bytes;
	uint32_t attr_from, attr_cnt;
};

struct dwarf_abbrevs;

/* Reads the table at `off` for a unit with these sizes. NULL: damaged, or beyond the budget. */
struct dwarf_abbrevs *dwarf_abbrevs_read(struct dwarf_image *im, uint64_t off, uint8_t address_bytes,
					 uint8_t offset_bytes, uint16_t version);
void dwarf_abbrevs_free(struct dwarf_abbrevs *a);

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *a, uint64_t code);
/* Its attr_cnt attributes. NULL: none. */
const struct dwarf_attr *dwarf_abbrevs_attrs(const struct dwarf_abbrevs *a, const struct dwarf_abbrev *b);

/* The size of values of a form; -1: it depends on the value. */
int dwarf_form_bytes(uint64_t form, uint8_t address_bytes, uint8_t offset_bytes, uint16_t version);

#endif
