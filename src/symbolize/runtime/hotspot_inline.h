/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_HOTSPOT_INLINE_H
#define SYMBOLIZE_HOTSPOT_INLINE_H

#include "symbolize/runtime/hotspot_code.h"

#define HOTSPOT_INLINED_MAX 32

/*
 * The methods that run at a place in a compiled method, innermost first, the compiled one last: what the compiler
 * noted for the JVM itself.  ip: a return address or, with is_return false, where it stands.  How many; 0: nothing is
 * noted there.
 */
unsigned hotspot_inlined(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t ip, bool is_return,
			 uint64_t methods[HOTSPOT_INLINED_MAX]);

/* A number as HotSpot packs it ("UNSIGNED5"), to tests: bytes used, 0: it does not end. */
unsigned hotspot_unpack(const uint8_t *bytes, size_t cnt, bool without_zero, uint32_t *ret);

#endif
