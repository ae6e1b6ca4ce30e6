/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_HELP_TEXT_H
#define CMD_HELP_TEXT_H

#include <glib.h>

/*
 * A command's help with lines of at most `width` columns: what a line's last column is too narrow for goes on below it,
 * in that column.
 */
char *help_text_wrap(const char *text, unsigned width);

#endif
