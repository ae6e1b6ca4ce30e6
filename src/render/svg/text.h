/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_SVG_TEXT_H
#define RENDER_SVG_TEXT_H

#include "analyse/weight.h"

/* Text for SVG and HTML from untrusted bytes, and numbers for people. */

/* Appends text_safe() of s as XML character data, good in a quoted attribute, too. */
void svg_escape(GString *out, const char *s);
/* The same without XML's escapes: for what is no markup. */
void svg_clean(GString *out, const char *s);
/* svg_escape(), at most `cells` columns wide (East Asian wide characters take two), "…" at a cut. */
void svg_escape_cut(GString *out, const char *s, unsigned cells);
unsigned svg_cells(const char *s);

/* A length with two decimals at most, whatever the locale. */
void svg_px(GString *out, double px);

/* "1.23 s", "4 min 05 s", "12.3 ms", "45.6 µs", "789 ns". */
void svg_time(GString *out, uint64_t ns);
/* "1,234,567" */
void svg_count(GString *out, uint64_t n);
/* svg_time(), or "1,234 waits". */
void svg_amount(GString *out, enum weight weight, uint64_t amount);
/* "12.3%", "0.012%", "under 0.001%"; "0%" for nothing and for a whole of 0. */
void svg_percent(GString *out, uint64_t part, uint64_t whole);

#endif
