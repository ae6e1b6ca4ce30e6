/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <glib.h>

/*
 * Sort functions: ORDER(by_time, struct row, ORDER_HIGH(ns) ORDER_TEXT(name)) defines a GCompareFunc by_time() of
 * rows, with the first key most significant. ORDER_POINTERS() is for arrays of pointers to rows.
 */
#define ORDER_ROWS(name, type, deref, keys)                             \
	static gint name(gconstpointer va, gconstpointer vb)            \
	{                                                               \
		const type *a = deref(va), *b = deref(vb);              \
                                                                        \
		keys                                                    \
		return 0;                                               \
	}
#define ORDER(name, type, keys) ORDER_ROWS(name, type, , keys)
#define ORDER_POINTERS(name, type, keys) ORDER_ROWS(name, type, *(const type *const *), keys)

/* The same of numbers, lowest first. */
#define ORDER_NUMBERS(name, type)                                       \
	static gint name(gconstpointer va, gconstpointer vb)            \
	{                                                               \
		const type a = *(const type *)va, b = *(const type *)vb; \
                                                                        \
		return (a > b) - (a < b);                               \
	}

/* Keys: lowest or highest first, of a member or of a function of the row; names, with NULL first. */
#define ORDER_LOW(member) if (a->member != b->member) return a->member < b->member ? -1 : 1;
#define ORDER_HIGH(member) if (a->member != b->member) return a->member > b->member ? -1 : 1;
#define ORDER_LOW_OF(f) if (f(a) != f(b)) return f(a) < f(b) ? -1 : 1;
#define ORDER_HIGH_OF(f) if (f(a) != f(b)) return f(a) > f(b) ? -1 : 1;
#define ORDER_TEXT(member) if (g_strcmp0(a->member, b->member)) return g_strcmp0(a->member, b->member);

#endif
