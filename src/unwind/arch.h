/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/code_step.h"
#include "unwind/step.h"

/* All that depends on the machine; one of these per architecture, in arch_NAME.c. */

struct unwind_arch {
	uint16_t machine;	/* EM_* */
	uint8_t ra_reg, sp_reg, bp_reg;	/* DWARF numbers */
	uint8_t padding_bytes;	/* most that lies between functions for alignment */
	/* The rule of struct unwind_row for a state. */
	uint32_t (*compile)(const struct cfi_state *state);
	unwind_step_fn step;
	unwind_step_fp_fn step_fp;
	const struct code_arch *code;	/* text without tables */
	bool signs_returns;	/* has DW_CFA_AARCH64_negate_ra_state */
	bool finds_frames;	/* a saved frame pointer can be told on the stack: see walk.c */
};

/* NULL for a machine we have no tables for. */
const struct unwind_arch *unwind_arch_of(uint16_t machine);
/* This machine's. */
const struct unwind_arch *unwind_arch_here(void);

#endif
