/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_FIND_H
#define BASE_FIND_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the first element of an array that meets a condition: evaluates to `told`, or to `otherwise` if none does.
 * Expressions see the element as pointer x. The rows are a GArray's, which must not grow meanwhile; NULL has none.
 */
#define FIRST_OF(x, first, cnt, condition, told, otherwise)							\
	({													\
		__typeof__(&(first)[0]) x = (first);								\
		size_t x##_left = (cnt);									\
		for (; x##_left && !(condition); x##_left--)							\
			x++;											\
		x##_left ? (told) : (otherwise);								\
	})
#define FIRST(x, array, condition, told, otherwise)								\
	FIRST_OF(x, array, G_N_ELEMENTS(array), condition, told, otherwise)
#define FIRST_ROW(type, x, array, condition, told, otherwise)							\
	FIRST_OF(x, (type *)((array) ? (array)->data : NULL), (array) ? (array)->len : 0, condition, told, otherwise)

/* Does any element meet the condition? */
#define ANY(x, array, condition) FIRST(x, array, condition, true, false)
#define ANY_ROW(type, x, array, condition) FIRST_ROW(type, x, array, condition, true, false)

/* EACH_ROW() of base/each.h with a loop condition; the array may be NULL. EACH_IN(): for any elements. */
#define EACH_ROW_WHILE(i, type, row, array, condition)								\
	for (guint i = 0, i##_goes_on = 1; i##_goes_on && (array) && i < (array)->len && (condition);		\
	     i##_goes_on = !i##_goes_on, i++)									\
		for (type *row = &g_array_index(array, type, i); i##_goes_on; i##_goes_on = 0)
#define EACH_ROW_OF(i, type, row, array) EACH_ROW_WHILE(i, type, row, array, true)
#define EACH_IN(i, type, x, first, cnt)										\
	for (size_t i = 0, i##_goes_on = 1; i##_goes_on && i < (cnt); i##_goes_on = !i##_goes_on, i++)		\
		for (type *x = &(first)[i]; i##_goes_on; i##_goes_on = 0)

#endif
