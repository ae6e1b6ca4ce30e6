/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_EACH_H
#define BASE_EACH_H

#include <glib.h>

/*
 * Visits the rows of a GArray: `type *row` at index i. break and continue work as in a loop, and the array may grow
 * meanwhile. It is evaluated at each row, so it must be no call (tools/check-layers). EACH_POINTER() gives what the
 * elements of a GPtrArray point to.
 */
#define EACH_AT(i, array, declaration)                                                                           \
	for (guint i = 0, i##_goes_on = 1; i##_goes_on && i < (array)->len; i##_goes_on = !i##_goes_on, i++)     \
		for (declaration; i##_goes_on; i##_goes_on = 0)
#define EACH_ROW(i, type, row, array) EACH_AT(i, array, type *row = &g_array_index(array, type, i))
#define EACH_POINTER(i, type, row, array) EACH_AT(i, array, type *row = (array)->pdata[i])

/* Reserves room for that many elements, and faults its pages in at once. Does nothing if there cannot be that many. */
void array_expect(GArray *array, guint cnt);

/* Visits a GHashTable's values, or its keys, in no order, each as `type *x`. The table must not change meanwhile. */
struct each_entry {
	GHashTableIter iter;
	gpointer key, value;
	gboolean goes_on;
};
static inline struct each_entry each_entry_of(GHashTable *table)
{
	struct each_entry e = { .goes_on = TRUE };

	g_hash_table_iter_init(&e.iter, table);
	return e;
}
#define EACH_ENTRY(type, x, member, table)                                                                      \
	for (struct each_entry x##_in = each_entry_of(table);                                                   \
	     x##_in.goes_on && g_hash_table_iter_next(&x##_in.iter, &x##_in.key, &x##_in.value);)               \
		for (type *x = (x##_in.goes_on = FALSE, x##_in.member); !x##_in.goes_on; x##_in.goes_on = TRUE)
#define EACH_VALUE(type, x, table) EACH_ENTRY(type, x, value, table)
#define EACH_KEY(type, x, table) EACH_ENTRY(type, x, key, table)

/*
 * Defines destructors: FREES(lines_free, struct lines, l, g_array_unref(l->rows)) is lines_free(struct lines *l),
 * which runs the statements, then frees l itself, and does nothing for NULL. FREES_DATA() takes a gpointer. So does
 * CLEARS(), which does not free the row itself: an array holds it.
 */
#define FREES(name, type, it, ...)              \
	void name(type *it)                     \
	{                                       \
		if (!it)                        \
			return;                 \
		__VA_ARGS__;                    \
		g_free(it);                     \
	}
#define FREES_DATA(name, type, it, ...)         \
	static void name(gpointer data)         \
	{                                       \
		type *it = data;                \
                                                \
		__VA_ARGS__;                    \
		g_free(it);                     \
	}
#define CLEARS(name, type, it, ...)             \
	static void name(gpointer data)         \
	{                                       \
		type *it = data;                \
                                                \
		__VA_ARGS__;                    \
	}

/* EACH(f, a, b, c) is f(a) f(b) f(c), for up to eight members of a structure. */
#define EACH_1(f, a) f(a)
#define EACH_2(f, a, ...) f(a) EACH_1(f, __VA_ARGS__)
#define EACH_3(f, a, ...) f(a) EACH_2(f, __VA_ARGS__)
#define EACH_4(f, a, ...) f(a) EACH_3(f, __VA_ARGS__)
#define EACH_5(f, a, ...) f(a) EACH_4(f, __VA_ARGS__)
#define EACH_6(f, a, ...) f(a) EACH_5(f, __VA_ARGS__)
#define EACH_7(f, a, ...) f(a) EACH_6(f, __VA_ARGS__)
#define EACH_8(f, a, ...) f(a) EACH_7(f, __VA_ARGS__)
#define EACH_OF(m1, m2, m3, m4, m5, m6, m7, m8, each, ...) each
#define EACH(f, ...)                                                                                                   \
	EACH_OF(__VA_ARGS__, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1)(f, __VA_ARGS__)

/* Adds these members of *from to those of *into; the types may differ if both have them. */
#define ADD_MEMBER(member) add_into_->member += add_from_->member;
#define ADD_MEMBERS(into, from, ...)                                            \
	do {                                                                    \
		__typeof__(into) add_into_ = (into);                            \
		__typeof__(from) add_from_ = (from);                            \
		EACH(ADD_MEMBER, __VA_ARGS__)                                   \
	} while (0)

#endif
