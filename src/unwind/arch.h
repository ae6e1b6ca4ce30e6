/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdint.h>

#include "unwind/cfi.h"

/* All that depends on the machine; one of these per architecture, in arch_NAME.c. */

struct unwind_arch {
	uint16_t machine;	/* EM_* */
	uint8_t ra_reg, sp_reg, bp_reg;	/* DWARF numbers */
	uint8_t padding_bytes;	/* most that lies between functions for alignment */
	/* The rule of struct unwind_row for a state. */
	uint32_t (*compile)(const struct cfi_state *state);
};

/* NULL for a machine we have no tables for. */
const struct unwind_arch *unwind_arch_of(uint16_t machine);

#endif
