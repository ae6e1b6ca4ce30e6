/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SIZE_TEXT_H
#define SIZE_TEXT_H

#include <glib.h>
#include <stdint.h>

/* Three digits, never "1000": what would round up to it takes the next unit.  "1.50 ms" */
void scaled_text(GString *s, double value, const char *unit);
void size_text(GString *s, uint64_t bytes);	/* "512 B", "1.50 KiB", "33.0 MiB" */

#endif
