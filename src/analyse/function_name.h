/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_FUNCTION_NAME_H
#define ANALYSE_FUNCTION_NAME_H

#include <glib.h>

/* "do_command" of "do_command(THD*, bool)": a function's name without arguments.  Free with g_free(). */
char *function_plain_name(const char *name);

/*
 * The same for people: "lambda in serve" of "std::thread::_State_impl<...<serve(int)::{lambda()#1}> > >::_M_run()".
 * Free with g_free().
 */
char *function_shown_name(const char *name);

#endif
