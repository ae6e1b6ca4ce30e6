/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/unwind_abi.h"

/* Making the rules of abi/unwind_abi.h. */

static inline uint32_t unwind_make_rule(enum unwind_cfa kind, uint32_t arg)
{
	return (uint32_t)kind << 16 | (arg & 0xffff);
}

/* value / 8 as a signed field of `bits` bits; false when it does not fit. */
static inline bool unwind_scaled(int64_t value, unsigned bits, uint32_t *ret)
{
	int64_t limit = (int64_t)1 << (bits - 1);

	if (value % 8 || value / 8 < -limit || value / 8 >= limit)
		return false;
	*ret = (uint32_t)(value / 8) & ((1u << bits) - 1);
	return true;
}

static inline uint32_t unwind_make_offset_rule(enum unwind_cfa kind, int64_t off)
{
	uint32_t arg;

	return unwind_scaled(off, 16, &arg) ? unwind_make_rule(kind, arg) : unwind_make_rule(UNWIND_CFA_COMPLEX, 0);
}

#endif
