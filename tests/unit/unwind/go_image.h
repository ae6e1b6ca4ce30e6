/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TEST_UNWIND_GO_IMAGE_H
#define TEST_UNWIND_GO_IMAGE_H

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

#define GO_TEXT 0x401000
#define GO_TEXT_BYTES 4096

/* An ELF program of a machine (EM_*) with these bytes as .gopclntab, and GO_TEXT_BYTES of text. */
GByteArray *go_image(uint16_t machine, const uint8_t *table, size_t size, const uint8_t *text);

#endif
