/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "symbolize/dwarf/find.h"

#define DEPTH_MAX 4096

struct seeker {
	struct dwarf_names *names;
	dwarf_name_fn *is_match;
	void *data;
	guint max;
	GStringChunk *strings;
	GHashTable *known;	/* interned name -> whether it matches */
	GArray *found;
};

static bool is_sought(struct seeker *s, const char *name)
{
	gpointer known;

	if (!name)
		return false;
	if (!g_hash_table_lookup_extended(s->known, name, NULL, &known)) {
		known = GINT_TO_POINTER(s->is_match(name, s->data));
		g_hash_table_insert(s->known, (gpointer)name, known);
	}
	return known;
}

static void take_call(struct seeker *s, const struct dwarf_unit *u, const struct dwarf_die *function,
		      const struct dwarf_die *call)
{
	const struct dwarf_value *file = &call->kept[KEPT_CALL_FILE], *line = &call->kept[KEPT_CALL_LINE];
	struct dwarf_inlined found = { .line = (uint32_t)MIN(line->u, UINT32_MAX),
				       .caller = dwarf_names_of(s->names, u, function) };
	struct dwarf_lines *lines;
	g_autofree char *path = NULL;

	if (!found.caller)
		return;
	for (guint i = 0; i < s->found->len; i++)
		if (g_array_index(s->found, struct dwarf_inlined, i).caller == found.caller)
			return;
	lines = file->form ? dwarf_lines_read(u) : NULL;
	path = lines ? dwarf_lines_path(lines, file->u) : NULL;
	found.file = path ? g_string_chunk_insert_const(s->strings, path) : NULL;
	g_array_append_val(s->found, found);
	dwarf_lines_free(lines);
}

static void search_unit(struct seeker *s, const struct dwarf_unit *u)
{
	struct cursor c = dwarf_unit_cursor(u, u->head.off + u->head.header_bytes);
	struct dwarf_die die, function = { 0 };
	unsigned depth = 0;

	while (cursor_left(&c) && s->found->len < s->max && dwarf_die_read_function(u, &c, &die)) {
		if (!die.tag) {
			if (depth-- <= 1)
				return;
			continue;
		}
		/* a declaration inside of types has no code */
		if (die.tag == DW_TAG_subprogram && (die.kept[KEPT_LOW].form || die.kept[KEPT_RANGES].form))
			function = die;
		else if (die.tag == DW_TAG_inlined_subroutine && function.tag &&
			 is_sought(s, dwarf_names_of(s->names, u, &die)))
			take_call(s, u, &function, &die);
		depth += die.has_children;
		if (depth > DEPTH_MAX)
			return;
	}
}

GArray *dwarf_inlined_find(struct dwarf_image *im, dwarf_name_fn *is_match, void *data, guint max,
			   GStringChunk *strings)
{
	struct seeker s = {
		.names = dwarf_names_new(im, strings), .is_match = is_match, .data = data, .max = max,
		.strings = strings, .known = g_hash_table_new(g_direct_hash, g_direct_equal),
		.found = g_array_new(FALSE, FALSE, sizeof(struct dwarf_inlined)),
	};
	const GArray *units = dwarf_names_units(s.names);

	for (guint i = 0; i < units->len && s.found->len < max && !dwarf_is_spent(im); i++) {
		struct dwarf_unit *u = dwarf_unit_load(im, &g_array_index(units, struct dwarf_unit_head, i), SIZE_MAX);

		if (u)
			search_unit(&s, u);
		dwarf_unit_free(u);
	}
	g_hash_table_unref(s.known);
	dwarf_names_free(s.names);
	return s.found;
}
