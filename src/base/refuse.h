/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_REFUSE_H
#define BASE_REFUSE_H

#include <glib.h>
#include <stdbool.h>

/* g_set_error() as an expression: false, or NULL. */
#define refuse(error, domain, code, ...) ({ g_set_error((error), (domain), (code), __VA_ARGS__); false; })
#define refuse_null(error, domain, code, ...) ({ g_set_error((error), (domain), (code), __VA_ARGS__); NULL; })

#endif
