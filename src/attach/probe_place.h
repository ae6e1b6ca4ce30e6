/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_PROBE_PLACE_H
#define ATTACH_PROBE_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* Where in the code of 64-bit x86 a probe costs least. */

/*
 * How far behind the entry of a function a probe is to lie: at the first push or nop, if each run of the function
 * passes it once, with the stack as at the entry.  0: at the entry.
 */
size_t insn_entry_place(const uint8_t *code, size_t len);
/*
 * The same behind a call: at the first instruction that the kernel emulates, with the stack pointer as after the call.
 */
size_t insn_return_place(const uint8_t *code, size_t len);

#endif
