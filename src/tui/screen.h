/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The terminal: lines as view_paint() makes them, and keys as view_key() takes them.  There is one at most. */

/* Takes the terminal on stdin and stdout.  False with a sentence: it cannot, and is as it was. */
bool screen_begin(GError **error);
/* Gives it back as it was; nothing where that was done.  So does any signal that ends the program, but SIGKILL. */
void screen_end(void);

void screen_size(unsigned *ret_rows, unsigned *ret_columns);
bool screen_has_utf8(void);
/*
 * Where Ctrl-Z was pressed: gives the terminal back and stops the program until it is continued.  True: so draw all
 * anew.
 */
bool screen_stop_if_asked(void);
/* anew: as if nothing was on the screen. */
void screen_draw(const GPtrArray *lines, bool anew);
/* The next key that was pressed; 0: none.  *ret_is_resized: the size is another. */
uint32_t screen_key(bool *ret_is_resized);

#endif
