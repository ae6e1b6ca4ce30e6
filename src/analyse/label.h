/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_LABEL_H
#define ANALYSE_LABEL_H

#include <glib.h>

#include "profile/profile.h"

/* How frames are labelled in all reports and pictures. */

/*
 * Appends the frame's name; "libfoo.so+0x1234" if it has none, "0x7f..." if it has no module either, "[stack lost]"
 * for FRAME_PENDING.  Not escaped.
 */
void label_append(GString *s, const struct frame *f);

/*
 * Appends " (file.c:12)" if the line is known, "(file.c)" if only the file is: the last component of the path, as in
 * perf and gdb.  JSON and flame graphs' tooltips have the full path.
 */
void label_append_line(GString *s, const struct frame *f);

/* "[python3]": a frame that stands for unnamed functions, see fold/languages.h. */
bool label_is_run(const struct frame *f);

/* Labels of all frames of the profile; free with g_ptr_array_unref(). */
GPtrArray *label_all(const struct profile *p);

/* "do_command" for "do_command(THD*, bool)": a function's name without arguments.  Free with g_free(). */
char *function_plain_name(const char *name);

/*
 * The same for display: "lambda in serve" for "std::thread::_State_impl<...<serve(int)::{lambda()#1}> > >::_M_run()".
 * Free with g_free().
 */
char *function_shown_name(const char *name);

#endif
