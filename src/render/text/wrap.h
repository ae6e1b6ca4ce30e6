/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_WRAP_H
#define RENDER_TEXT_WRAP_H

#include "render/text/text.h"

/* Columns of the screen: the terminal's, at most; 80 where it is none. */
unsigned text_screen_width(const struct text_options *options);

/* Appends a text in lines of at most `width` columns, broken at blanks; `indent` stands before all but the first. */
void text_wrap(GString *s, const char *text, const char *indent, unsigned width);
/* The same of whole lines, on a terminal; elsewhere they stay as they are. */
void text_fit(GString *s, const char *lines, const char *indent, const struct text_options *options);

#endif
