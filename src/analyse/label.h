/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_LABEL_H
#define ANALYSE_LABEL_H

#include <glib.h>

#include "profile/profile.h"

/* How a frame is called where it has no name; one rule for every report and picture. */

/*
 * Appends the frame's name; "libfoo.so+0x1234" when it has none, "0x7f..." when it has no
 * module either, "[stack lost]" for FRAME_PENDING.  Bytes as recorded: the renderer escapes.
 */
void label_append(GString *s, const struct frame *f);

/*
 * Appends " (file.c:12)" where the line is known, "(file.c)" where only the file is: the last component of
 * the path, as perf and gdb show it; the whole path is in JSON and in the flame graph's tooltips.
 */
void label_append_line(GString *s, const struct frame *f);

/* "[python3]": it stands for functions without a name, as fold/languages.h has it. */
bool label_is_run(const struct frame *f);

/* The same as a table, one string per frame of the profile; free with g_ptr_array_unref(). */
GPtrArray *label_all(const struct profile *p);

/* "do_command" of "do_command(THD*, bool)": a function's name without arguments.  Free with g_free(). */
char *function_plain_name(const char *name);

/*
 * The same for people: "lambda in serve" of "std::thread::_State_impl<...<serve(int)::{lambda()#1}> > >::_M_run()".
 * Free with g_free().
 */
char *function_shown_name(const char *name);

#endif
