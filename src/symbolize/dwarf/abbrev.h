/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DWARF_ABBREV_H
#define SYMBOLIZE_DWARF_ABBREV_H

#include "symbolize/dwarf/image.h"

/* A table of .debug_abbrev: what the entries of a unit look like. */
struct dwarf_attr {
	uint16_t form;
	int8_t kept;		/* enum dwarf_kept, -1: of no interest */
	int64_t implicit;	/* the value of DW_FORM_implicit_const */
};

struct dwarf_abbrev {
	uint64_t code;
	uint16_t tag;
	bool has_children;
	bool is_fixed;		/* all entries of this kind take fixed_bytes behind the code */
	uint32_t fixed_bytes;
	uint32_t attr_from, attr_cnt;
};

struct dwarf_abbrevs;

/* The table at `off`, for a unit of those sizes; NULL: damaged, or beyond the budget. */
struct dwarf_abbrevs *dwarf_abbrevs_read(struct dwarf_image *im, uint64_t off, uint8_t address_bytes,
					 uint8_t offset_bytes, uint16_t version);
void dwarf_abbrevs_free(struct dwarf_abbrevs *a);

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *a, uint64_t code);
/* Its attr_cnt attributes; NULL: it has none. */
const struct dwarf_attr *dwarf_abbrevs_attrs(const struct dwarf_abbrevs *a, const struct dwarf_abbrev *b);

/* How many bytes a value of that form takes: -1 when that depends on the value. */
int dwarf_form_bytes(uint64_t form, uint8_t address_bytes, uint8_t offset_bytes, uint16_t version);

#endif
