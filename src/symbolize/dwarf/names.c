/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/dwarf/find.h"

#include "base/hash.h"

#define UNITS_MAX (1u << 20)
#define HOPS_MAX 8	/* an inlined call's origin, then its declaration; compilers need two */
#define LOADED_MAX 8	/* cached units that contain names of other units' entries */

struct dwarf_names {
	struct dwarf_image *im;
	GStringChunk *strings;
	GArray *units, *alt_units;	/* struct dwarf_unit_head; alt_units NULL: not read yet */
	/* offset of an entry, with the top bit for the supplementary file -> const char * */
	GHashTable *known;
	struct dwarf_unit *loaded[LOADED_MAX];
	unsigned loaded_next;
};

static GArray *list_units(struct dwarf_image *im)
{
	GArray *units = g_array_new(FALSE, FALSE, sizeof(struct dwarf_unit_head));
	struct dwarf_unit_head h;

	for (uint64_t off = 0; units->len < UNITS_MAX && dwarf_unit_head(im, off, &h); off = h.end)
		g_array_append_val(units, h);
	return units;
}

struct dwarf_names *dwarf_names_new(struct dwarf_image *im, GStringChunk *strings)
{
	struct dwarf_names *n = g_new0(struct dwarf_names, 1);

	n->im = im;
	n->strings = strings;
	n->units = list_units(im);
	n->known = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	return n;
}

void dwarf_names_free(struct dwarf_names *n)
{
	if (!n)
		return;
	for (int i = 0; i < LOADED_MAX; i++)
		dwarf_unit_free(n->loaded[i]);
	g_array_unref(n->units);
	if (n->alt_units)
		g_array_unref(n->alt_units);
	g_hash_table_unref(n->known);
	g_free(n);
}

const GArray *dwarf_names_units(const struct dwarf_names *n)
{
	return n->units;
}

static const struct dwarf_unit_head *head_of(const GArray *units, uint64_t off)
{
	guint low = 0, high = units->len;

	while (low < high) {	/* the first unit after off */
		guint middle = low + (high - low) / 2;

		if (g_array_index(units, struct dwarf_unit_head, middle).off <= off)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || off >= g_array_index(units, struct dwarf_unit_head, low - 1).end)
		return NULL;
	return &g_array_index(units, struct dwarf_unit_head, low - 1);
}

/* The unit of im that contains offset off of .debug_info; cached. */
static const struct dwarf_unit *unit_at(struct dwarf_names *n, struct dwarf_image *im, uint64_t off)
{
	const struct dwarf_unit_head *h;
	struct dwarf_unit *u;

	for (int i = 0; i < LOADED_MAX; i++)
		if (n->loaded[i] && n->loaded[i]->im == im && off >= n->loaded[i]->head.off &&
		    off < n->loaded[i]->head.end)
			return n->loaded[i];
	if (im != n->im && !n->alt_units)
		n->alt_units = list_units(im);
	h = head_of(im == n->im ? n->units : n->alt_units, off);
	u = h ? dwarf_unit_load(im, h, SIZE_MAX) : NULL;
	if (!u)
		return NULL;
	dwarf_unit_free(n->loaded[n->loaded_next]);
	n->loaded[n->loaded_next] = u;
	n->loaded_next = (n->loaded_next + 1) % LOADED_MAX;
	return u;
}

/* Resolves a reference to an image and an offset in its .debug_info. */
static bool target_of(const struct dwarf_unit *u, const struct dwarf_value *v, struct dwarf_image **ret_image,
		      uint64_t *ret_off)
{
	*ret_image = u->im;
	switch (v->form) {
	case DW_FORM_ref1: case DW_FORM_ref2: case DW_FORM_ref4: case DW_FORM_ref8: case DW_FORM_ref_udata:
		return !__builtin_add_overflow(u->head.off, v->u, ret_off) && *ret_off < u->head.end;
	case DW_FORM_ref_addr: *ret_off = v->u; return true;
	case DW_FORM_GNU_ref_alt: case DW_FORM_ref_sup4: case DW_FORM_ref_sup8:
		*ret_image = dwarf_image_alt(u->im);
		*ret_off = v->u;
		return *ret_image;
	default: return false;	/* type signatures are not used for names of functions */
	}
}

static const char *kept_string(struct dwarf_names *n, const struct dwarf_unit *u, const struct dwarf_value *v)
{
	g_autofree char *made = v->form ? dwarf_value_string(u, v) : NULL;

	return made && *made ? g_string_chunk_insert_const(n->strings, made) : NULL;
}

static const char *name_by_references(struct dwarf_names *n, const struct dwarf_unit *u, const struct dwarf_die *d)
{
	struct dwarf_die now = *d;
	const char *plain = NULL;

	for (int i = 0; i < HOPS_MAX; i++) {
		const struct dwarf_value
			*ref = &now.kept[now.kept[KEPT_ORIGIN].form ? KEPT_ORIGIN : KEPT_SPECIFICATION];
		const char *linkage = kept_string(n, u, &now.kept[KEPT_LINKAGE]);
		struct dwarf_image *im;
		struct cursor c;
		uint64_t off;

		if (linkage)
			return linkage;
		if (!plain)
			plain = kept_string(n, u, &now.kept[KEPT_NAME]);
		if (!ref->form || !target_of(u, ref, &im, &off))
			break;
		if (im != u->im || off < u->head.off || off >= u->head.end)
			u = unit_at(n, im, off);
		if (!u)
			break;
		c = dwarf_unit_cursor(u, off);
		if (!dwarf_die_read(u, &c, &now))
			break;
	}
	return plain;
}

const char *dwarf_names_of(struct dwarf_names *n, const struct dwarf_unit *u, const struct dwarf_die *d)
{
	const struct dwarf_value *ref = &d->kept[KEPT_ORIGIN];
	struct dwarf_image *im;
	uint64_t key = d->off, origin;
	gpointer name;

	/* Many calls share an origin, so the name is cached by it. */
	if (ref->form && target_of(u, ref, &im, &origin))
		key = origin | (im == n->im ? 0 : UINT64_C(1) << 63);
	if (g_hash_table_lookup_extended(n->known, &key, NULL, &name))
		return name;
	name = (gpointer)name_by_references(n, u, d);
	g_hash_table_insert(n->known, g_memdup2(&key, sizeof(key)), name);
	return name;
}
