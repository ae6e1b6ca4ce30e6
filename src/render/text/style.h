/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_STYLE_H
#define RENDER_TEXT_STYLE_H

#include "render/text/text.h"

/* Between the files that make the text report. */

static inline const char *text_bold(const struct text_options *o) { return o->colour ? "\033[1m" : ""; }
static inline const char *text_dim(const struct text_options *o) { return o->colour ? "\033[2m" : ""; }
static inline const char *text_warn(const struct text_options *o) { return o->colour ? "\033[33m" : ""; }
static inline const char *text_plain(const struct text_options *o) { return o->colour ? "\033[0m" : ""; }

/* A heading of a section, after an empty line. */
void text_section(GString *s, const struct text_options *o, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Columns left of o->width after `used`, at least 20; 0 when nothing is cut. */
unsigned text_room(const struct text_options *o, unsigned used);

/* Columns of the screen: the terminal's, at most; 80 where it is none. */
unsigned text_screen_width(const struct text_options *options);

/* Appends a text in lines of at most `width` columns, broken at blanks; `indent` stands before all but the first. */
void text_wrap(GString *s, const char *text, const char *indent, unsigned width);
/* The same of whole lines, on a terminal; elsewhere they stay as they are. */
void text_fit(GString *s, const char *lines, const char *indent, const struct text_options *options);

#endif
