/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_UNIT_H
#define SYMBOLIZE_DWARF_UNIT_H

#include "base/cursor.h"
#include "symbolize/dwarf/const.h"
#include "symbolize/dwarf/image.h"

/*
 * A unit of .debug_info: its header, its abbreviations, and one entry (DIE) after another.
 * Only the attributes that name functions and places are kept of an entry.
 */

/* An attribute's value as it stands in the file. */
struct dwarf_value {
	uint16_t form;	/* 0: the entry has no such attribute */
	uint64_t u;	/* of a number, an offset, an index; of a string in place, its offset in the unit */
};

enum dwarf_kept {
	KEPT_NAME, KEPT_LINKAGE, KEPT_LOW, KEPT_HIGH, KEPT_RANGES, KEPT_ORIGIN, KEPT_SPECIFICATION, KEPT_CALL_FILE,
	KEPT_CALL_LINE, KEPT_STMT_LIST, KEPT_COMP_DIR, KEPT_STR_BASE, KEPT_ADDR_BASE, KEPT_RNGLISTS_BASE,
	KEPT_DWO_NAME, KEPT_CNT
};

struct dwarf_die {
	uint64_t off;	/* in .debug_info */
	uint16_t tag;	/* 0: the end of a list of children */
	bool has_children;
	struct dwarf_value kept[KEPT_CNT];
};

/* Where a unit lies, by its header. */
struct dwarf_unit_head {
	uint64_t off, end;	/* in .debug_info, header included */
	uint64_t abbrev_off;
	uint32_t header_bytes;
	uint16_t version;
	uint8_t type;		/* enum dwarf_unit_type; DW_UT_compile before DWARF 5 */
	uint8_t address_bytes, offset_bytes;
};

/* Reads the header at off: false at the section's end or when it makes no sense. */
bool dwarf_unit_head(struct dwarf_image *im, uint64_t off, struct dwarf_unit_head *ret);

struct dwarf_abbrevs;
struct dwarf_unit {
	struct dwarf_image *im;
	struct dwarf_unit_head head;
	uint8_t *bytes;		/* of the unit from its header on */
	size_t len;		/* less than the whole unit when only its beginning was asked for */
	struct dwarf_abbrevs *abbrevs;
	/* of its first entry */
	uint64_t low_pc, str_base, addr_base, rnglists_base;
	struct dwarf_die root;
};

/* `bytes_max`: how much of the unit is needed; the first entry alone is most often in the first KiB. */
struct dwarf_unit *dwarf_unit_load(struct dwarf_image *im, const struct dwarf_unit_head *head, size_t bytes_max);
void dwarf_unit_free(struct dwarf_unit *u);

/* A cursor at section offset `off` of the unit; at its end when that lies outside. */
struct cursor dwarf_unit_cursor(const struct dwarf_unit *u, uint64_t off);

/* Reads the entry at the cursor; false when it is damaged or the budget is spent. */
bool dwarf_die_read(const struct dwarf_unit *u, struct cursor *c, struct dwarf_die *ret);
/* The same, leaving out the attributes of entries other than functions and calls: `kept` stays as it was. */
bool dwarf_die_read_function(const struct dwarf_unit *u, struct cursor *c, struct dwarf_die *ret);

/* Reads one value of that form, for the tables of .debug_line, which use the same. */
bool dwarf_value_read(const struct dwarf_unit *u, struct cursor *c, uint64_t form, struct dwarf_value *ret);

/* The string an attribute stands for; NULL: none.  Free with g_free. */
char *dwarf_value_string(const struct dwarf_unit *u, const struct dwarf_value *v);
/* The address; false when it is none. */
bool dwarf_value_address(const struct dwarf_unit *u, const struct dwarf_value *v, uint64_t *ret);
/* Entry number `index` of .debug_addr. */
bool dwarf_unit_address(const struct dwarf_unit *u, uint64_t index, uint64_t *ret);

/* Calls `each` for every part [low, high) of the addresses of an entry that are not empty. */
typedef void dwarf_range_fn(uint64_t low, uint64_t high, void *data);
void dwarf_die_ranges(const struct dwarf_unit *u, const struct dwarf_die *d, dwarf_range_fn *each, void *data);

#endif
