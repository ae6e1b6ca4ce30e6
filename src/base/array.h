/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <glib.h>

/*
 * So many elements will be appended: room for them, its pages in one go.  Where there cannot be so many it does
 * nothing.
 */
void array_expect(GArray *array, guint cnt);

#endif
