/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Call frame information (.eh_frame, .debug_frame): finds the entries of a section, and runs their programs. Only the
 * registers needed to walk a stack are tracked.
 */

/* The tracked registers; an architecture maps its DWARF numbers to them. */
enum cfi_column { CFI_RA, CFI_SP, CFI_BP, CFI_COLUMN_CNT };

enum cfi_how {
	CFI_UNSPECIFIED = 0,	/* as the ABI defines */
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,	/* saved at CFA + off */
	CFI_VAL_OFFSET,	/* its value is CFA + off */
	CFI_REGISTER,	/* in a register: `reg`; for the CFA: reg + off */
	CFI_EXPR,	/* saved at the expression's address; for the CFA: its value */
	CFI_VAL_EXPR,	/* its value is the expression's */
};

struct cfi_rule {
	uint8_t how;	/* enum cfi_how */
	uint64_t reg;
	int64_t off;
	const uint8_t *expr;	/* in the section */
	size_t expr_bytes;
};

/* One row of the table that call frame information represents. */
struct cfi_state {
	struct cfi_rule cfa;
	struct cfi_rule column[CFI_COLUMN_CNT];
};

/* The part of an architecture that common code needs. */
struct unwind_arch;

/* A section, in memory that outlives the entries found in it. */
struct cfi_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	bool is_debug;	/* .debug_frame */
	bool ends_at_zero;	/* the size is only an upper bound: an empty entry is the last one */
};

struct cfi_cie {
	const uint8_t *init;	/* program that precedes those of its FDEs */
	size_t init_bytes;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;	/* of addresses in its FDEs */
	bool has_augmentation_data;
	bool is_foreign;	/* return address column differs from the machine's */
	bool is_init_bad;
	struct cfi_state state;	/* after `init` */
	const struct cfi_section *section;
};

/* In place of a CIE: the function's rows come from Go's function table (unwind/frames.h). */
#define CFI_CIE_GO UINT32_MAX
/* In place of a CIE: they come from its instructions (unwind/frames.h). */
#define CFI_CIE_CODE (UINT32_MAX - 1)

/* Frame description entry: describes [start, end). */
struct cfi_fde {
	uint64_t start, end;
	const uint8_t *program;
	uint32_t program_bytes;
	uint32_t cie;	/* index */
	uint32_t order;	/* in which it was found: makes sorting deterministic */
};

struct cfi_entries {
	GArray *cies;	/* struct cfi_cie */
	GArray *fdes;	/* struct cfi_fde */
	size_t bad_cnt;	/* unreadable entries */
	bool is_cut;	/* some exceeded the limits */
};

void cfi_entries_init(struct cfi_entries *e);
void cfi_entries_clear(struct cfi_entries *e);
/* Adds a section's entries; damaged ones are counted.  The section must outlive them. */
void cfi_entries_add(struct cfi_entries *e, const struct cfi_section *s, const struct unwind_arch *arch);

/* A pointer in the encoding of .eh_frame (DW_EH_PE_*); `vaddr` is that of the cursor's position. */
struct cursor;
uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, uint64_t vaddr, uint64_t data_base);

/* Receives the state at each address where it may change, in order; false ends the run. */
typedef bool (*cfi_row_fn)(void *ctx, uint64_t vaddr, const struct cfi_state *state);

/* Runs an FDE's program. False if it cannot be followed to its end: rows from *ret_vaddr on are unknown. */
bool cfi_run(const struct cfi_entries *e, const struct cfi_fde *fde, const struct unwind_arch *arch,
	     cfi_row_fn row, void *ctx, uint64_t *ret_vaddr);
/* Runs the CIE's own program: sets its state and is_init_bad. */
void cfi_cie_init_state(struct cfi_cie *cie, const struct unwind_arch *arch);

#endif
