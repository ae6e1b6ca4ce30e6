/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_SUM_H
#define PROFILE_PROFILE_SUM_H

#include <stdint.h>

/* Inside the profile layer: a sum that stops at the highest value instead of wrapping. */
static inline uint64_t profile_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
